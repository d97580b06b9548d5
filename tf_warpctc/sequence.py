"""Bridges between the ways to write down sequences: LoD, lengths, padding, and RaggedTensor.

A LoD (level of details, PaddlePaddle's sequence structure) is a list of levels, the outermost
first. Each is a list of offsets into the rows of the next level, and those of the last into the
rows of the values. A `tf.RaggedTensor` holds the same numbers as its `nested_row_splits`, so that
nothing is copied here but the offsets:

| LoD | tf.RaggedTensor |
|---|---|
| `[[0, 2, 3]]` | row splits of ragged rank 1 |
| `[[0, 2, 3], [0, 2, 4, 7]]` | `nested_row_splits` of ragged rank 2 |
| recursive sequence lengths `[[2, 1], [2, 2, 3]]` | `nested_row_lengths()` |

Errors: what the shapes and dtypes show is a ValueError or TypeError; what only the values show is a
`tf.errors.InvalidArgumentError`, which names the level.
"""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tf_warpctc.checks import require
from tf_warpctc.structure import (
    flat_values_alike,
    innermost_rows,
    is_ragged,
    with_innermost_rows,
)

__all__ = [
    "from_lengths",
    "from_lod",
    "from_padded",
    "slice_in_level",
    "slice_levels",
    "to_lengths",
    "to_lod",
    "to_padded",
]


def from_lod(values: Any, lod: Sequence[Any]) -> tf.RaggedTensor:
    """The rows of `values` under the levels of a LoD.

    Args:
      values: [N, ...], one row for each innermost entry.
      lod: One or more levels of offsets, the outermost first: int32 or int64 [rows + 1] each, as
        lists, arrays or tensors.

    Returns:
      A RaggedTensor of as many ragged dimensions as there are levels. Its row splits are int64, or
      int32 if all levels are.

    Raises:
      ValueError: For no level, or one that is no vector, or known to hold no offset.
      TypeError: For offsets that are not integers.
      tf.errors.InvalidArgumentError: For a level that is empty, does not start at 0, descends, or
        does not end at the number of rows below it.

    Example:

    >>> import tensorflow as tf
    >>> from tf_warpctc import sequence
    >>> sequence.from_lod(tf.range(7), [[0, 2, 3], [0, 2, 4, 7]]).to_list()
    [[[0, 1], [2, 3]], [[4, 5, 6]]]
    """
    with tf.name_scope("from_lod"):
        values = tf.convert_to_tensor(values, name="values")
        levels = _levels(lod, "lod")
        for i in reversed(range(len(levels))):
            below = tf.shape(values)[0] if i + 1 == len(levels) else tf.size(levels[i + 1]) - 1
            with tf.control_dependencies(_require_offsets(levels[i], below, i)):
                levels[i] = tf.identity(levels[i])
        return tf.RaggedTensor.from_nested_row_splits(values, levels, validate=False)


def to_lod(x: tf.RaggedTensor) -> tuple[tf.Tensor, list[tf.Tensor]]:
    """The inverse of `from_lod`.

    Args:
      x: A RaggedTensor.

    Returns:
      A pair: the values [N, ...], and a list of the offsets of each level, the outermost first.

    Raises:
      ValueError: For an x that is not ragged.

    Example:

    >>> import tensorflow as tf
    >>> from tf_warpctc import sequence
    >>> values, lod = sequence.to_lod(tf.ragged.constant([[[1, 2], []], [[3]]]))
    >>> values.numpy().tolist(), [level.numpy().tolist() for level in lod]
    ([1, 2, 3], [[0, 2, 3], [0, 2, 2, 3]])
    """
    _require_ragged(x)
    return x.flat_values, list(x.nested_row_splits)


def from_lengths(values: Any, lengths: Sequence[Any]) -> tf.RaggedTensor:
    """The rows of `values` under levels of lengths, as Paddle's recursive sequence lengths.

    Args:
      values: [N, ...], one row for each innermost entry.
      lengths: One or more levels of lengths, the outermost first: int32 or int64 [rows] each.

    Returns:
      A RaggedTensor, as from `from_lod`.

    Raises:
      As `from_lod`; a negative length or a sum that is not the number of rows below is an
      InvalidArgumentError.

    Example:

    >>> import tensorflow as tf
    >>> from tf_warpctc import sequence
    >>> sequence.from_lengths(tf.range(7), [[2, 1], [2, 2, 3]]).to_list()
    [[[0, 1], [2, 3]], [[4, 5, 6]]]
    """
    with tf.name_scope("from_lengths"):
        levels = _levels(lengths, "lengths")
        checked = []
        for i, level in enumerate(levels):
            checks = require(
                tf.reduce_all(level >= 0),
                f"lengths, level {i}: lengths must not be negative. Received:",
                level,
            )
            with tf.control_dependencies(checks):
                zero = tf.zeros([1], level.dtype)
                checked.append(tf.concat([zero, tf.cumsum(level)], axis=0))
        return from_lod(values, checked)


