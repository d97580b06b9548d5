"""Cost of a training step against each dimension, the others fixed; errors against T.

Without page faults: a step there is glibc's (its blocks over 32 MiB), not the algorithm's.
"""

from typing import NamedTuple

import numpy as np

from benchmarks.data import Shape

PEERS = ("ours", "warpctc_library", "pytorch", "optax_jit")
MODE = "faults out"
BUDGET_S = 0.25

# A peer whose step takes longer is not asked for the points behind.
STOP_AFTER_S = 4.0


class Axis(NamedTuple):
    """One dimension: the shape in which it varies, its values, and whether errors are measured."""

    base: Shape
    values: tuple[int, ...]
    errors: bool = False


AXES = {
    "B": Axis(Shape(150, 40, 28, 1), (1, 2, 4, 8, 16, 32, 64, 128, 256)),
    "T": Axis(Shape(0, 100, 64, 2), (250, 500, 1000, 2000, 5000, 10000, 20000), errors=True),
    "V": Axis(Shape(150, 20, 0, 4), (32, 100, 320, 1000, 3200, 10000, 32000, 100000)),
    # Twice as many frames as the longest label has labels. Near that, part of the lattice is out
    # of reach, and skipping it makes the cost grow less than linearly.
    "U": Axis(Shape(10000, 0, 64, 1), (10, 20, 50, 100, 200, 500, 1000, 2000, 5000)),
}


def points(axis: str) -> list[dict]:
    """The points of a job along one axis."""
    chosen = AXES[axis]
    shapes = [chosen.base._replace(**{axis: value}) for value in chosen.values]
    return [{"shape": shape, "tasks": ("training",)} for shape in shapes]


def growth(values, times) -> float:
    """The slope in log-log over the upper half of the values: 1 is linear growth."""
    upper = len(values) // 2
    return float(np.polyfit(np.log(values[upper:]), np.log(times[upper:]), 1)[0])
