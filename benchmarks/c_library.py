"""Small C libraries of the benchmarks, compiled where they run."""

import shutil
import subprocess
from pathlib import Path


def build(source: Path, folder: Path, *options: str) -> Path:
    """Compiles one file into a shared library in `folder`, and returns its path.

    Raises:
      ImportError: there is no C compiler.
    """
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise ImportError(f"no C compiler for {source.name}")
    library = folder / f"lib{source.stem}.so"
    command = [compiler, "-shared", "-fPIC", *options, "-o", str(library), str(source), "-lm"]
    subprocess.run(command, check=True)
    return library
