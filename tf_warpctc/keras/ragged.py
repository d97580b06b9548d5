"""Layers over ragged sequences: PerFrame needs no padding, Padded makes it for the layer inside.

Both take a RaggedTensor [B,(T),...], or one of more outer dimensions, and hand its row splits on as
they are: only what the frames hold changes.
"""

from __future__ import annotations

import keras
import tensorflow as tf

from tf_warpctc.checks import require
from tf_warpctc.keras.checks import PACKAGE
from tf_warpctc.structure import innermost_rows, is_ragged, with_innermost_rows


class _RaggedWrapper(keras.layers.Wrapper):
    """A layer inside, and the rank of a frame, which tells the frames from the structure."""

    # Dimensions in front of a frame in what the layer inside is given.
    _leading: tuple[None, ...]

    def __init__(self, layer, frame_rank: int = 1, **kwargs):
        # The layer inside casts what it is given; the dtype of the structure is none of its own.
        super().__init__(layer, autocast=False, **kwargs)
        self.frame_rank = int(frame_rank)
        self.supports_masking = True
        self.supports_jit = False

    def _frame_shape(self, shape) -> tuple:
        """The shape of a frame, from that of a ragged input."""
        shape = tuple(shape)
        outer = len(shape) - self.frame_rank
        if self.frame_rank < 0 or outer < 2:
            raise ValueError(
                f"{type(self).__name__}: the input must have shape [B,(T),...] with "
                f"frame_rank={self.frame_rank} dimensions behind the frames. Received: shape "
                f"{shape}"
            )
        return shape[outer:]

    def _require_ragged(self, inputs) -> None:
        name = type(self).__name__
        if not is_ragged(inputs):
            raise TypeError(
                f"{name}: the input must be a RaggedTensor [B,(T),...]. For padded sequences call "
                "the layer inside as it is, or keras.layers.TimeDistributed. Received: "
                f"{type(inputs).__name__} of shape {inputs.shape}"
            )
        if inputs.flat_values.shape.rank not in (None, 1 + self.frame_rank):
            raise ValueError(
                f"{name}: with frame_rank={self.frame_rank} a frame must have as many dimensions. "
                f"Received: frames of shape {inputs.flat_values.shape[1:]}, input {inputs.shape}"
            )

    def build(self, input_shape):
        super().build((*self._leading, *self._frame_shape(input_shape)))

    def compute_mask(self, inputs, previous_mask=None):
        return None

    def compute_output_shape(self, input_shape):
        frame = self._frame_shape(input_shape)
        inner = self.layer.compute_output_shape((*self._leading, *frame))
        outer = tuple(input_shape)[: len(input_shape) - len(frame)]
        return (*outer, *inner[len(self._leading) :])

    def compute_output_spec(self, inputs):
        if not inputs.ragged:
            raise TypeError(
                f"{type(self).__name__}: the input must be ragged: keras.Input(..., ragged=True). "
                f"Received: {inputs}"
            )
        frame = self._frame_shape(inputs.shape)
        inner = self.layer.compute_output_spec(
            keras.KerasTensor((*self._leading, *frame), dtype=inputs.dtype)
        )
        outer = inputs.shape[: len(inputs.shape) - len(frame)]
        shape = (*outer, *inner.shape[len(self._leading) :])
        return keras.KerasTensor(shape, dtype=inner.dtype, ragged=True)

    def get_config(self):
        return {**super().get_config(), "frame_rank": self.frame_rank}


