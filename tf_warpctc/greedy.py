"""Greedy (best path) decoding."""

from typing import Any, NamedTuple

import tensorflow as tf

from tf_warpctc._library import ops
from tf_warpctc.inputs import Sequences, logits_sequences, real_dtype
from tf_warpctc.structure import (
    innermost_rows,
    is_nested,
    is_ragged,
    row_prefixes,
    with_innermost_rows,
)

__all__ = ["GreedyDecoding", "ctc_greedy_decode", "ctc_greedy_decoder"]


class GreedyDecoding(NamedTuple):
    """What `ctc_greedy_decode` returns: tensors that share one order of tokens.

    From padded logits, with a row's tokens first and padding behind them. From ragged logits,
    RaggedTensors of no padding: [B, (tokens)] in place of [B, T], under the outer rows of nested
    logits, which the fields with one entry a row have too.

    Attributes:
      tokens: Ids [B, T]; the padding value behind them.
      lengths: Number of tokens [B].
      score: Minus the sum of the largest logits of the live frames [B], as TensorFlow has it.
        float64 for float64 logits, else float32, as is log_probability.
      start_frames: First frame of each token [B, T]; -1 behind the tokens.
      end_frames: The frame after each token's last [B, T]; -1 behind the tokens.
      log_probability: Log-probability of each token's stretch of the best path [B, T]: the sum
        over its frames of the log softmax of its class; 0 behind the tokens.

    Example:

    >>> import tensorflow as tf
    >>> import tf_warpctc
    >>> decoded = tf_warpctc.ctc_greedy_decode(tf.one_hot([[2, 2, 0, 1]], 3))
    >>> decoded.lengths.numpy().tolist(), decoded.to_sparse().values.numpy().tolist()
    ([2], [2, 1])
    >>> decoded.end_frames.numpy().tolist()
    [[2, 4, -1, -1]]
    """

    tokens: tf.Tensor | tf.RaggedTensor
    lengths: tf.Tensor | tf.RaggedTensor
    score: tf.Tensor | tf.RaggedTensor
    start_frames: tf.Tensor | tf.RaggedTensor
    end_frames: tf.Tensor | tf.RaggedTensor
    log_probability: tf.Tensor | tf.RaggedTensor

    def to_ragged(self) -> tf.RaggedTensor:
        """The tokens as a RaggedTensor [B, (tokens)]."""
        if is_ragged(self.tokens):
            return self.tokens
        return tf.RaggedTensor.from_tensor(self.tokens, lengths=self.lengths)

    def to_sparse(self) -> tf.SparseTensor:
        """The tokens as an int64 SparseTensor, as wide as the longest row."""
        sparse = self.to_ragged().to_sparse()
        return tf.SparseTensor(sparse.indices, tf.cast(sparse.values, tf.int64), sparse.dense_shape)


def _decode(
    frames: Sequences,
    blank_index: int,
    merge_repeated: bool,
    padding_value: int,
    dtype: tf.DType,
) -> GreedyDecoding:
    """The op: per-token fields are [B, T], or [frames] when packed."""
    return GreedyDecoding(
        *ops.warp_ctc_ctc_greedy_decode(
            logits=frames.values,
            logit_length=frames.rows,
            Tids=dtype,
            Treal=real_dtype(frames.values.dtype),
            logits_layout=frames.layout,
            blank_index=blank_index,
            merge_repeated=merge_repeated,
            padding_value=padding_value,
        )
    )