def to_lengths(x: tf.RaggedTensor) -> tuple[tf.Tensor, list[tf.Tensor]]:
    """The inverse of `from_lengths`.

    Args:
      x: A RaggedTensor.

    Returns:
      A pair: the values [N, ...], and a list of the lengths of each level, the outermost first.

    Raises:
      ValueError: For an x that is not ragged.

    Example:

    >>> import tensorflow as tf
    >>> from tf_warpctc import sequence
    >>> values, lengths = sequence.to_lengths(tf.ragged.constant([[[1, 2], []], [[3]]]))
    >>> [level.numpy().tolist() for level in lengths]
    [[2, 1], [2, 0, 1]]
    """
    _require_ragged(x)
    return x.flat_values, list(x.nested_row_lengths())


def slice_levels(x: tf.RaggedTensor, begin: int, end: int) -> tf.RaggedTensor:
    """Levels `begin` up to, not including, `end` of x: Paddle's SliceLevels.

    Levels outside of them are taken off, and those inside of them are joined: the rows of the last
    level that is kept hold all the values below them. No value is moved.

    Args:
      x: A RaggedTensor.
      begin: The outermost level that is kept, counted from 0.
      end: The level behind the innermost that is kept.

    Returns:
      A RaggedTensor of end - begin levels.

    Raises:
      ValueError: Unless 0 <= begin < end <= number of levels.

    Example:

    >>> import tensorflow as tf
    >>> from tf_warpctc import sequence
    >>> documents = tf.ragged.constant([[[1, 2], [3]], [[4]]])  # of lines
    >>> sequence.slice_levels(documents, 0, 1).to_list()  # documents of characters
    [[1, 2, 3], [4]]
    >>> sequence.slice_levels(documents, 1, 2).to_list()  # lines
    [[1, 2], [3], [4]]
    """
    _require_ragged(x)
    if not 0 <= begin < end <= x.ragged_rank:
        raise ValueError(
            f"begin and end must satisfy 0 <= begin < end <= {x.ragged_rank}, the number of levels "
            f"of x, received {begin} and {end}"
        )
    for _ in range(begin):
        x = x.values
    return _first_levels(x, end - begin)


def _first_levels(x: tf.RaggedTensor, count: int) -> tf.RaggedTensor:
    if count > 1:
        return x.with_values(_first_levels(x.values, count - 1))
    splits = x.row_splits
    while x.ragged_rank > 1:
        x = x.values
        splits = tf.gather(x.row_splits, splits)
    return tf.RaggedTensor.from_row_splits(x.values, splits, validate=False)


def slice_in_level(x: tf.RaggedTensor, level: int, begin: Any, end: Any) -> tf.RaggedTensor:
    """Rows `begin` up to, not including, `end` of one level of x: Paddle's SliceInLevel.

    Levels outside of `level` are taken off; those inside of it, and the values, are those of the
    rows that are kept, with offsets which start at 0 again.

    Args:
      x: A RaggedTensor.
      level: Which level, 0 for the outermost.
      begin: The first row that is kept; an integer or a scalar tensor.
      end: The row behind the last that is kept, begin <= end <= number of rows of the level.

    Returns:
      A RaggedTensor of `level` levels fewer.

    Raises:
      ValueError: For a level that x does not have.
      tf.errors.InvalidArgumentError: For rows that the level does not have.

    Example:

    >>> import tensorflow as tf
    >>> from tf_warpctc import sequence
    >>> documents = tf.ragged.constant([[[1, 2], [3]], [[4]]])  # of lines
    >>> sequence.slice_in_level(documents, 1, 1, 3).to_list()  # lines 1 and 2, counted through
    [[3], [4]]
    """
    _require_ragged(x)
    if not 0 <= level < x.ragged_rank:
        raise ValueError(
            f"level must be in [0, {x.ragged_rank}), the levels of x, received {level}"
        )
    for _ in range(level):
        x = x.values
    rows = x.nrows()
    begin, end = (tf.cast(tf.convert_to_tensor(y), rows.dtype) for y in (begin, end))
    checks = require(
        (begin >= 0) & (begin <= end) & (end <= rows),
        f"begin and end must be rows of level {level}, 0 <= begin <= end <= number of rows. "
        "Received begin, end, number of rows:",
        begin,
        end,
        rows,
    )
    with tf.control_dependencies(checks):
        return x[tf.identity(begin) : tf.identity(end)]


