"""Long labels: of their lattice rows some are saved, and the gradient computes the others again.

The interval between saved rows grows with the width of the row, 1 to 32 steps. It is the widest
label of the batch which decides, so short rows in the batch go through the same intervals.
"""

import numpy as np
import pytest
from kernel_support import LEVELS, random_rows
from test_kernel_loss import check

# Widest labels: with them the interval is 1, 2, 4, 8, 16 and 32 (see cc/kernels/lattice.h).
WIDEST = {"float32": [10, 25, 60, 70, 130, 300, 1100], "float64": [5, 10, 20, 40, 70, 130, 300]}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("num_classes", [4, 90])
def test_any_interval(num_classes, dtype, level):
    """Frames around multiples of every interval, in both halves, for labels wide and short."""
    rng = np.random.default_rng(num_classes)
    for widest in WIDEST[dtype]:
        shapes = [(2 * widest + 3, widest)]
        shapes += [(n, u) for n in (1, 2, 15, 16, 31, 33, 64, 66, 129) for u in (0, 1, 4)]
        shapes += [(n, min(40, widest)) for n in (127, 128, 130)]
        rows, labels = random_rows(rng, shapes, num_classes, blank=1)
        check(rows, labels, 1, dtype, level=level, threads=2)


def test_tight_and_loose_rows_share_scratch():
    """Bands that hug one corner of the lattice, then the other: no trace of an interval before."""
    rng = np.random.default_rng(1)
    shapes = [(400, 300), (310, 300), (700, 20), (700, 300), (301, 300), (40, 1), (600, 290)]
    rows, labels = random_rows(rng, shapes, 301, blank=0)
    labels[1] = list(range(1, 301))  # no repeats: 310 frames are enough
    labels[4] = list(range(1, 301))
    for scale in (1.0, 50.0):
        check([row * scale for row in rows], labels, 0, "float32", threads=1)
