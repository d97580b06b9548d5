"""CTCLoss: the CTC loss as a Keras loss class.

`keras.losses.Loss.__call__` casts `y_true` to the dtype of the loss, which turns class id 2049 into
2048 under float16, and weighs the losses [B] with the mask [B,T] of `y_pred`, which raises unless
B equals T and is wrong if it does. So `__call__` is replaced here: the mask becomes frame lengths,
the labels stay integers, and Keras only sees the finished losses [B], to which it applies the
sample weights and the reduction.
"""

from __future__ import annotations

import keras
import tensorflow as tf

from tf_warpctc.keras.checks import (
    PACKAGE,
    as_logits,
    check_blank_index,
    flat_values,
    row_weights,
)
from tf_warpctc.keras.masks import frame_lengths
from tf_warpctc.keras.targets import count_classes, resolve_targets
from tf_warpctc.loss import ctc_loss
from tf_warpctc.structure import is_ragged


class _RowReduction(keras.losses.Loss):
    """Keras' own weighting and reduction, applied to losses [B] that are computed already."""

    def call(self, y_true, y_pred):
        return y_pred


@keras.saving.register_keras_serializable(package=PACKAGE)
class CTCLoss(keras.losses.Loss):
    """Connectionist temporal classification loss of batch-major logits.

    `y_pred` is logits [B,T,V] (no softmax) of dtype float16, bfloat16, float32 or float64, or a
    RaggedTensor [B,(T),V] of frames. How many frames of a row are live is taken from
    `logit_length` of an explicit target, else from the Keras mask of `y_pred`, else all are. The
    mask must be true up to some frame and false after it. Ragged logits may be nested, as
    [D,(B),(T),V] for documents of lines: `y_true` is then ragged and nested alike, and each
    innermost row is one for the reduction.

    `y_true` is any of

    - class ids [B,U], padded on the right with -1 or with the blank: a row ends at its last entry
      which is neither;
    - a RaggedTensor [B,(U)] or a SparseTensor [B,U];
    - a dict with `labels` and, where they are known, `label_length` [B] and `logit_length` [B]; a
      tuple of the same in this order; or a `tf_warpctc.keras.CTCTargets`. Keras' `fit` and
      `evaluate` hand a dict or tuple to the loss only under `tf_warpctc.keras.CTCModel`, and a
      CTCTargets under any model.

    The losses are float32 (float64 for float64 logits) whatever the dtype of the logits or of the
    policy: float16 overflows at 65504. A row of `sample_weight` 0 contributes 0 even if its loss
    is infinite.

    Keras compiles the training step with XLA where it sees a GPU, unless `compile` is told
    `jit_compile=False`. Under XLA the loss needs XLA kernels of its op.

    Args:
      blank_index: index of the blank class, 0 by default; negative values count from V.
      zero_infinity: if True, a row whose labels don't fit in its frames gives loss 0 and zero
        gradient in place of an infinite loss.
      on_infeasible: None, "inf", "zero" or "raise": what such a row gives, as in
        `tf_warpctc.ctc_loss`.
      reduction: any that Keras knows: "sum_over_batch_size" (default), "sum", "mean",
        "mean_with_sample_weight", "none" or None.
      name: name of the loss.
      dtype: dtype of the result if it is wider than that of the losses: "float64" or None.

    Args of a call: `y_true`, `y_pred`, and `sample_weight`, None or weights [B] or [B,1]; for
      nested logits also [D], which count for all rows of a document, or ragged [D,(B)].

    Returns of a call: a scalar; for the reductions "none" and None [B], or for nested logits a
      RaggedTensor of their outer structure.

    Raises of a call:
      TypeError, ValueError: a dtype, shape or form of an argument is wrong.
      tf.errors.InvalidArgumentError: a value is wrong: a label outside the classes, a length
        outside its bound, or a mask that isn't right-padded.

    Example:

    >>> import keras
    >>> import tensorflow as tf
    >>> from tf_warpctc.keras import CTCLoss
    >>> loss = CTCLoss()
    >>> logits = tf.zeros([1, 2, 3])  # two frames, three equally likely classes
    >>> print(f"{loss([[1, -1]], logits):.4f}")  # 3 of the 9 paths read [1]
    1.0986
    >>> model = keras.Sequential([keras.Input([None, 8]), keras.layers.Dense(3)])
    >>> model.compile(optimizer="adam", loss=CTCLoss())
    """

    def __init__(
        self,
        blank_index: int = 0,
        zero_infinity: bool = False,
        on_infeasible: str | None = None,
        reduction: str | None = "sum_over_batch_size",
        name: str = "ctc_loss",
        dtype=None,
    ):
        super().__init__(name=name, reduction=reduction, dtype=dtype)
        if on_infeasible not in (None, "inf", "zero", "raise"):
            raise ValueError(
                "`on_infeasible` must be None, 'inf', 'zero' or 'raise'. "
                f"Received: {on_infeasible!r}"
            )
        self.blank_index = check_blank_index(blank_index)
        self.zero_infinity = bool(zero_infinity)
        self.on_infeasible = on_infeasible
        self._configured_dtype = None if dtype is None else self._dtype_policy.name

    def __call__(self, y_true, y_pred, sample_weight=None):
        with keras.name_scope(self.name):
            rows = self.call(y_true, y_pred)
            losses = flat_values(rows)
            if self.dtype == "float64":
                losses = tf.cast(losses, tf.float64)
            if sample_weight is not None:
                sample_weight = row_weights(sample_weight, rows, losses.dtype)
                losses = tf.where(sample_weight == 0, tf.zeros_like(losses), losses)
            reduce = _RowReduction(self.name, self.reduction, losses.dtype.name)
            reduced = reduce(losses, losses, sample_weight)
            nested = is_ragged(rows) and self.reduction in (None, "none")
            return rows.with_flat_values(reduced) if nested else reduced

    def call(self, y_true, y_pred):
        """Losses of each row, [B] or as nested as the logits, before weights and reduction."""
        owner = type(self).__name__
        logits = as_logits(y_pred, "y_pred", owner)
        targets = resolve_targets(y_true, self.blank_index, count_classes(logits), owner)
        return ctc_loss(
            targets.labels,
            logits,
            targets.label_length,
            frame_lengths(logits, targets.logit_length),
            logits_time_major=False,
            blank_index=self.blank_index,
            zero_infinity=self.zero_infinity,
            on_infeasible=self.on_infeasible,
        )

    def get_config(self):
        return {
            **super().get_config(),
            "blank_index": self.blank_index,
            "zero_infinity": self.zero_infinity,
            "on_infeasible": self.on_infeasible,
            "dtype": self._configured_dtype,
        }
