"""Runs Python under AddressSanitizer, for the library that `tools.build --asan` has built.

    python -m tools.asan -m pytest tests/kernels

The sanitizer has to be in the process before the first allocation, and the interpreter itself is
not built with it, so it is preloaded; libstdc++ beside it, since otherwise its interception of
exceptions finds none to pass them to. The first report ends the process with an error. Leaks are
not counted: the interpreter never frees all that it holds.
"""

import os
import subprocess
import sys

from tools.setup.report import ROOT, SetupError, exit_with
from tools.setup.system import compiler_command, compiler_version


def runtime_library(compiler, name):
    """Full path of one of the compiler's own shared libraries."""
    command = [compiler, f"-print-file-name={name}"]
    path = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    if not os.path.isabs(path):
        raise SetupError(f"the sanitizers' run needs g++ and its {name}: `apt-get install g++`")
    return os.path.realpath(path)


def environment(compiler):
    """The environment variables of the run."""
    if "clang" in compiler_version(compiler):
        raise SetupError("the sanitizers' run needs g++: `apt-get install g++`, and CC=gcc")
    preload = [runtime_library(compiler, name) for name in ("libasan.so", "libstdc++.so")]
    return {
        **os.environ,
        "LD_PRELOAD": " ".join(preload),
        "ASAN_OPTIONS": "detect_leaks=0:halt_on_error=1:strict_string_checks=1",
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
        # So that each of Python's buffers is an allocation of its own, with guards around it.
        "PYTHONMALLOC": "malloc",
        "TF_WARPCTC_KERNELS": str(ROOT / "build/asan/_kernels.so"),
    }


def main():
    """Replaces this process with the interpreter under the sanitizers."""
    try:
        variables = environment(compiler_command())
    except SetupError as error:
        exit_with(error)
    os.execve(sys.executable, [sys.executable, *sys.argv[1:]], variables)


if __name__ == "__main__":
    main()
