"""Repositories made from the Python environment: @local_python and @local_tensorflow.

TF_WARPCTC_PYTHON names the interpreter (default: the python3 on PATH) whose headers, pybind11 and
TensorFlow are used. TF_WARPCTC_ENVIRONMENT is a fingerprint of what it has installed: it is not
read here, but a change of it makes Bazel run these rules again. tools/build.py sets both.
"""

_ENVIRON = ["TF_WARPCTC_PYTHON", "TF_WARPCTC_ENVIRONMENT"]

def _probe(repository_ctx, what):
    """What tools/probe_environment.py says about the interpreter, as a dict."""
    name = repository_ctx.os.environ.get("TF_WARPCTC_PYTHON", "python3")
    python = name if "/" in name else repository_ctx.which(name)
    if not python:
        fail("No Python interpreter '%s': set TF_WARPCTC_PYTHON to the path of one." % name)
    script = repository_ctx.path(Label("//tools:probe_environment.py"))
    versions = repository_ctx.path(Label("//tf_warpctc:_version.py"))
    result = repository_ctx.execute([python, script, what, versions], timeout = 300)
    if result.return_code != 0:
        fail("%s: %s" % (name, result.stderr.strip() or result.stdout.strip()))

    # Libraries log to either stream when they are imported: the answer is the last line.
    return json.decode(result.stdout.strip().split("\n")[-1])

def _python_repository_impl(repository_ctx):
    found = _probe(repository_ctx, "python")
    repository_ctx.symlink(found["python_include"], "python_include")
    repository_ctx.symlink(found["pybind11_include"], "pybind11_include")
    repository_ctx.file("BUILD", """\
package(default_visibility = ["//visibility:public"])

cc_library(
    name = "headers",
    hdrs = glob(["python_include/**/*.h"]),
    includes = ["python_include"],
)

cc_library(
    name = "pybind11",
    hdrs = glob(["pybind11_include/**/*.h"]),
    includes = ["pybind11_include"],
    deps = [":headers"],
)
""")

python_repository = repository_rule(
    implementation = _python_repository_impl,
    doc = "Targets :headers (Python.h) and :pybind11.",
    environ = _ENVIRON,
    configure = True,
)

def _tensorflow_repository_impl(repository_ctx):
    found = _probe(repository_ctx, "tensorflow")
    repository_ctx.symlink(found["include"], "include")
    repository_ctx.symlink(found["framework"], "libtensorflow_framework.so.2")
    repository_ctx.file("BUILD", """\
package(default_visibility = ["//visibility:public"])

exports_files(["libtensorflow_framework.so.2"])

cc_library(
    name = "headers",
    hdrs = glob(["include/**"]),
    includes = ["include"],
)
""")
    repository_ctx.file("flags.bzl", """\
\"\"\"How TensorFlow %s was compiled, and so what compiles with it must be.\"\"\"

TENSORFLOW_COPTS = %s
""" % (found["version"], repr(found["copts"])))

tensorflow_repository = repository_rule(
    implementation = _tensorflow_repository_impl,
    doc = "Targets :headers and libtensorflow_framework.so.2; flags.bzl with TENSORFLOW_COPTS.",
    environ = _ENVIRON,
    configure = True,
)

def environment_repositories():
    """Declares the repositories, for WORKSPACE."""
    python_repository(name = "local_python")
    tensorflow_repository(name = "local_tensorflow")

    # Bazel's own BUILD files load these two; a later Bazel brings or fetches its own versions.
    # Debian's Bazel 4 gives no version.
    if native.bazel_version.split(".")[0] not in ["5", "6", "7"]:
        for name in ["rules_cc", "rules_java"]:
            native.local_repository(name = name, path = "tools/bazel4/" + name)
