"""Builds the libraries with Bazel and places them in the Python package.

    python3 -m tools.build [--python PYTHON] [--asan]

PYTHON is the interpreter whose TensorFlow, pybind11 and headers are used (default: the one that
runs this). Into tf_warpctc/ go _warpctc_ops.so, _kernels.so and _build_config.json, each replaced
at once and only where it differs, so that a running program keeps the library it has loaded.
--asan builds the kernels' Python module alone, with AddressSanitizer and
UndefinedBehaviorSanitizer, into build/asan/.
"""

import argparse
import hashlib
import json
import os
import platform
import runpy
import subprocess
import sys

from tools import simd_symbols
from tools.setup.bazel import ensure_bazel
from tools.setup.report import ROOT, SetupError, exit_with
from tools.setup.system import compiler_version, ensure_compiler, ensure_python_headers

PACKAGE = ROOT / "tf_warpctc"
VERSIONS = PACKAGE / "_version.py"
TARGETS = ["//cc/ops/...", "//cc/python/..."]
LIBRARIES = ["cc/ops/_warpctc_ops.so", "cc/python/_kernels.so"]


def fingerprint(python):
    """What tools/probe_environment.py finds in the environment; SetupError says what it lacks."""
    command = [python, ROOT / "tools/probe_environment.py", "fingerprint", VERSIONS]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        raise SetupError(result.stderr.strip())
    return json.loads(result.stdout)


def bazel(launcher, python, compiler, environment, arguments):
    """`bazel build` against one Python environment."""
    digest = hashlib.sha256(json.dumps(environment, sort_keys=True).encode()).hexdigest()
    command = [
        str(launcher),
        "build",
        f"--repo_env=TF_WARPCTC_PYTHON={python}",
        f"--repo_env=TF_WARPCTC_ENVIRONMENT={digest}",
        f"--repo_env=CC={compiler}",
        *arguments,
    ]
    if subprocess.run(command, cwd=ROOT, check=False).returncode:
        raise SetupError("the build failed: Bazel's messages are above")


def replace_if_changed(target, content, mode=0o644):
    """Writes a file by renaming a complete one, and not at all where it is the same already."""
    if target.exists() and target.read_bytes() == content:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.{os.getpid()}")
    partial.write_bytes(content)
    partial.chmod(mode)
    partial.replace(target)
    print(f"[build] wrote {os.path.relpath(target)}", flush=True)


def build_config(environment, compiler):
    """What the package's build_info() tells of the build."""
    return {
        "version": runpy.run_path(str(VERSIONS))["__version__"],
        "tensorflow_version": environment["tensorflow"],
        "tensorflow_distribution": environment["tensorflow_distribution"],
        "python_version": environment["python"],
        "machine": platform.machine(),
        "compiler": compiler_version(compiler),
        "cuda": False,
    }


def build(python=sys.executable, asan=False, package=PACKAGE):
    """Runs the whole build, and places its results in the folder `package`."""
    compiler = ensure_compiler()
    ensure_python_headers(python)
    environment = fingerprint(python)
    launcher = ensure_bazel()
    if asan:
        options = ["--config=asan", "//cc/python/..."]
        bazel(launcher, python, compiler, environment, options)
        module = ROOT / "build/asan-bazel-bin/cc/python/_kernels.so"
        replace_if_changed(ROOT / "build/asan/_kernels.so", module.read_bytes(), mode=0o755)
        return
    bazel(launcher, python, compiler, environment, TARGETS)
    output = ROOT / "build/bazel-bin"
    simd_symbols.check(output / "cc/kernels/_objs")
    for library in LIBRARIES:
        built = output / library
        replace_if_changed(package / built.name, built.read_bytes(), mode=0o755)
    config = build_config(environment, compiler)
    text = json.dumps(config, indent=2) + "\n"
    replace_if_changed(package / "_build_config.json", text.encode())


def main():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", default=sys.executable, help="interpreter to build for")
    parser.add_argument("--asan", action="store_true", help="the sanitizers' build of the kernels")
    arguments = parser.parse_args()
    try:
        # Not resolved: the link in a virtual environment is what makes it one.
        build(os.path.abspath(arguments.python), arguments.asan)
    except SetupError as error:
        exit_with(error)


if __name__ == "__main__":
    main()
