"""Peak memory of a call, beyond what the process held before it, to the byte.

live_bytes.c counts, preloaded into the process. What a library keeps from one call to the next is
no part of a warm call's peak, so that is measured too: "kept". It includes whatever else the first
call left behind (a traced graph, compiled code).
"""

import ctypes
import statistics
from collections.abc import Callable
from pathlib import Path

from benchmarks import c_library, timing

REPEATS = 3

SOURCE = Path(__file__).with_name("live_bytes.c")


def build(folder: Path) -> Path:
    """Compiles the counter into `folder`, and returns the library to preload."""
    return c_library.build(SOURCE, folder, "-O2")


def peak_extra_bytes(call: Callable[[], object]) -> dict[str, int]:
    """What a call that was not made yet takes.

    Returns:
      dict of `peak`, the median over warm calls of the most bytes held at once beyond those held
      before, and `kept`, the bytes held after them and not before the first.
    """
    counter = ctypes.CDLL(None)
    for function in (counter.live_bytes_reset_peak, counter.live_bytes_peak):
        function.restype = ctypes.c_long
    at_first = counter.live_bytes_reset_peak()
    call()
    slow = timing.seconds(call) > timing.SLOW_CALL_S
    peaks = []
    for _ in range(1 if slow else REPEATS):
        before = counter.live_bytes_reset_peak()
        call()
        peaks.append(counter.live_bytes_peak() - before)
    kept = counter.live_bytes_reset_peak() - at_first
    return {"peak": int(statistics.median(peaks)), "kept": max(0, int(kept))}
