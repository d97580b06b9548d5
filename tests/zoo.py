"""The batch that most value tests run on: one row for each way a CTC row can be special."""

import numpy as np
from support import Batch, random_batch, without_repeats

# Label lengths around the vector widths of the kernels: S = 2U + 1 states, 4 to 16 lanes.
SWEEP = (1, 2, 3, 4, 6, 7, 8, 9, 15, 16, 17, 23, 31, 32, 33)


def zoo(num_classes=12, blank_index=0, seed=7):
    """About 35 rows: empty, frameless, infeasible, tight, repeated, swept and long."""
    rng = np.random.default_rng(seed)
    blank = blank_index % num_classes
    first, second = [v for v in range(num_classes) if v != blank][:2]
    shapes = [(0, 0), (0, 1), (1, 0), (5, 0), (1, 1), (3, 5), (70, 3)]
    shapes += [(2 * u + 3, u) for u in SWEEP] + [(u, u) for u in SWEEP[3:]]
    batch = random_batch(rng, shapes, num_classes, blank_index)
    for row in range(len(shapes) - len(SWEEP[3:]), len(shapes)):
        # As many frames as labels and no repeats: exactly one path.
        batch.labels[row] = without_repeats(batch.labels[row], num_classes, blank)
    special = {
        "repeats, one path": (5, [first] * 3),
        "repeats, one frame short": (4, [first] * 3),
        "repeats, room": (12, [first, first, second, second, first]),
        "alternating": (9, [first, second] * 3),
    }
    for num_frames, labels in special.values():
        batch.frames.append(rng.normal(0.0, 2.0, (num_frames, num_classes)))
        batch.labels.append(labels)
    return Batch(batch.frames, batch.labels, blank_index)
