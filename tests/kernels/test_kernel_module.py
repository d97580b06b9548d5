"""The module itself: needs no TensorFlow, knows the machine's levels, refuses wrong calls."""

import platform
import subprocess
import sys

import numpy as np
import pytest
from kernel_support import LEVELS, kernels, lay_out, module_path, pad_labels


def test_loads_without_tensorflow():
    code = f"""
import importlib.util, importlib.machinery, sys
loader = importlib.machinery.ExtensionFileLoader("_kernels", {str(module_path())!r})
spec = importlib.util.spec_from_file_location("_kernels", {str(module_path())!r}, loader=loader)
module = importlib.util.module_from_spec(spec)
loader.exec_module(module)
assert module.simd_levels()
loaded = [name for name in sys.modules if name.split(".")[0] in ("tensorflow", "tf_warpctc")]
assert not loaded, loaded
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_levels():
    assert LEVELS[0] == "baseline"
    assert list(LEVELS) == ["baseline", "avx2", "avx512"][: len(LEVELS)]
    if platform.machine() == "x86_64" and sys.platform == "linux":
        with open("/proc/cpuinfo") as cpuinfo:
            flags = set(next(line for line in cpuinfo if line.startswith("flags")).split())
        assert ("avx2" in LEVELS) == {"avx2", "fma", "f16c"}.issubset(flags)
        assert ("avx512" in LEVELS) == {"avx512f", "avx512bw", "avx512dq", "avx512vl"}.issubset(
            flags
        )


def call(**changes):
    frames = lay_out([np.zeros((3, 4))] * 2, "batch_major", "float32")
    labels, label_length = pad_labels([[1], [2]])
    arguments = dict(frames.arguments(), labels=labels, label_length=label_length)
    arguments.update({"logits": frames.values, **changes})
    return kernels.ctc_loss(**arguments)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"level": "mmx"}, "level"),
        ({"dtype": "float8"}, "dtype"),
        ({"dtype": "float64"}, "dtype"),
        ({"logits": np.zeros(5, np.float32)}, "logits"),
        ({"logits": np.zeros((400, 2), np.float32).T}, "contiguous"),
        ({"logit_length": [3]}, "logit_length"),
        ({"logit_length": [3, 99]}, "logit_length"),
        ({"labels": np.zeros((1, 1), np.int32)}, "labels"),
    ],
)
def test_wrong_calls_are_refused(changes, message):
    assert np.isfinite(call()["loss"]).all()
    with pytest.raises(ValueError, match=message):
        call(**changes)
