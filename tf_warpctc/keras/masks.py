"""Frame lengths of a batch of logits: explicit ones, those of the Keras mask, or all frames.

Keras attaches the mask [B,T] of a tensor to it as the attribute `_keras_mask`; a length can stand
for it only if every row is true up to some frame and false from there on. Any other mask (holes,
padding on the left) has no meaning for CTC here and raises, as does one whose T isn't that of the
logits, which happens when a layer changes the number of frames and hands the mask on unchanged.
"""

from __future__ import annotations

import tensorflow as tf

from tf_warpctc.checks import require
from tf_warpctc.keras.checks import as_integers, row_vector
from tf_warpctc.structure import is_ragged


def keras_mask(tensor):
    """The mask that Keras has attached to `tensor`, or None."""
    return getattr(tensor, "_keras_mask", None)


def frame_lengths(logits, logit_length=None, mask=None, argument: str = "logit_length"):
    """Number of live frames of each row.

    Args:
      logits: [B,T,V] dense, or a RaggedTensor [B,(T),V].
      logit_length: integers [B] or [B,1], or None.
      mask: bool [B,T], or None to use the mask that Keras has attached to `logits`, if any.
      argument: the name that errors give `logit_length`.

    Returns:
      Integers [B]: `logit_length` where it is given, else the lengths that the mask states.
      None if there is neither: every frame is live.

    Raises:
      ValueError: `logit_length` given for ragged logits, or a static shape that cannot fit.
      tf.errors.InvalidArgumentError: the mask isn't true up to some frame and false after it.
    """
    if is_ragged(logits):
        if logit_length is not None:
            raise ValueError(
                f"`{argument}` must be None for ragged logits, whose rows state their own lengths. "
                f"Received: {logit_length}"
            )
        return None
    if logit_length is not None:
        return row_vector(as_integers(logit_length, argument), argument)
    if mask is None:
        mask = keras_mask(logits)
    if mask is None:
        return None
    return prefix_lengths(tf.cast(mask, tf.bool), logits)


def prefix_lengths(mask: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
    """Lengths int32 [B] of a mask [B,T] of right-padded rows; any other mask raises."""
    expected = logits.shape[:2]
    if not mask.shape.is_compatible_with(expected):
        raise ValueError(
            f"The mask of the logits must have their shape [B,T] = {expected}. A layer which "
            "changes the number of frames must change the mask too, or pass explicit lengths. "
            f"Received: mask of shape {mask.shape}"
        )
    checks = require(
        tf.reduce_all(tf.equal(tf.shape(mask), tf.shape(logits)[:2])),
        "The mask of the logits must have their shape [B,T]. A layer which changes the number of "
        "frames must change the mask too, or pass explicit lengths. Received shapes of both:",
        tf.shape(mask),
        tf.shape(logits),
    )
    with tf.control_dependencies(checks):
        lengths = tf.reduce_sum(tf.cast(mask, tf.int32), axis=1)
    prefix = tf.sequence_mask(lengths, maxlen=tf.shape(mask)[1])
    wrong = tf.where(tf.reduce_any(prefix != mask, axis=1))[:, 0]
    checks = require(
        tf.equal(tf.size(wrong), 0),
        "The mask of the logits must be true from the first frame to the last live one and false "
        "after it (right padding); with holes or left padding, pass explicit lengths. Rows with "
        "another mask:",
        wrong,
    )
    with tf.control_dependencies(checks):
        return tf.identity(lengths)
