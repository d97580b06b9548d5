"""What the machine allows on the logits, in plain C: the floors below which no function can be."""

import ctypes
import tempfile
from pathlib import Path

import numpy as np

from benchmarks import c_library
from benchmarks.peers.base import BasePeer

SOURCE = Path(__file__).resolve().parents[1] / "floors.c"

# What the loops need of -ffast-math to become vectors. That flag itself, where gcc links with it,
# has the library round denormals to zero in the whole process that loads it.
FAST = ("-fno-trapping-math", "-ffinite-math-only", "-fno-signed-zeros")
OPTIONS = ("-O3", "-march=native", "-fopenmp", *FAST)


class Peer(BasePeer):
    title = "plain C"

    def __init__(self, case):
        with tempfile.TemporaryDirectory(prefix="tf_warpctc_floors_") as folder:
            library = ctypes.CDLL(str(c_library.build(SOURCE, Path(folder), *OPTIONS)))
        library.floor_read.restype = ctypes.c_float
        # Kept, as the functions have their addresses alone.
        self.logits = np.ascontiguousarray(case.logits, np.float32)
        self.output = np.zeros_like(self.logits)
        source, target = (ctypes.c_void_p(x.ctypes.data) for x in (self.logits, self.output))
        count, classes = ctypes.c_long(self.logits.size), ctypes.c_long(self.logits.shape[-1])
        rows = ctypes.c_long(self.logits.size // self.logits.shape[-1])
        self.calls = {
            "read": lambda: library.floor_read(source, count),
            "copy": lambda: library.floor_copy(source, target, count),
            "c_softmax": lambda: library.floor_softmax(source, target, rows, classes),
        }
