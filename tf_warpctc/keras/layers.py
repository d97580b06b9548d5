"""Layers: CTCGreedyDecoder turns logits into tokens, CTCEndpoint adds the loss inside a model."""

from __future__ import annotations

import keras
import tensorflow as tf

from tf_warpctc.greedy import ctc_greedy_decode
from tf_warpctc.keras.checks import (
    PACKAGE,
    as_logits,
    check_blank_index,
    flat_values,
    row_weights,
)
from tf_warpctc.keras.losses import CTCLoss
from tf_warpctc.keras.masks import frame_lengths
from tf_warpctc.keras.metrics import LabelErrorRate
from tf_warpctc.keras.targets import CTCTargets
from tf_warpctc.structure import is_ragged

OUTPUTS = (None, "padded", "ragged", "sparse", "details")


@keras.saving.register_keras_serializable(package=PACKAGE)
class CTCGreedyDecoder(keras.layers.Layer):
    """Reads tokens off logits: the best class of each frame, repeats merged, blanks dropped.

    Works eagerly, in functional models, in `predict`, and in `model.export`, so that a served model
    can go from features to tokens. The logits are decoded in the dtype in which they come: a mixed
    precision policy doesn't cast them.

    Args:
      blank_index: index of the blank class, 0 by default; negative values count from V.
      merge_repeated: whether equal classes in neighbouring frames are one token, True by default.
      padding_value: what pads rows of tokens, -1 by default; ragged tokens have no padding.
      output: what a call returns, None by default:

        - None: "ragged" for ragged logits, else "padded";
        - "padded": int64 tokens [B,T], padded on the right with `padding_value`;
        - "ragged": a RaggedTensor of int64 tokens [B,(T)], with the outer rows of nested logits;
        - "sparse": a SparseTensor of int64 tokens [B,T];
        - "details": a dict of tensors: `tokens` as for "padded", `lengths` [B], `score` [B]
          (the negated sum of the largest logit of each live frame), and for each token
          `start_frames`, `end_frames` (half-open spans, padded with -1) and `log_probability`
          (padded with 0), all [B,T]; from ragged logits these are RaggedTensors.

        A SavedModel signature can return "padded" and "details" only, since it returns plain
        tensors; the others can be exported as the `call` of a tf.Module.
      **kwargs: of `keras.layers.Layer`, such as `name`.

    Args of a call:
      logits: [B,T,V], or a RaggedTensor [B,(T),V] or one with more outer dimensions.
      lengths: integers [B], the live frames of each row; None by default, for which the mask
        decides. Must be None for ragged logits.
      mask: bool [B,T], true up to a row's last live frame; None by default, for which the Keras
        mask of `logits` is used. Without either, all frames are live.

    The tokens carry no Keras mask: they are fewer than the frames, and their padding shows.

    Raises of a call:
      TypeError, ValueError: a dtype, shape or form of an argument is wrong.
      tf.errors.InvalidArgumentError: a length is out of bounds or the mask isn't right-padded.

    Example:

    >>> import tensorflow as tf
    >>> from tf_warpctc.keras import CTCGreedyDecoder
    >>> frames = tf.one_hot([[1, 1, 0, 1, 2, 0]], depth=3)
    >>> CTCGreedyDecoder()(frames).numpy()
    array([[ 1,  1,  2, -1, -1, -1]])
    >>> CTCGreedyDecoder(output="ragged")(frames, lengths=tf.constant([4])).to_list()
    [[1, 1]]
    """

    def __init__(
        self,
        blank_index: int = 0,
        merge_repeated: bool = True,
        padding_value: int = -1,
        output: str | None = None,
        **kwargs,
    ):
        super().__init__(autocast=False, **kwargs)
        if output not in OUTPUTS:
            raise ValueError(f"`output` must be one of {OUTPUTS}. Received: {output!r}")
        self.blank_index = check_blank_index(blank_index)
        self.merge_repeated = bool(merge_repeated)
        self.padding_value = int(padding_value)
        self.output_form = output
        self.supports_masking = True
        self.supports_jit = False
        self.built = True

    def call(self, logits, lengths=None, mask=None):
        owner = type(self).__name__
        logits = as_logits(logits, "logits", owner)
        decoding = ctc_greedy_decode(
            logits,
            frame_lengths(logits, lengths, mask, argument="lengths"),
            blank_index=self.blank_index,
            logits_time_major=False,
            merge_repeated=self.merge_repeated,
            padding_value=self.padding_value,
        )
        ragged = is_ragged(logits)
        form = self._form(ragged)
        if form == "padded":
            return decoding.tokens.to_tensor(self.padding_value) if ragged else decoding.tokens
        if form == "ragged":
            return decoding.to_ragged()
        if form == "sparse":
            tokens = decoding.to_sparse()
            if ragged:
                return tokens
            # T in place of the longest row makes batches alike, so that `predict` can join them.
            shape = tf.shape(logits, out_type=tf.int64)[:2]
            return tf.SparseTensor(tokens.indices, tokens.values, shape)
        return decoding._asdict()

    def compute_mask(self, inputs, previous_mask=None):
        return None

    def _form(self, ragged: bool) -> str:
        """What a call returns, for ragged logits or for padded ones."""
        return self.output_form or ("ragged" if ragged else "padded")

    def compute_output_shape(self, logits_shape, lengths_shape=None):
        if len(logits_shape) < 3:
            raise ValueError(
                f"CTCGreedyDecoder: `logits` must have shape [B,T,V]. Received: {logits_shape}"
            )
        *rows, time, _ = logits_shape
        per_row, per_token = tuple(rows), (*rows, time)
        if self.output_form == "ragged":
            return (*rows, None)
        if self.output_form != "details":
            return per_token
        return {
            "tokens": per_token,
            "lengths": per_row,
            "score": per_row,
            "start_frames": per_token,
            "end_frames": per_token,
            "log_probability": per_token,
        }

    def compute_output_spec(self, logits, lengths=None, mask=None):
        shape = self.compute_output_shape(logits.shape)
        form = self._form(logits.ragged)
        if form == "padded":
            return keras.KerasTensor(shape, dtype="int64")
        if form == "ragged":
            return keras.KerasTensor(shape, dtype="int64", ragged=True)
        if form == "sparse":
            return keras.KerasTensor(shape, dtype="int64", sparse=True)
        real = "float64" if logits.dtype == "float64" else "float32"
        dtypes = {"score": real, "log_probability": real}
        return {
            key: keras.KerasTensor(
                shape[key],
                dtype=dtypes.get(key, "int64"),
                ragged=logits.ragged and len(shape[key]) > 1,
            )
            for key in shape
        }

    def get_config(self):
        return {
            **super().get_config(),
            "blank_index": self.blank_index,
            "merge_repeated": self.merge_repeated,
            "padding_value": self.padding_value,
            "output": self.output_form,
        }


