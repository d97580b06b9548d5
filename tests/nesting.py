"""Ragged tensors of any depth, drawn at random, and the nested lists that they stand for."""

import numpy as np
import tensorflow as tf
from hypothesis import strategies as st

SPLITS = ("int32", "int64")


@st.composite
def outer_lengths(draw, max_depth=3):
    """Lengths of 1 to max_depth levels outside of the rows, some zero; the outermost first.

    The sum of a level's lengths is the number of lengths of the next one.
    """
    entries = draw(st.integers(0, 3))
    levels = []
    for _ in range(draw(st.integers(1, max_depth))):
        levels.append(draw(st.lists(st.integers(0, 3), min_size=entries, max_size=entries)))
        entries = sum(levels[-1])
    return levels


def num_rows(levels):
    """Number of innermost rows."""
    return sum(levels[-1])


def ragged(levels, rows, empty, splits_dtype="int64"):
    """`rows`, arrays [length, ...], under outer levels; `empty` is the values of no row at all."""
    values = tf.constant(np.concatenate(rows) if rows else empty)
    splits = [
        tf.constant(np.concatenate([[0], np.cumsum(lengths)]), splits_dtype)
        for lengths in (*levels, [len(row) for row in rows])
    ]
    return tf.RaggedTensor.from_nested_row_splits(values, splits)


def grouped(levels, entries):
    """The entries of the innermost rows as nested lists."""
    for lengths in reversed(levels):
        left = iter(entries)
        entries = [[next(left) for _ in range(length)] for length in lengths]
    return entries
