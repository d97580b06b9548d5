"""Checks the form of all sources, or with --fix rewrites them:  python -m tools.lint [--fix]

ruff (Python) and clang-format (C++) are those of tools/requirements/lint.txt, whose versions are
fixed because formatters differ from one to the next; buildifier (Bazel) runs where it is on PATH.
"""

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from tools.setup.report import ROOT

IGNORED = {".git", ".tools", ".venv", "build", "dist"}


def sources(*patterns):
    """Files below the top folder that match one of the patterns, without what is built."""
    found = []
    for pattern in patterns:
        for path in sorted(ROOT.rglob(pattern)):
            parts = path.relative_to(ROOT).parts
            if path.is_file() and IGNORED.isdisjoint(parts):
                found.append(str(path.relative_to(ROOT)))
    return found


def program(name):
    """A formatter beside this interpreter, else the one on PATH, else None."""
    beside = Path(sysconfig.get_path("scripts")) / name
    return str(beside) if beside.exists() else shutil.which(name)


def commands(fix):
    """The checks as command lines."""
    ruff = program("ruff")
    yield [ruff, "check", *(["--fix"] if fix else []), "."]
    yield [ruff, "format", *([] if fix else ["--check"]), "."]
    cxx = sources("*.cc", "*.h")
    if cxx:
        yield [program("clang-format"), *(["-i"] if fix else ["--dry-run", "--Werror"]), *cxx]
    buildifier = program("buildifier")
    if buildifier:
        mode = "fix" if fix else "check"
        bazel = sources("BUILD", "WORKSPACE", "*.bzl")
        yield [buildifier, f"--mode={mode}", "--lint=off", *bazel]


def main():
    """Runs all checks, so that one fault does not hide the next; exit status 1 for any."""
    failed = 0
    for command in commands(fix="--fix" in sys.argv[1:]):
        print("[lint]", Path(command[0]).name, command[1], flush=True)
        failed |= subprocess.run(command, cwd=ROOT, check=False).returncode != 0
    sys.exit(int(failed))


if __name__ == "__main__":
    main()