@keras.saving.register_keras_serializable(package=PACKAGE)
class CTCEndpoint(keras.layers.Layer):
    """Adds the mean CTC loss of the batch to the model and returns the logits unchanged.

    For functional models in which labels and lengths are inputs like any other: the model is
    compiled without a loss and fitted without `y`. Where the labels are left out, as at inference,
    the layer does nothing: give their `keras.Input` the argument `optional=True` and pass None,
    or make a second model which ends in the logits.

    Args:
      blank_index, zero_infinity, on_infeasible: as for `CTCLoss`.
      label_error_rate: whether the layer also keeps a `LabelErrorRate`, which `fit` and
        `evaluate` then report as `label_error_rate`; False by default. It costs a greedy
        decoding a step.
      **kwargs: of `keras.layers.Layer`, such as `name`.

    Args of a call:
      logits: [B,T,V], or a RaggedTensor [B,(T),V].
      labels: [B,U] padded with -1 or the blank, ragged, or sparse; None for no loss.
      label_length: integers [B] or [B,1], or None to find the lengths from the padding.
      logit_length: integers [B] or [B,1], or None to use the Keras mask of `logits`, or all
        frames if there is none.
      sample_weight: weights [B] or [B,1] of the rows, or None. The weighted losses are summed and
        divided by B; the error rate weighs its rows as `LabelErrorRate` does.

    Returns of a call:
      `logits`, with their mask.

    Raises of a call: as `CTCLoss` does.

    Example:

    >>> import keras
    >>> from tf_warpctc.keras import CTCEndpoint
    >>> features = keras.Input([None, 8])
    >>> labels = keras.Input([None], dtype="int32")
    >>> label_length, logit_length = (keras.Input([], dtype="int32") for _ in range(2))
    >>> logits = keras.layers.Dense(5)(features)
    >>> logits = CTCEndpoint()(logits, labels, label_length, logit_length)
    >>> model = keras.Model([features, labels, label_length, logit_length], logits)
    >>> model.compile(optimizer="adam")
    """

    def __init__(
        self,
        blank_index: int = 0,
        zero_infinity: bool = False,
        on_infeasible: str | None = None,
        label_error_rate: bool = False,
        **kwargs,
    ):
        super().__init__(autocast=False, **kwargs)
        self.loss = CTCLoss(blank_index, zero_infinity, on_infeasible, reduction=None)
        self.label_error_rate = LabelErrorRate(blank_index) if label_error_rate else None
        self.supports_masking = True
        self.supports_jit = False
        self.built = True

    def call(self, logits, labels=None, label_length=None, logit_length=None, sample_weight=None):
        if labels is None:
            return logits
        targets = CTCTargets(labels, label_length, logit_length)
        rows = self.loss(targets, logits)
        losses = flat_values(rows)
        if sample_weight is not None:
            weights = row_weights(sample_weight, rows)
            losses = tf.where(weights == 0, tf.zeros_like(losses), losses * weights)
        # The trainer divides by the number of replicas, so this is the mean within the replica.
        self.add_loss(
            tf.math.divide_no_nan(tf.reduce_sum(losses), tf.cast(tf.size(losses), losses.dtype))
        )
        if self.label_error_rate is not None:
            self.label_error_rate.update_state(targets, logits, sample_weight)
        return logits

    def compute_output_shape(self, logits_shape, *input_shapes):
        return logits_shape

    def compute_output_spec(
        self, logits, labels=None, label_length=None, logit_length=None, sample_weight=None
    ):
        return keras.KerasTensor(logits.shape, dtype=logits.dtype, ragged=logits.ragged)

    def get_config(self):
        return {
            **super().get_config(),
            "blank_index": self.loss.blank_index,
            "zero_infinity": self.loss.zero_infinity,
            "on_infeasible": self.loss.on_infeasible,
            "label_error_rate": self.label_error_rate is not None,
        }
