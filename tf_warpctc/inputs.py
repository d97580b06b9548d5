"""From the many forms in which sequences come to the two tensors that the ops take.

A batch of sequences is a values tensor with a layout, and its rows: lengths when the values are
padded, row splits when they are packed. Nothing is padded, transposed or copied here.
"""

from typing import Any, NamedTuple

import tensorflow as tf

from tf_warpctc.checks import require
from tf_warpctc.structure import is_ragged


class Sequences(NamedTuple):
    """A batch of sequences as the ops take it."""

    values: tf.Tensor  # [T, B, ...], [B, T, ...] or packed [sum of lengths, ...]
    rows: tf.Tensor  # lengths [B], or row splits [B + 1] of packed values
    layout: str  # "time_major", "batch_major" or "packed"

    @property
    def is_packed(self) -> bool:
        """Whether `rows` are row splits."""
        return self.layout == "packed"


def is_sparse(x: Any) -> bool:
    """Whether x is a SparseTensor, in eager mode or in a graph."""
    return isinstance(x, (tf.SparseTensor, tf.compat.v1.SparseTensorValue))


def _integer_tensor(x: Any, name: str) -> tf.Tensor:
    """x as int32 or int64: narrower integers are widened, anything else is an error."""
    x = tf.convert_to_tensor(x, name=name)
    if x.dtype in (tf.int32, tf.int64):
        return x
    if x.dtype.is_integer and x.dtype != tf.uint64:
        return tf.cast(x, tf.int64)
    if x.dtype.is_floating and x.shape.num_elements() == 0:
        return tf.cast(x, tf.int32)  # an empty Python list, which has no type of its own
    raise TypeError(f"{name} must be integers, received dtype {x.dtype.name}")


def _lengths(length: Any, name: str, values: tf.Tensor, batch_axis: int) -> tf.Tensor:
    """Lengths [B]; None means that every sequence fills the width."""
    if length is not None:
        return _integer_tensor(length, name)
    shape = tf.shape(values, out_type=tf.int64)
    return tf.fill([shape[batch_axis]], shape[1 - batch_axis])


def _reject_length(length: Any, name: str, values_name: str, kind: str) -> None:
    if length is not None:
        raise ValueError(
            f"{name} must be None when {values_name} is a {kind}, which holds its own lengths; "
            f"received {length!r}"
        )


def _require_one_level(x: tf.RaggedTensor, name: str, form: str) -> None:
    """x is ragged in one dimension, and its rows hold what `form` says."""
    values_rank = form.count(",")
    if x.ragged_rank != 1 or x.values.shape.rank not in (None, values_rank):
        raise ValueError(
            f"{name} must have the form {form} (more outer dimensions only where labels and logits "
            f"are nested alike), received ragged rank {x.ragged_rank} and shape {x.shape}"
        )


def ragged_from_sparse(x: tf.SparseTensor, name: str) -> tf.RaggedTensor:
    """The rows of x; InvalidArgumentError unless each row's entries are at columns 0, 1, ..."""
    row, column = x.indices[:, 0], x.indices[:, 1]
    count = x.dense_shape[0]
    outside = (row < 0) | (row >= count)
    checks = [
        *require(
            tf.logical_not(tf.reduce_any(outside)),
            f"{name}: row indices of the SparseTensor must lie inside its dense_shape. Received "
            "number of rows, indices outside:",
            count,
            tf.boolean_mask(row, outside),
        ),
        *require(
            tf.reduce_all(row[1:] >= row[:-1]),
            f"{name}: the indices of the SparseTensor must be in order. Received row indices:",
            row,
        ),
    ]
    with tf.control_dependencies(checks):
        rows = tf.RaggedTensor.from_value_rowids(x.values, row, nrows=count, validate=False)
    gap = tf.not_equal(column, tf.ragged.range(rows.row_lengths()).flat_values)
    checks = require(
        tf.logical_not(tf.reduce_any(gap)),
        f"{name}: the entries of each row of the SparseTensor must be at columns 0, 1, ... "
        "(right-ragged). Rows where they are not:",
        tf.unique(tf.boolean_mask(row, gap))[0],
    )
    with tf.control_dependencies(checks):
        return rows.with_values(tf.identity(rows.values))


def logits_sequences(logits: Any, logit_length: Any, time_major: bool) -> Sequences:
    """Logits: a padded tensor with lengths (or None), or a RaggedTensor of frames."""
    if is_ragged(logits):
        _reject_length(logit_length, "logit_length", "logits", "RaggedTensor")
        _require_one_level(logits, "logits", "[B, (T), V]")
        return Sequences(logits.values, logits.row_splits, "packed")
    logits = tf.convert_to_tensor(logits, name="logits")
    if not logits.dtype.is_floating:
        raise TypeError(
            "logits must be float16, bfloat16, float32 or float64, "
            f"received dtype {logits.dtype.name}"
        )
    if logits.shape.rank not in (None, 3):
        expected = "[T, B, V]" if time_major else "[B, T, V]"
        raise ValueError(f"logits must have shape {expected}, received shape {logits.shape}")
    lengths = _lengths(logit_length, "logit_length", logits, 1 if time_major else 0)
    return Sequences(logits, lengths, "time_major" if time_major else "batch_major")


def id_sequences(
    ids: Any, length: Any, name: str = "labels", length_name: str = "label_length"
) -> Sequences:
    """Ids: a padded [B, U] tensor with lengths (or None), a RaggedTensor or a SparseTensor."""
    if is_sparse(ids):
        _reject_length(length, length_name, name, "SparseTensor")
        ids = ragged_from_sparse(tf.SparseTensor.from_value(ids), name)
    elif is_ragged(ids):
        _reject_length(length, length_name, name, "RaggedTensor")
    if is_ragged(ids):
        _require_one_level(ids, name, "[B, (U)]")
        return Sequences(_integer_tensor(ids.values, name), ids.row_splits, "packed")
    ids = _integer_tensor(ids, name)
    if ids.shape.rank not in (None, 2):
        raise ValueError(f"{name} must have rank 2, received shape {ids.shape}")
    return Sequences(ids, _lengths(length, length_name, ids, 0), "batch_major")


def one_rows_dtype(a: Sequences, b: Sequences) -> tuple[Sequences, Sequences]:
    """Gives the rows of both the same integer type, which the ops ask for."""
    if a.rows.dtype == b.rows.dtype:
        return a, b
    return tuple(s._replace(rows=tf.cast(s.rows, tf.int64)) for s in (a, b))


def real_dtype(logits_dtype: tf.DType) -> tf.DType:
    """What losses and scores are computed in: float64 for float64 logits, else float32."""
    return tf.float64 if logits_dtype == tf.float64 else tf.float32
