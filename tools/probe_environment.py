"""Says, as a line of JSON, where a Python environment keeps what the C++ build needs of it.

Run with the interpreter that is asked about (tools/environment.bzl does, and tools/build.py):

    python tools/probe_environment.py WHAT tf_warpctc/_version.py

WHAT is `python` (headers), `tensorflow` (headers and, from tf.sysconfig, compile flags),
`fingerprint` (all that the build depends on) or `tensorflow-version` (a line of text). The last
two are quick, as they do not import TensorFlow. What is missing or unsupported ends the program
with exit status 1 and one line on stderr.
"""

import importlib.metadata
import importlib.util
import json
import os
import runpy
import sys
import sysconfig

# The distributions that provide `import tensorflow`, in the order in which they are looked for.
TENSORFLOW_DISTRIBUTIONS = (
    "tensorflow",
    "tensorflow-cpu",
    "tensorflow-cpu-aws",
    "tensorflow-gpu",
    "tensorflow-rocm",
)


def installed_tensorflow():
    """(distribution name, version, package folder), or None where there is no TensorFlow."""
    spec = importlib.util.find_spec("tensorflow")
    if spec is None or not spec.submodule_search_locations:
        return None
    for name in TENSORFLOW_DISTRIBUTIONS:
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        return name, version, os.path.realpath(spec.submodule_search_locations[0])
    return None


def minor(version):
    """'2.21.0' → '2.21'."""
    return ".".join(version.split(".")[:2])


def supported_tensorflow(versions_file):
    """installed_tensorflow(), or exit where it is none that is supported."""
    supported = runpy.run_path(versions_file)["SUPPORTED_TENSORFLOW"]
    wanted = " or ".join(supported)
    found = installed_tensorflow()
    if found is None:
        sys.exit(
            f"tf_warpctc needs TensorFlow {wanted}, and {sys.executable} has none: "
            f"install one with `{sys.executable} -m pip install tensorflow-cpu~={supported[-1]}.0`"
        )
    name, version, _ = found
    if minor(version) not in supported:
        sys.exit(
            f"tf_warpctc needs TensorFlow {wanted}, but {sys.executable} has {name} {version}: "
            f"install one with `{sys.executable} -m pip install '{name}~={supported[-1]}.0'`"
        )
    return found


def python():
    """Folders of the headers of Python and pybind11."""
    include = sysconfig.get_path("include")
    if not os.path.exists(os.path.join(include, "Python.h")):
        sys.exit(
            f"{include} lacks Python.h: install Python's headers with `apt-get install python3-dev`"
        )
    spec = importlib.util.find_spec("pybind11")
    if spec is None:
        sys.exit(f"pybind11 is missing: install it with `{sys.executable} -m pip install pybind11`")
    pybind11 = os.path.join(spec.submodule_search_locations[0], "include")
    return {"python_include": include, "pybind11_include": pybind11}


def tensorflow(versions_file):
    """Header folder, framework library and compile flags of a supported TensorFlow."""
    name, _, folder = supported_tensorflow(versions_file)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
    import tensorflow as tf

    include = tf.sysconfig.get_include()
    framework = os.path.join(tf.sysconfig.get_lib(), "libtensorflow_framework.so.2")
    for path in (include, framework):
        if not os.path.exists(path):
            sys.exit(f"the {name} in {folder} lacks {path}: reinstall it with pip")
    copts = [flag for flag in tf.sysconfig.get_compile_flags() if not flag.startswith("-I")]
    return {
        "version": tf.__version__,
        "include": include,
        "framework": framework,
        "copts": copts,
    }


def fingerprint(versions_file):
    """What the build depends on, without an import of TensorFlow."""
    name, version, folder = supported_tensorflow(versions_file)
    return {
        "python": sys.version.split()[0],
        "pybind11": importlib.metadata.version("pybind11"),
        "tensorflow": version,
        "tensorflow_distribution": name,
        "tensorflow_folder": folder,
        **python(),
    }


def main():
    what, versions_file = sys.argv[1:]
    if what == "tensorflow-version":
        print(*supported_tensorflow(versions_file)[:2])
        return
    if what == "python":
        answer = python()
    elif what == "tensorflow":
        answer = tensorflow(versions_file)
    elif what == "fingerprint":
        answer = fingerprint(versions_file)
    else:
        sys.exit(f"WHAT is {what!r}, expected one of those in\n{__doc__}")
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
