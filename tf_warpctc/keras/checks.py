"""Checks that the Keras classes share: dtypes, ranks and values of what a data pipeline hands over.

What can be seen in the static shape or dtype raises TypeError or ValueError at once. What only the
values show raises InvalidArgumentError: eagerly at once, from an assertion in a `tf.function`.
"""

from __future__ import annotations

import keras
import tensorflow as tf

from tf_warpctc.checks import require
from tf_warpctc.inputs import is_sparse
from tf_warpctc.sequence import slice_levels
from tf_warpctc.structure import flat_values_alike, is_ragged

# What the classes are registered under.
PACKAGE = "tf_warpctc"

# Floating dtypes in which a class id at or above 2**bits may be another id, rounded.
_EXACT_INTEGER_BITS = {
    tf.bfloat16: 8,
    tf.float16: 11,
    tf.float32: 24,
    tf.float64: 53,
}


def reject_symbolic(value, argument: str, owner: str) -> None:
    """Raises TypeError for a KerasTensor, which holds no values to compute with."""
    if isinstance(value, keras.KerasTensor):
        raise TypeError(
            f"{owner}: `{argument}` is a symbolic KerasTensor, but a tensor with values was "
            "expected. To build the loss into a functional model, use the layer CTCEndpoint. "
            f"Received: {value}"
        )


def as_integers(value, argument: str):
    """Converts class ids or lengths to int32 or int64 without ever changing a number.

    Args:
      value: tensor, RaggedTensor, SparseTensor or array-like of any integer dtype, or of a
        floating dtype with integral values (Keras' data adapters can make floats of integers).
      argument: the name used in errors.

    Returns:
      The same structure; int32 and int64 stay as they are, every other dtype becomes int64.

    Raises:
      TypeError: the dtype is neither integer nor floating.
      tf.errors.InvalidArgumentError: a float isn't integral, or is so large that its dtype may
        have rounded it (2**11 for float16, 2**8 for bfloat16, 2**24 for float32).
    """
    if not tf.is_tensor(value):
        value = tf.convert_to_tensor(value)
    dtype = value.dtype
    if dtype in (tf.int32, tf.int64):
        return value
    if dtype.is_integer:
        return tf.cast(value, tf.int64)
    if dtype not in _EXACT_INTEGER_BITS:
        raise TypeError(f"`{argument}` must hold integers. Received: dtype {dtype.name}")
    numbers = flat_values(value)
    limit = 2 ** _EXACT_INTEGER_BITS[dtype]
    exact = (numbers == tf.round(numbers)) & (tf.abs(numbers) < tf.cast(limit, dtype))
    checks = require(
        tf.reduce_all(exact),
        f"`{argument}` came as {dtype.name} and must hold integers of magnitude below {limit}, "
        "above which this dtype rounds ids to other ids; pass an integer dtype. Received values:",
        tf.boolean_mask(numbers, ~exact),
    )
    with tf.control_dependencies(checks):
        return tf.cast(value, tf.int64)


def flat_values(value) -> tf.Tensor:
    """The tensor of stored values of a dense, ragged or sparse tensor."""
    if is_ragged(value):
        return value.flat_values
    if is_sparse(value):
        return value.values
    return value


def row_vector(value, argument: str) -> tf.Tensor:
    """Reshapes [B] or [B,1] to [B]; any other shape raises."""
    shape = value.shape
    if shape.rank == 1:
        return value
    if shape.rank is None or (shape.rank == 2 and shape[1] in (1, None)):
        checks = require(
            tf.equal(tf.size(value), tf.shape(value)[0]),
            f"`{argument}` must have shape [B] or [B,1]. Received shape:",
            tf.shape(value),
        )
        with tf.control_dependencies(checks):
            return tf.reshape(value, [-1])
    raise ValueError(f"`{argument}` must have shape [B] or [B,1]. Received: shape {shape}")


def row_weights(sample_weight, rows, dtype=None) -> tf.Tensor:
    """Converts `sample_weight` to one weight for each of the rows that `rows` has an entry for.

    Args:
      sample_weight: [B] or [B,1]; for nested rows [D] or [D,1], a weight for all rows of an outer
        one, or a RaggedTensor of the structure of `rows`.
      rows: [B], or for nested rows a RaggedTensor [D,(B)] of any depth.
      dtype: of the result, by default that of `rows`.

    Returns:
      Weights [B] in the order of the flat values of `rows`.

    Raises:
      ValueError: the static shape isn't one of these, or doesn't fit to the static shape of `rows`.
      tf.errors.InvalidArgumentError: the number of weights differs from the number of rows.
    """
    dtype = dtype or rows.dtype
    nested = is_ragged(rows)
    if nested and is_ragged(sample_weight):
        weights = flat_values_alike(sample_weight, "sample_weight", rows, "the losses")
        return tf.cast(weights, dtype)
    weights = row_vector(
        tf.cast(tf.convert_to_tensor(sample_weight), dtype), argument="sample_weight"
    )
    count = rows.nrows() if nested else tf.size(rows)
    if not weights.shape.is_compatible_with(rows.shape[:1]):
        raise ValueError(
            f"`sample_weight` must hold one weight for each of the {rows.shape[0]} rows of the "
            f"batch. Received: shape {weights.shape}"
        )
    checks = require(
        tf.equal(tf.size(weights, out_type=count.dtype), count),
        "`sample_weight` must hold one weight for each row of the batch. Received weights, rows:",
        tf.size(weights),
        count,
    )
    with tf.control_dependencies(checks):
        if nested:
            return tf.gather(weights, slice_levels(rows, 0, 1).value_rowids())
        return tf.identity(weights)


def as_logits(y_pred, argument: str, owner: str):
    """Checks logits [B,T,V] (dense, or a RaggedTensor [...,(T),V]) and returns them uncast."""
    reject_symbolic(y_pred, argument, owner)
    if not tf.is_tensor(y_pred):
        y_pred = tf.convert_to_tensor(y_pred)
    if is_sparse(y_pred) or not y_pred.dtype.is_floating:
        raise TypeError(
            f"{owner}: `{argument}` must be dense or ragged floating-point logits [B,T,V]. "
            f"Received: {type(y_pred).__name__} of dtype {y_pred.dtype.name}"
        )
    ragged_rank = y_pred.ragged_rank if is_ragged(y_pred) else 1
    if y_pred.shape.rank not in (None, ragged_rank + 2):
        raise ValueError(
            f"{owner}: `{argument}` must be logits with shape [B,T,V]. "
            f"Received: shape {y_pred.shape}"
        )
    return y_pred


def check_blank_index(blank_index) -> int:
    """Returns `blank_index` as an int, or raises TypeError."""
    if isinstance(blank_index, bool) or not hasattr(blank_index, "__index__"):
        raise TypeError(f"`blank_index` must be an integer. Received: {blank_index!r}")
    return blank_index.__index__()
