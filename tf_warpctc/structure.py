"""The structure of nested ragged tensors: taken off before an op, put back on what it returns.

A RaggedTensor of documents of lines of frames, [D, (L), (T), V], has the lines of all documents one
after the other in its values, and theirs are the frames of all lines. The ops know one level of
rows, the innermost. What lies outside passes through them untouched, since they give one entry for
each row that they get.
"""

from typing import Any

import tensorflow as tf

from tf_warpctc.checks import require


def is_ragged(x: Any) -> bool:
    """Whether x is a RaggedTensor, in eager mode or in a graph."""
    return isinstance(x, tf.RaggedTensor)


def is_nested(x: Any) -> bool:
    """Whether x is a RaggedTensor of more than one level of rows."""
    return is_ragged(x) and x.ragged_rank > 1


def innermost_rows(x: tf.RaggedTensor) -> tf.RaggedTensor:
    """The rows of the innermost level, of all outer rows one after the other."""
    while x.ragged_rank > 1:
        x = x.values
    return x


def with_innermost_rows(x: tf.RaggedTensor, rows: Any) -> Any:
    """`rows`, an entry for each innermost row of x, under the outer levels of x."""
    if x.ragged_rank == 1:
        return rows
    return x.with_values(with_innermost_rows(x.values, rows))


def row_prefixes(x: tf.RaggedTensor, lengths: tf.Tensor, *others: tf.Tensor) -> list:
    """The first lengths[b] values of each row of x, and of tensors that are packed as x is."""
    starts = x.row_splits[:-1]
    kept = tf.ragged.range(
        starts, starts + tf.cast(lengths, starts.dtype), row_splits_dtype=starts.dtype
    )
    return [kept.with_values(tf.gather(values, kept.values)) for values in (x.values, *others)]


def innermost_rows_alike(
    x: Any, x_name: str, other: tf.RaggedTensor, other_name: str
) -> tf.RaggedTensor:
    """The innermost rows of x, once the levels outside of them are those of `other`.

    Raises:
      ValueError: x is not ragged, or has more or fewer levels.
      tf.errors.InvalidArgumentError: on some level they hold different numbers of rows; the message
        names level, rows and both numbers.
    """
    checks = _require_alike(x, x_name, other, other_name, other.ragged_rank - 1)
    rows = innermost_rows(x)
    with tf.control_dependencies(checks):
        return rows.with_values(tf.identity(rows.values))


def flat_values_alike(x: Any, x_name: str, other: tf.RaggedTensor, other_name: str) -> tf.Tensor:
    """The flat values of x, once all its levels are those of `other`; raises as the rows do."""
    with tf.control_dependencies(_require_alike(x, x_name, other, other_name, other.ragged_rank)):
        return tf.identity(x.flat_values)


def _require_alike(
    x: Any, x_name: str, other: tf.RaggedTensor, other_name: str, levels: int
) -> list:
    """Both have the same number of levels, and the outermost `levels` of them are the same."""
    if not is_ragged(x):
        raise ValueError(
            f"{x_name} must be a RaggedTensor of {other.ragged_rank} levels, as {other_name} are, "
            f"received {type(x).__name__}"
        )
    if x.ragged_rank != other.ragged_rank:
        raise ValueError(
            f"{x_name} and {other_name} must have the same number of ragged levels, received "
            f"{x.ragged_rank} (shape {x.shape}) and {other.ragged_rank} (shape {other.shape})"
        )
    checks = []
    for level in range(levels):
        if x.row_splits is not other.row_splits:
            with tf.control_dependencies(checks):
                checks = _require_rows_alike(x, other, f"{x_name} and {other_name}, level {level}:")
        x, other = x.values, other.values
    return checks


def _require_rows_alike(x: tf.RaggedTensor, other: tf.RaggedTensor, where: str) -> list:
    """Both have the same number of rows, and these the same lengths."""
    counts = x.nrows(out_type=tf.int64), other.nrows(out_type=tf.int64)
    checks = require(
        tf.equal(*counts), f"{where} they must have the same number of rows. Received:", *counts
    )
    with tf.control_dependencies(checks):
        lengths = [tf.cast(tf.identity(y.row_lengths()), tf.int64) for y in (x, other)]
    # In a graph what follows is computed even where the counts differ, until the check stops it.
    common = tf.minimum(*counts)
    lengths = [y[:common] for y in lengths]
    differ = tf.not_equal(*lengths)
    return checks + require(
        tf.logical_not(tf.reduce_any(differ)),
        f"{where} each row must hold the same number of rows in both. Rows where it does not, and "
        "how many each holds there:",
        tf.where(differ)[:, 0],
        *(tf.boolean_mask(y, differ) for y in lengths),
    )
