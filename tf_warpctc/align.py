"""Merging repeats and dropping blanks in rows of ids."""

from typing import Any

import tensorflow as tf

from tf_warpctc._library import ops
from tf_warpctc.inputs import id_sequences
from tf_warpctc.structure import innermost_rows, is_nested, row_prefixes, with_innermost_rows

__all__ = ["ctc_align"]


def ctc_align(
    tokens: Any,
    length: Any = None,
    blank_index: int = 0,
    merge_repeated: bool = True,
    padding_value: int = 0,
    name: str | None = None,
) -> tuple[tf.Tensor, tf.Tensor] | tf.RaggedTensor:
    """Merges repeats and drops blanks in rows of ids: what greedy decoding does after its argmax.

    B: batch, T: ids a row.

    Args:
      tokens: int32 or int64 [B, T]; or a `tf.RaggedTensor` [B, (T)], or one with more outer
        dimensions, which pass through as they are. One id a frame.
      length: int32 or int64 [B], at most T. None: all are T, or as ragged tokens say.
      blank_index: The id of the blank, compared as it is: there is no number of classes to count
        back from.
      merge_repeated: Whether a run of one id is one token; else each of its members is.
      padding_value: What stands behind what is left of a row.
      name: A name for the operation.

    Returns:
      For padded tokens a pair: aligned ids [B, T], and their number [B], both of the tokens' dtype.
      For ragged tokens, a RaggedTensor [B, (tokens left)], with the outer dimensions of the tokens.

    Raises:
      ValueError: For shapes or arguments that do not fit, known before any value is.
      TypeError: For tokens that are not integers.
      tf.errors.InvalidArgumentError: For a length outside its bounds; the message names row, value
        and bound.

    Example:

    >>> import tf_warpctc
    >>> aligned, lengths = tf_warpctc.ctc_align([[3, 3, 0, 3, 7], [0, 0, 5, 5, 0]])
    >>> aligned.numpy().tolist()
    [[3, 3, 7, 0, 0], [5, 0, 0, 0, 0]]
    >>> lengths.numpy().tolist()
    [3, 1]
    """
    if is_nested(tokens):
        rows = innermost_rows(tokens)
        aligned = ctc_align(rows, length, blank_index, merge_repeated, padding_value, name)
        return with_innermost_rows(tokens, aligned)
    with tf.name_scope(name or "ctc_align"):
        ids = id_sequences(tokens, length, "tokens", "length")
        aligned, lengths = ops.warp_ctc_ctc_align(
            tokens=ids.values,
            length=ids.rows,
            tokens_layout=ids.layout,
            blank_index=blank_index,
            merge_repeated=merge_repeated,
            padding_value=padding_value,
        )
        if not ids.is_packed:
            return aligned, lengths
        aligned = tf.RaggedTensor.from_row_splits(aligned, ids.rows, validate=False)
        return row_prefixes(aligned, lengths)[0]
