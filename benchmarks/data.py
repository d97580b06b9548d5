"""The data of one shape, the same in every process: seeded by the shape itself.

Logits are standard normal, the worst case for speed (no frame is certain, so no path is hopeless)
and an ordinary one for accuracy. Every row has all T frames and U labels: padding would favour
whoever skips it.
"""

from typing import NamedTuple

import numpy as np


class Shape(NamedTuple):
    """T frames, U labels, V classes with the blank (class 0), B rows."""

    T: int
    U: int
    V: int
    B: int

    def __str__(self):
        return f"{self.T}/{self.U}/{self.V}, B {self.B}"

    @property
    def key(self):
        """A name for files."""
        return f"T{self.T}_U{self.U}_V{self.V}_B{self.B}"

    @property
    def logits_bytes(self):
        """Size of the float32 logits."""
        return 4 * self.T * self.B * self.V

    @property
    def cells(self):
        """Lattice cells, B * T * S with S = 2U+1."""
        return self.B * self.T * (2 * self.U + 1)


class Case:
    """The arrays of one shape.

    Attributes:
      shape: the `Shape`.
      logits: [T, B, V], float32 unless another dtype was asked for.
      labels: int32 [B, U] in [1, V).
      label_length, logit_length: int32 [B], all U and all T.
    """

    def __init__(self, shape: Shape, scale: float = 1.0, dtype: str = "float32"):
        rng = np.random.default_rng(shape)
        self.shape = shape
        self.labels = rng.integers(1, shape.V, (shape.B, shape.U), np.int32)
        self.logits = rng.standard_normal((shape.T, shape.B, shape.V), np.float32)
        if scale != 1.0:
            self.logits *= np.float32(scale)
        # float64 gets the same numbers, so that one reference serves both.
        self.logits = self.logits.astype(dtype, copy=False)
        self.label_length = np.full(shape.B, shape.U, np.int32)
        self.logit_length = np.full(shape.B, shape.T, np.int32)

    def batch_major(self):
        """The logits as a [B, T, V] array of its own."""
        return np.ascontiguousarray(self.logits.transpose(1, 0, 2))
