"""The CTC loss, with its gradient."""

from typing import Any

import tensorflow as tf

from tf_warpctc._library import ops
from tf_warpctc.inputs import (
    id_sequences,
    is_sparse,
    logits_sequences,
    one_rows_dtype,
    real_dtype,
)
from tf_warpctc.structure import (
    innermost_rows,
    innermost_rows_alike,
    is_nested,
    with_innermost_rows,
)

__all__ = ["ctc_loss"]

_ON_INFEASIBLE = ("inf", "zero", "raise")


def ctc_loss(
    labels: Any,
    logits: Any,
    label_length: Any,
    logit_length: Any,
    logits_time_major: bool = True,
    unique: Any = None,
    blank_index: int | None = 0,
    zero_infinity: bool = False,
    name: str | None = None,
    *,
    on_infeasible: str | None = None,
) -> tf.Tensor | tf.RaggedTensor:
    """Computes the CTC loss of each row: a drop-in for `tf.nn.ctc_loss`.

    The loss is -log of the probability that the frames spell the label, summed over all alignments
    (Graves et al., Connectionist Temporal Classification, ICML 2006). It is differentiable once
    with respect to `logits`. B: batch, T: time, V: classes with the blank, U: label width.

    Args:
      labels: Ids in [0, V) other than the blank: int32 or int64 [B, U], padded with anything; or a
        `tf.RaggedTensor` [B, (U)]; or a `tf.SparseTensor` [B, U].
      logits: Unnormalised log-probabilities, float16, bfloat16, float32 or float64: [T, B, V];
        [B, T, V] with `logits_time_major=False`; or a `tf.RaggedTensor` [B, (T), V], which is
        computed without padding. -inf marks a class that cannot occur. Ragged logits may be nested
        to any depth, as [D, (B), (T), V] for documents of lines of frames; then labels must be
        ragged and nested alike, [D, (B), (U)].
      label_length: int32 or int64 [B], at most U. None: all are U, or as ragged or sparse labels
        say.
      logit_length: int32 or int64 [B], at most T. None: all are T, or as ragged logits say. Frames
        past it are not read, whatever they hold, and have zero gradient.
      logits_time_major: Whether padded logits are [T, B, V].
      unique: Accepted as `tf.nn.ctc_loss` has it, and not needed.
      blank_index: The class of the blank; negative counts from V.
      zero_infinity: Whether rows of infinite loss count as loss 0. Their gradient is zero in any
        case. The same as `on_infeasible="zero"`.
      name: A name for the operation.
      on_infeasible: What a row gives whose label no alignment fits into its frames (fewer frames
        than labels and blanks between equal labels): "inf" (default), "zero", or "raise".

    Returns:
      Losses [B], not negative: float64 for float64 logits, else float32. A NaN in a live frame
      makes its row's loss NaN, and no other. For nested logits, a `tf.RaggedTensor` [D, (B)] with
      their outer structure.

    Raises:
      ValueError: For shapes or arguments that do not fit, known before any value is.
      TypeError: For a dtype not named above.
      tf.errors.InvalidArgumentError: For a label outside [0, V) or equal to the blank within its
        length, or a length outside its bounds; the message names row, value and bound. For labels
        and logits nested in different ways; the message names level, rows and both numbers.
      NotImplementedError: When a second derivative is asked for.

    Example:

    >>> import tensorflow as tf
    >>> import tf_warpctc
    >>> logits = tf.zeros([2, 1, 3])  # two frames, one row, three classes
    >>> loss = tf_warpctc.ctc_loss([[1]], logits, [1], [2])
    >>> print(f"{loss[0]:.6f}")  # -log(3 alignments / 3^2)
    1.098612

    Two documents, of two lines and of one:

    >>> frames = tf.RaggedTensor.from_row_splits(tf.zeros([6, 3]), [0, 2, 4, 6])
    >>> logits = tf.RaggedTensor.from_row_splits(frames, [0, 2, 3])
    >>> labels = tf.ragged.constant([[[1], [2]], [[1, 2]]], tf.int32)
    >>> loss = tf_warpctc.ctc_loss(labels, logits, None, None)
    >>> [[round(x, 4) for x in document] for document in loss.to_list()]
    [[1.0986, 1.0986], [2.1972]]
    """
    del unique  # a hint for TensorFlow's algorithm, not for this one
    if on_infeasible is None:
        on_infeasible = "zero" if zero_infinity else "inf"
    elif on_infeasible not in _ON_INFEASIBLE:
        raise ValueError(
            f"on_infeasible must be one of {_ON_INFEASIBLE}, received {on_infeasible!r}"
        )
    elif zero_infinity and on_infeasible != "zero":
        raise ValueError(
            f"zero_infinity=True asks for on_infeasible='zero', received {on_infeasible!r}"
        )
    if blank_index is None:
        if is_sparse(labels):  # as tf.nn.ctc_loss: its sparse form has another default
            raise ValueError("blank_index must be given when labels is a SparseTensor")
        blank_index = 0
    if is_nested(logits):
        losses = ctc_loss(
            innermost_rows_alike(labels, "labels", logits, "logits"),
            innermost_rows(logits),
            label_length,
            logit_length,
            blank_index=blank_index,
            name=name,
            on_infeasible=on_infeasible,
        )
        return with_innermost_rows(logits, losses)
    with tf.name_scope(name or "ctc_loss"):
        frames = logits_sequences(logits, logit_length, logits_time_major)
        ids = id_sequences(labels, label_length)
        ids, frames = one_rows_dtype(ids, frames)
        return ops.warp_ctc_ctc_loss(
            logits=frames.values,
            labels=ids.values,
            label_length=ids.rows,
            logit_length=frames.rows,
            Treal=real_dtype(frames.values.dtype),
            logits_layout=frames.layout,
            labels_layout=ids.layout,
            blank_index=blank_index,
            on_infeasible=on_infeasible,
        ).loss


@tf.RegisterGradient("WarpCtc>CtcLoss")
def _ctc_loss_gradient(op: Any, upstream: tf.Tensor, *_: Any) -> list[tf.Tensor | None]:
    """d objective / d logits; labels and lengths have no gradient."""
    gradient = ops.warp_ctc_ctc_loss_grad(
        upstream,
        *op.inputs,
        *op.outputs[1:],
        logits_layout=op.get_attr("logits_layout"),
        labels_layout=op.get_attr("labels_layout"),
        blank_index=op.get_attr("blank_index"),
    )
    return [gradient, None, None, None]


@tf.RegisterGradient("WarpCtc>CtcLossGrad")
def _ctc_loss_second_derivative(op: Any, *_: Any) -> None:
    """Refuses: treating the first derivative as a constant would give wrong numbers silently."""
    raise NotImplementedError(
        "tf_warpctc.ctc_loss has no second derivative: its gradient cannot be differentiated again"
    )