@keras.saving.register_keras_serializable(package=PACKAGE)
class PerFrame(_RaggedWrapper):
    """Applies a layer to each frame of a ragged tensor, and hands its structure through.

    The layer is given all frames of all rows as one batch [frames,...], without padding, so that
    `BatchNormalization` inside takes its statistics from live frames alone.

    Args:
      layer: a layer of frames, such as Dense, Embedding (with `frame_rank=0`), Dropout, or, for
        frames that are images, Conv2D (with `frame_rank=3`); or a whole model.
      frame_rank: number of dimensions of a frame, 1 by default.
      **kwargs: of `keras.layers.Layer`, such as `name`.

    Args of a call:
      inputs: a RaggedTensor [B,(T),...], or with more outer dimensions.

    Returns of a call: a RaggedTensor with the row splits of `inputs`.

    Raises of a call:
      TypeError, ValueError: the input isn't ragged, or its frames haven't the rank.
      tf.errors.InvalidArgumentError: the layer gave another number of frames.

    Example:

    >>> import keras
    >>> import tensorflow as tf
    >>> from tf_warpctc.keras import PerFrame
    >>> frames = tf.RaggedTensor.from_row_splits(tf.ones([5, 4]), [0, 3, 3, 5])
    >>> logits = PerFrame(keras.layers.Dense(6))(frames)
    >>> logits.shape, logits.row_lengths().numpy().tolist()
    (TensorShape([3, None, 6]), [3, 0, 2])
    """

    _leading = (None,)

    def call(self, inputs):
        self._require_ragged(inputs)
        frames = inputs.flat_values
        outputs = self.layer(frames)
        checks = require(
            tf.equal(tf.shape(outputs)[0], tf.shape(frames)[0]),
            "PerFrame: the layer must give as many frames as it is given. Received, given:",
            tf.shape(outputs)[0],
            tf.shape(frames)[0],
        )
        with tf.control_dependencies(checks):
            return inputs.with_flat_values(tf.identity(outputs))


@keras.saving.register_keras_serializable(package=PACKAGE)
class Padded(_RaggedWrapper):
    """Applies a layer to ragged rows which needs them padded, and makes its output ragged again.

    For layers that look at neighbouring frames: recurrent ones, convolutions over time, attention.
    The layer is given [rows,T,...], T the longest row, and the Keras mask [rows,T] of the live
    frames. What it gives for padding is dropped. A layer that ignores masks sees zeros there, as a
    convolution with padding="same" sees them at the end of any row.

    Args:
      layer: a layer or model from [B,T,...] to [B,T,...].
      frame_rank: number of dimensions of a frame, 1 by default.
      **kwargs: of `keras.layers.Layer`, such as `name`.

    Args of a call:
      inputs: a RaggedTensor [B,(T),...], or with more outer dimensions: each innermost row is one
        of the batch that the layer is given.

    Returns of a call: a RaggedTensor with the row splits of `inputs`.

    Raises of a call:
      TypeError, ValueError: the input isn't ragged, or its frames haven't the rank.
      tf.errors.InvalidArgumentError: the layer gave another number of rows or frames.

    Example:

    >>> import keras
    >>> import tensorflow as tf
    >>> from tf_warpctc.keras import Padded
    >>> frames = tf.RaggedTensor.from_row_splits(tf.ones([5, 4]), [0, 3, 3, 5])
    >>> states = Padded(keras.layers.GRU(6, return_sequences=True))(frames)
    >>> states.shape, states.row_lengths().numpy().tolist()
    (TensorShape([3, None, 6]), [3, 0, 2])
    """

    _leading = (None, None)

    def call(self, inputs):
        self._require_ragged(inputs)
        rows = innermost_rows(inputs)
        lengths = rows.row_lengths()
        # One frame at least: not every layer can take none.
        width = tf.maximum(tf.reduce_max(lengths), 1)
        mask = tf.sequence_mask(lengths, width)
        padded = rows.to_tensor(shape=tf.concat([[-1, width], tf.fill([self.frame_rank], -1)], 0))
        padded = tf.ensure_shape(padded, [None, None, *rows.values.shape[1:]])
        padded._keras_mask = mask
        outputs = self.layer(padded)
        checks = require(
            tf.reduce_all(tf.equal(tf.shape(outputs)[:2], tf.shape(padded)[:2])),
            "Padded: the layer must give as many rows and frames as it is given. Received, given:",
            tf.shape(outputs),
            tf.shape(padded),
        )
        with tf.control_dependencies(checks):
            live = tf.boolean_mask(outputs, mask)
        return with_innermost_rows(inputs, rows.with_values(live))
