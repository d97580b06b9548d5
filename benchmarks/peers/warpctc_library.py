"""warp-ctc's C library, as PaddlePaddle's wheel ships it, called directly.

The call that Baidu's bindings make: gradient and workspace are the caller's, allocated once and
kept, and OpenMP shares the rows out among as many threads as there are cores. Paddle itself calls
it with one thread (paddle_loss.py).
"""

import ctypes
import importlib.util
import os
from pathlib import Path

import numpy as np

from benchmarks.peers.base import BasePeer


class Options(ctypes.Structure):
    """ctcOptions of warp-ctc's include/ctc.h."""

    class _Resource(ctypes.Union):
        _fields_ = [("num_threads", ctypes.c_uint), ("stream", ctypes.c_void_p)]

    _anonymous_ = ["resource"]
    _fields_ = [("loc", ctypes.c_int), ("resource", _Resource), ("blank_label", ctypes.c_int)]


def library() -> ctypes.CDLL:
    """The shared library; ImportError where there is none."""
    package = importlib.util.find_spec("paddle")  # without importing it
    if package is None:
        raise ImportError("No module named 'paddle', which ships the library")
    path = Path(package.submodule_search_locations[0]) / "libs/libwarpctc.so"
    if not path.exists():
        raise ImportError(f"PaddlePaddle ships no {path.name}")
    return ctypes.CDLL(str(path))


def pointer(array):
    """The address of an array's first number."""
    return ctypes.c_void_p(array.ctypes.data)


class Peer(BasePeer):
    title = "warp-ctc, C library"
    distributions = ("paddlepaddle",)

    def __init__(self, case):
        shape, functions = case.shape, library()
        options = Options(loc=0, num_threads=len(os.sched_getaffinity(0)), blank_label=0)
        lengths = pointer(case.label_length), pointer(case.logit_length)
        size = ctypes.c_size_t()
        sizes = (ctypes.c_int(shape.V), ctypes.c_int(shape.B))
        self._check(functions.get_workspace_size(*lengths, *sizes, options, ctypes.byref(size)))
        workspace = np.empty(size.value, np.uint8)
        losses = np.empty(shape.B, np.float32)
        gradient = np.empty_like(case.logits)

        def run(gradient_pointer):
            status = functions.compute_ctc_loss(
                pointer(case.logits),
                gradient_pointer,
                pointer(case.labels),  # full rows, so the padded array is the flat one
                *lengths,
                *sizes,
                pointer(losses),
                pointer(workspace),
                options,
            )
            self._check(status)

        self._result = losses, gradient
        self.held_bytes = workspace.nbytes + gradient.nbytes
        # Without a gradient it computes the forward half alone.
        self.calls = {"training": lambda: run(pointer(gradient)), "evaluation": lambda: run(None)}

    @staticmethod
    def _check(status: int):
        if status:
            raise RuntimeError(f"warp-ctc ended with status {status}")

    def result(self):
        self.calls["training"]()
        return self._result
