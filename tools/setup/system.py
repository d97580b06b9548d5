"""C++ compiler and Python headers, which only the system's packages provide."""

import os
import re
import shutil
import subprocess

from tools.setup.report import SetupError, install_system_package, say

# The oldest that compile TensorFlow's headers as C++17 and know every instruction set in use.
OLDEST_GCC = 9
OLDEST_CLANG = 10


def compiler_command():
    """The compiler that Bazel takes: $CC, else gcc, else clang; None where there is none."""
    for name in (os.environ.get("CC"), "gcc", "clang"):
        if name and shutil.which(name):
            return shutil.which(name)
    return None


def compiles_cxx(compiler):
    """True if C++17 with its standard library compiles: gcc may be there without g++."""
    source = b"#include <optional>\nint main() { return std::optional<int>(0).value(); }\n"
    command = [compiler, "-x", "c++", "-std=c++17", "-fsyntax-only", "-"]
    return subprocess.run(command, input=source, capture_output=True, check=False).returncode == 0


def compiler_version(compiler):
    """First line of --version, e.g. 'gcc (Debian 12.2.0-14) 12.2.0'."""
    command = [compiler, "--version"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    return result.stdout.splitlines()[0]


def ensure_compiler():
    """Checks that there is a C++17 compiler which is new enough, and returns its path."""
    step = "C++ compiler"
    compiler = compiler_command()
    if compiler is None or not compiles_cxx(compiler):
        install_system_package(step, "g++")
        compiler = compiler_command()
        if compiler is None or not compiles_cxx(compiler):
            raise SetupError(f"{step}: {compiler or 'gcc'} compiles no C++17, even with g++ there")
    version = compiler_version(compiler)
    oldest = OLDEST_CLANG if "clang" in version else OLDEST_GCC
    number = re.search(r"(\d+)\.\d+", version.split(")")[-1]) or re.search(r"(\d+)\.\d+", version)
    if number and int(number.group(1)) < oldest:
        raise SetupError(f"{step} {version} is too old: install g++ {OLDEST_GCC} or newer")
    say(step, f"{compiler}, {version}")
    return compiler


def ensure_python_headers(python):
    """Checks that the interpreter's Python.h is there."""
    step = "Python headers"
    query = "import sysconfig; print(sysconfig.get_path('include'))"
    command = [str(python), "-c", query]
    include = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    header = os.path.join(include, "Python.h")
    if not os.path.exists(header):
        install_system_package(step, "python3-dev")
        if not os.path.exists(header):
            raise SetupError(f"{step}: {python} is not the system's python3, and has no {header}")
    say(step, include)