def ctc_greedy_decode(
    logits: Any,
    logit_length: Any = None,
    blank_index: int = 0,
    *,
    logits_time_major: bool = False,
    merge_repeated: bool = True,
    padding_value: int = -1,
    dtype: tf.DType = tf.int64,
    name: str | None = None,
) -> GreedyDecoding:
    """Reads the most probable class of each frame, merges repeats and drops blanks.

    B: batch, T: time, V: classes with the blank. Ties go to the lowest class. A NaN never wins over
    a number, and makes its row's score NaN.

    Args:
      logits: float16, bfloat16, float32 or float64 [B, T, V]; [T, B, V] with
        `logits_time_major=True`; or a `tf.RaggedTensor` [B, (T), V], or one with more outer
        dimensions, which pass through as they are.
      logit_length: int32 or int64 [B], at most T. None: all are T, or as ragged logits say.
      blank_index: The class of the blank; negative counts from V.
      logits_time_major: Whether padded logits are [T, B, V].
      merge_repeated: Whether a run of one class is one token; else each of its frames is.
      padding_value: What stands behind a row's tokens; ragged tokens have no padding.
      dtype: tf.int32 or tf.int64, for tokens, lengths and frames.
      name: A name for the operation.

    Returns:
      A `GreedyDecoding`, ragged for ragged logits. In a graph, fields that are not used are not
      computed.

    Raises:
      ValueError: For shapes or arguments that do not fit, known before any value is.
      TypeError: For a dtype not named above.
      tf.errors.InvalidArgumentError: For a length outside its bounds; the message names row, value
        and bound.

    Example:

    >>> import tensorflow as tf
    >>> import tf_warpctc
    >>> path = [[2, 2, 0, 2, 1, 1]]  # the class of each frame
    >>> decoded = tf_warpctc.ctc_greedy_decode(tf.one_hot(path, 3))
    >>> decoded.tokens.numpy().tolist()
    [[2, 2, 1, -1, -1, -1]]
    >>> decoded.start_frames.numpy().tolist()
    [[0, 3, 4, -1, -1, -1]]
    >>> decoded.to_ragged().to_list()
    [[2, 2, 1]]
    >>> lines = tf.RaggedTensor.from_row_splits(tf.one_hot(path[0], 3), [0, 2, 2, 6])
    >>> tf_warpctc.ctc_greedy_decode(lines).tokens.to_list()
    [[2], [], [2, 1]]
    """
    dtype = tf.as_dtype(dtype)
    if dtype not in (tf.int32, tf.int64):
        raise TypeError(f"dtype must be tf.int32 or tf.int64, received {dtype.name}")
    if is_nested(logits):
        decoded = ctc_greedy_decode(
            innermost_rows(logits),
            logit_length,
            blank_index,
            merge_repeated=merge_repeated,
            dtype=dtype,
            name=name,
        )
        return GreedyDecoding(*(with_innermost_rows(logits, field) for field in decoded))
    with tf.name_scope(name or "ctc_greedy_decode"):
        frames = logits_sequences(logits, logit_length, logits_time_major)
        decoded = _decode(frames, blank_index, merge_repeated, padding_value, dtype)
        if not frames.is_packed:
            return decoded
        return _ragged(decoded, frames.rows)


def _ragged(decoded: GreedyDecoding, row_splits: tf.Tensor) -> GreedyDecoding:
    """Makes the per-token fields of a packed decoding, a token a frame, ragged: [B, (tokens)]."""
    tokens, starts, ends, log_probability = row_prefixes(
        tf.RaggedTensor.from_row_splits(decoded.tokens, row_splits, validate=False),
        decoded.lengths,
        decoded.start_frames,
        decoded.end_frames,
        decoded.log_probability,
    )
    return decoded._replace(
        tokens=tokens, start_frames=starts, end_frames=ends, log_probability=log_probability
    )


def ctc_greedy_decoder(
    inputs: Any,
    sequence_length: Any,
    merge_repeated: bool = True,
    blank_index: int | None = None,
) -> tuple[list[tf.SparseTensor], tf.Tensor]:
    """Greedy decoding, as a drop-in for `tf.nn.ctc_greedy_decoder`.

    Args:
      inputs: Logits [T, B, V], float16, bfloat16, float32 or float64.
      sequence_length: int32 or int64 [B], at most T.
      merge_repeated: Whether a run of one class is one token; else each of its frames is.
      blank_index: The class of the blank; negative counts from V. Default: the last, V - 1.

    Returns:
      A pair: a list of one int64 `tf.SparseTensor` [B, longest row] with the tokens; and minus the
      sum of the largest logits of the live frames, [B, 1].

    Raises:
      As `ctc_greedy_decode`.

    Example:

    >>> import tensorflow as tf
    >>> import tf_warpctc
    >>> logits = tf.one_hot([[0], [0], [2], [1]], 3)  # four frames of one row, blank 2
    >>> (decoded,), score = tf_warpctc.ctc_greedy_decoder(logits, [4])
    >>> decoded.values.numpy().tolist()
    [0, 1]
    >>> score.numpy().tolist()
    [[-4.0]]
    """
    with tf.name_scope("ctc_greedy_decoder"):
        frames = logits_sequences(inputs, sequence_length, time_major=True)
        decoded = _decode(
            frames, -1 if blank_index is None else blank_index, merge_repeated, -1, tf.int64
        )
        return [decoded.to_sparse()], decoded.score[:, tf.newaxis]