def from_padded(values: Any, lengths: Any) -> tf.RaggedTensor:
    """Rows of padded values without their padding.

    Args:
      values: [B, T, ...]; or, for more levels, a RaggedTensor whose flat values have this shape.
      lengths: int32 or int64 [B], at most T; for ragged values a RaggedTensor of their levels.

    Returns:
      A RaggedTensor [B, (T), ...], under the outer levels of `values`.

    Raises:
      ValueError: For lengths that are not ragged as the values are.
      tf.errors.InvalidArgumentError: For a length outside [0, T], or levels that differ.

    Example:

    >>> import tensorflow as tf
    >>> from tf_warpctc import sequence
    >>> sequence.from_padded([[1, 2, 0], [3, 0, 0]], [2, 1]).to_list()
    [[1, 2], [3]]
    """
    if is_ragged(values):
        lengths = flat_values_alike(lengths, "lengths", values, "values")
        rows = from_padded(values.flat_values, lengths)
        return values.with_flat_values(rows.with_row_splits_dtype(values.row_splits.dtype))
    with tf.name_scope("from_padded"):
        values = tf.convert_to_tensor(values, name="values")
        (lengths,) = _levels([lengths], "lengths")
        width, rows = tf.shape(values)[1], tf.shape(values)[0]
        checks = require(
            tf.equal(tf.size(lengths), rows),
            "lengths and values must have the same number of rows. Received:",
            tf.size(lengths),
            rows,
        ) + require(
            tf.reduce_all((lengths >= 0) & (lengths <= tf.cast(width, lengths.dtype))),
            "each length must be in [0, T]. Received T, lengths:",
            width,
            lengths,
        )
        with tf.control_dependencies(checks):
            return tf.RaggedTensor.from_tensor(
                values, lengths=tf.identity(lengths), row_splits_dtype=lengths.dtype
            )


def to_padded(x: tf.RaggedTensor, padding_value: Any = 0) -> tuple[Any, Any]:
    """The inverse of `from_padded`: rows as wide as the longest, and their lengths.

    Args:
      x: A RaggedTensor [B, (T), ...], or with more outer levels, which both results keep.
      padding_value: What stands behind the rows.

    Returns:
      A pair: values [B, longest row, ...], and lengths [B] of the dtype of the row splits.

    Example:

    >>> import tensorflow as tf
    >>> from tf_warpctc import sequence
    >>> padded, lengths = sequence.to_padded(tf.ragged.constant([[1, 2], [3]]), -1)
    >>> padded.numpy().tolist(), lengths.numpy().tolist()
    ([[1, 2], [3, -1]], [2, 1])
    """
    _require_ragged(x)
    rows = innermost_rows(x)
    padded = rows.to_tensor(tf.cast(padding_value, rows.dtype))
    return with_innermost_rows(x, padded), with_innermost_rows(x, rows.row_lengths())


def _require_ragged(x: Any) -> None:
    if not is_ragged(x):
        raise ValueError(f"x must be a RaggedTensor, received {type(x).__name__}")


def _levels(levels: Sequence[Any], name: str) -> list[tf.Tensor]:
    """Vectors of one integer type."""
    if isinstance(levels, tf.Tensor) or not levels:
        raise ValueError(f"{name} must be a list of one or more levels, received {levels!r}")
    tensors = []
    for i, level in enumerate(levels):
        # An empty list has no type of its own.
        level = tf.convert_to_tensor(level, tf.int64 if isinstance(level, list) else None)
        if level.dtype not in (tf.int32, tf.int64):
            raise TypeError(
                f"{name}, level {i}: must be int32 or int64, received dtype {level.dtype.name}"
            )
        if level.shape.rank not in (None, 1):
            raise ValueError(f"{name}, level {i}: must be a vector, received shape {level.shape}")
        tensors.append(level)
    dtype = tf.int32 if all(x.dtype == tf.int32 for x in tensors) else tf.int64
    return [tf.cast(x, dtype) for x in tensors]


def _require_offsets(level: tf.Tensor, rows_below: tf.Tensor, i: int) -> list:
    """Offsets that start at 0, do not descend, and end at the number of rows below."""
    where = f"lod, level {i}:"
    at_least = f"{where} must hold at least the offset 0, received no offset"
    if level.shape[0] == 0:
        raise ValueError(at_least)
    return [
        *require(tf.size(level) > 0, at_least),
        *require(
            tf.reduce_all(tf.equal(level[:1], 0)), f"{where} must start at 0. Received:", level
        ),
        *require(
            tf.reduce_all(level[1:] >= level[:-1]),
            f"{where} offsets must not descend. Received:",
            level,
        ),
        *require(
            tf.reduce_all(tf.equal(level[-1:], tf.cast(rows_below, level.dtype))),
            f"{where} must end at the number of rows below it. Received that number, offsets:",
            rows_below,
            level,
        ),
    ]
