"""How the C++ of this project is compiled: the flags, in macros named after what they build."""

load("@local_tensorflow//:flags.bzl", "TENSORFLOW_COPTS")

_COPTS = [
    "-std=c++17",
    "-Wall",
    "-Wextra",
    "-fvisibility=hidden",
    "-fvisibility-inlines-hidden",
    # The same bits from every instruction set that has fused multiply-add: none is used unless the
    # source says so.
    "-ffp-contract=off",
]

# Speed without a change of any result: neither -f flag lets the compiler reorder arithmetic.
# The sanitizers' build has the same arithmetic at -O1, where it compiles much sooner.
# They throw nothing, so they need no tables for unwinding, which the levels would share.
_SIMD_COPTS = _COPTS + ["-fno-exceptions", "-fno-math-errno", "-fno-trapping-math"] + select({
    "//tools:sanitizers": ["-O1"],
    "//conditions:default": ["-O3"],
})

_AVX2 = ["-mavx2", "-mfma", "-mf16c", "-mbmi", "-mbmi2"]

# GCC 12's own AVX-512 headers set off its warning of uninitialized values (GCC bug 105593).
_AVX512 = _AVX2 + [
    "-mavx512f",
    "-mavx512bw",
    "-mavx512dq",
    "-mavx512vl",
    "-mprefer-vector-width=512",
    "-Wno-unknown-warning-option",
    "-Wno-maybe-uninitialized",
    "-Wno-uninitialized",
]

# Levels of x86-64 and their flags. Elsewhere there is the baseline alone.
_SIMD_LEVELS = {
    "baseline": [],
    "avx2": _AVX2,
    "avx512": _AVX512,
}

def kernel_library(name, **kwargs):
    """A cc_library of mathematics: free of TensorFlow."""
    native.cc_library(name = name, copts = _COPTS, linkstatic = True, **kwargs)

def simd_library(name, srcs, hdrs = [], deps = []):
    """Compiles each source once per instruction set; the caller picks one when it runs.

    WARPCTC_SIMD_LEVEL is `baseline`, `avx2` or `avx512`: the source puts all that it defines in a
    namespace of that name, so that the linker never hands one level's code to another.

    Args:
      name: of the library that holds all levels; one level alone is NAME_LEVEL.
      srcs: sources, each compiled for every level.
      hdrs: headers.
      deps: dependencies, compiled for the baseline only.
    """
    for level, level_copts in _SIMD_LEVELS.items():
        native.cc_library(
            name = name + "_" + level,
            srcs = srcs,
            hdrs = hdrs,
            copts = _SIMD_COPTS + level_copts,
            linkstatic = True,
            local_defines = ["WARPCTC_SIMD_LEVEL=" + level],
            tags = ["manual"],
            deps = deps,
        )
    native.cc_library(
        name = name,
        hdrs = hdrs,
        deps = select({
            "//tools:x86_64": [name + "_" + level for level in _SIMD_LEVELS],
            "//conditions:default": [name + "_baseline"],
        }),
    )

def _shared_library(name, exports, additional_linker_inputs = [], linkopts = [], **kwargs):
    """A shared library whose dynamic symbols are those in the version script `exports`."""
    native.cc_binary(
        name = name,
        additional_linker_inputs = additional_linker_inputs + [exports],
        linkopts = linkopts + ["-Wl,--version-script=$(location %s)" % exports],
        linkshared = True,
        **kwargs
    )

def op_library(name, srcs, deps = []):
    """A library of TensorFlow ops: links libtensorflow_framework alone, and exports no symbol.

    The Python package imports TensorFlow first, so that library is loaded already and ours holds
    no path to it.
    """
    framework = "@local_tensorflow//:libtensorflow_framework.so.2"
    _shared_library(
        name = name,
        srcs = srcs,
        additional_linker_inputs = [framework],
        copts = _COPTS + TENSORFLOW_COPTS,
        exports = "//tools:ops.lds",
        linkopts = ["$(location %s)" % framework, "-Wl,-z,defs"],
        deps = deps + ["@local_tensorflow//:headers"],
    )

def python_module(name, srcs, deps = []):
    """A Python extension module made with pybind11."""
    _shared_library(
        name = name,
        srcs = srcs,
        copts = _COPTS,
        exports = "//tools:python_module.lds",
        deps = deps + ["@local_python//:pybind11"],
    )
