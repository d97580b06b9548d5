"""The layer rules hold in the tree, and the checker that says so finds what it is there to find."""

import pathlib

import layers
import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent


def test_the_tree_keeps_the_rules():
    paths = list(layers.source_files(ROOT))
    for place in ("cc/kernels/", "cc/ops/", "cc/python/", "tf_warpctc/", "tf_warpctc/keras/"):
        assert any(path.startswith(place) for path in paths), f"no source under {place}"
    faults = [fault for path in paths for fault in layers.check(path, (ROOT / path).read_text())]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(
    ("path", "text", "fault"),
    [
        ("cc/kernels/a.h", '#include "tensorflow/core/framework/op.h"', "know no host"),
        ("cc/kernels/a.h", "#include <tensorflow/c/c_api.h>", "know no host"),
        ("cc/kernels/a.cc", "#  include <pybind11/pybind11.h>", "know no host"),
        ("cc/kernels/a.cc", "#include <Python.h>", "know no host"),
        ("cc/kernels/a.cc", '#include "cc/ops/a.h"', "above"),
        ("cc/kernels/a.cc", '#include "cc/python/a.h"', "above"),
        ("cc/ops/a.cc", '#include "cc/python/a.h"', "beside"),
        ("cc/python/a.cc", '#include "cc/ops/a.h"', "beside"),
        ("cc/python/a.cc", '#include "tensorflow/core/public/version.h"', "without TensorFlow"),
        ("cc/kernels/a_cpu.cc", '#include "cc/kernels/a_cuda.h"', "never include"),
        ("cc/kernels/a_simd.cc", "#include <cuda_runtime.h>", "CUDA header"),
        ("cc/kernels/lattice.h", "#include <cub/cub.h>", "CUDA header"),
        ("cc/kernels/a_cuda.cu.cc", '#include "cc/kernels/a_cpu.h"', "never include"),
        ("cc/kernels/a_cuda.cu.cc", '#include "cc/kernels/recursion_simd.h"', "never include"),
        ("cc/kernels/a_cuda.cu.cc", "#include <immintrin.h>", "never include"),
        ("cc/kernels/a.cc", "auto* p = (float*)malloc(4);", "allocation"),
        ("cc/kernels/a.cc", "auto* p = new float[4];", "allocation"),
        ("cc/kernels/a.cc", "delete[] p;", "allocation"),
        ("cc/kernels/a.cc", "std::vector<float> p(4);", "allocation"),
        ("cc/kernels/a.cc", "std::unique_ptr<float> p;", "allocation"),
        ("cc/kernels/a_cuda.cu.cc", "cudaMalloc(&p, 4);", "allocation"),
        ("cc/kernels/a_cuda.cu.cc", "cudaDeviceSynchronize();", "sync"),
        ("cc/kernels/a.cc", "if (bad) exit(1);", "ending the process"),
        ("cc/kernels/a.cc", "std::abort();", "ending the process"),
        ("cc/kernels/a.cc", "assert(n > 0);", "ending the process"),
        ("cc/kernels/a.cc", "CHECK_GT(n, 0);", "ending the process"),
        ("cc/kernels/a.cc", 'throw std::runtime_error("x");', "exception"),
        ("cc/kernels/a.cc", "std::mutex m;", "threads or locks"),
        ("cc/kernels/a.cc", 'printf("%d", n);', "output"),
        ("cc/kernels/a.cc", "static int calls = 0;", "state"),
        ("cc/other/a.cc", "", "outside"),
        ("tf_warpctc/loss.py", "from tf_warpctc.keras import losses", "under the Keras"),
        ("tf_warpctc/loss.py", "def f():\n    import keras", "under the Keras"),
        ("tf_warpctc/loss.py", "from .keras import losses", "under the Keras"),
        ("tf_warpctc/keras/losses.py", "import tests.oracles", "above the package"),
    ],
)
def test_the_checker_finds(path, text, fault):
    (found,) = layers.check(path, text)
    assert found.startswith(path) and fault in found


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("cc/kernels/a.h", '#include <cstdint>\n#include "cc/kernels/lattice.h"\n'),
        ("cc/kernels/a.cc", "// malloc() and new are not used, nor std::vector\n/* exit(1);\n */"),
        ("cc/kernels/a.cc", 'const char* kName = "malloc(3) \\" exit(1)";'),
        ("cc/kernels/a.h", "A(const A&) = delete;"),
        ("cc/kernels/a.h", "static constexpr int kWidth = 4;\nstatic Scratch Take(Arena& arena);"),
        ("cc/kernels/a.h", 'static_assert(kWidth > 0, "width");'),
        ("cc/kernels/a_cuda.cu.cc", '#include <cuda_runtime.h>\n#include "cc/kernels/lattice.h"'),
        ("cc/ops/a.cc", '#include "tensorflow/core/framework/op.h"\nauto p = new int; exit(1);'),
        ("cc/ops/a.cc", '#include "cc/kernels/ctc_loss.h"'),
        ("cc/python/a.cc", '#include "cc/kernels/ctc_loss.h"\n#include <pybind11/numpy.h>'),
        ("tf_warpctc/keras/losses.py", "import keras\nfrom tf_warpctc.loss import ctc_loss"),
        ("tf_warpctc/loss.py", "import tensorflow as tf\nfrom tf_warpctc import _library"),
        ("examples/a.py", "import tests.oracles"),
    ],
)
def test_the_checker_lets_pass(path, text):
    assert layers.check(path, text) == []


def test_lines_are_numbered_as_in_the_file():
    text = "/* two\n   lines */\nint a;\nint* b = new int;\n"
    (found,) = layers.check("cc/kernels/a.cc", text)
    assert found.startswith("cc/kernels/a.cc:4:")
