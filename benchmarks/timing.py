"""How long a call takes: the median of many, on a machine at rest, after a warm-up.

The result of a call is dropped within its time: giving memory back is part of the cost, and a
result kept would make the next call work beside it.
"""

import gc
import resource
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

from benchmarks import quiet

# A sample that others disturbed is taken again, this often at most; the least disturbed counts.
ATTEMPTS = 3

# A call that takes longer is timed once, without more warm-up than one call before it.
SLOW_CALL_S = 2.0

WARM_UP_S = 0.15
FEWEST_CALLS, MOST_CALLS = 3, 2000


@dataclass
class Timing:
    """Of one sample of calls."""

    median_ms: float
    fastest_ms: float
    calls: int
    page_faults: float  # minor ones, a call
    foreign_share: float  # of the machine's processor time during the sample
    waited_s: float = 0.0  # for the machine to be at rest


def seconds(call: Callable[[], object]) -> float:
    """Wall time of one call, and of dropping its result."""
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def warm_up(call: Callable[[], object]) -> float:
    """Calls until caches, heap and threads are warm; returns the last call's seconds."""
    seconds(call)  # traces, compiles
    last = seconds(call)
    spent = last
    while spent < WARM_UP_S:
        last = seconds(call)
        spent += last
    return last


def sample(call: Callable[[], object], budget_s: float) -> Timing:
    """Times calls for about `budget_s`."""
    times = []
    before, faults = quiet.Snapshot.take(), resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    while len(times) < FEWEST_CALLS or (sum(times) < budget_s and len(times) < MOST_CALLS):
        times.append(seconds(call))
        if times[-1] > SLOW_CALL_S:
            break
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults
    return Timing(
        median_ms=1e3 * statistics.median(times),
        fastest_ms=1e3 * min(times),
        calls=len(times),
        page_faults=faults / len(times),
        foreign_share=quiet.Snapshot.take().foreign_share_since(before),
    )


def measure(call: Callable[[], object], budget_s: float, patience_s: float) -> dict:
    """The least disturbed of up to ATTEMPTS samples, as a dict of `Timing`'s fields.

    Args:
      call: does the work, and returns when it is done.
      budget_s: how long a sample takes, at least FEWEST_CALLS calls.
      patience_s: how long to wait for the machine to be at rest, over all attempts. With 0 there
        is neither a wait nor a second attempt.
    """
    gc.collect()
    gc.disable()
    try:
        slow = warm_up(call) > SLOW_CALL_S
        waited, best = 0.0, None
        for _ in range(1 if slow or patience_s <= 0 else ATTEMPTS):
            if waited < patience_s:
                waited += quiet.wait(patience_s - waited)
            timing = sample(call, budget_s)
            if best is None or timing.foreign_share < best.foreign_share:
                best = timing
            if best.foreign_share <= quiet.REST:
                break
    finally:
        gc.enable()
    best.waited_s = waited
    return asdict(best)
