"""LabelErrorRate: edit distance over label length, summed over a data set.

Speech and handwriting people call it CER or WER, after what a class stands for. The rate of a data
set is the sum of all edit distances over the sum of all label lengths: not the mean of the rows'
rates, in which short labels would count more, nor the mean of the batches' rates.
"""

from __future__ import annotations

import keras
import tensorflow as tf

from tf_warpctc.checks import require
from tf_warpctc.greedy import ctc_greedy_decode
from tf_warpctc.inputs import is_sparse
from tf_warpctc.keras.checks import (
    PACKAGE,
    as_integers,
    as_logits,
    check_blank_index,
    reject_symbolic,
    row_weights,
)
from tf_warpctc.keras.masks import frame_lengths
from tf_warpctc.keras.targets import (
    CTCTargets,
    count_classes,
    pack_targets,
    padded_lengths,
    resolve_blank,
    resolve_targets,
    sparse_rows,
)
from tf_warpctc.structure import (
    innermost_rows,
    innermost_rows_alike,
    is_nested,
    is_ragged,
    with_innermost_rows,
)


@keras.saving.register_keras_serializable(package=PACKAGE)
class LabelErrorRate(keras.metrics.Metric):
    """Sum of Levenshtein distances divided by the sum of label lengths, streamed over batches.

    `y_true` comes in every form that `CTCLoss` takes. `y_pred` is either

    - floating-point logits [B,T,V] or a RaggedTensor [B,(T),V], decoded greedily, over as many
      frames as `logit_length` of the target or the Keras mask of `y_pred` says, else all; or
    - tokens, already decoded: integers [B,T] padded on the right with -1 (or the blank), a
      RaggedTensor [B,(T)] or a SparseTensor [B,T].

    Both may be ragged and nested alike, as [D,(B),(U)] and [D,(B),(T),V] for documents of lines:
    each innermost row counts as a row.

    `sample_weight` [B] or [B,1] (for nested rows also [D], or ragged [D,(B)]) multiplies both a
    row's edit distance and its label length. The rate can exceed 1, since a row may hold more wrong
    tokens than its label has. If all labels seen are empty (or of weight 0), the rate is 0. The
    sums are kept in float64, so that counts stay exact.

    Args:
      blank_index: index of the blank class, 0 by default; negative values count from V, and need
        logits.
      name: name of the metric.
      dtype: dtype of the result, `keras.config.floatx()` by default.

    Example:

    >>> import tensorflow as tf
    >>> from tf_warpctc.keras import LabelErrorRate
    >>> metric = LabelErrorRate()
    >>> metric.update_state([[1, 2, 3, -1]], tf.constant([[1, 3, -1, -1]]))  # one of three missing
    >>> metric.update_state([[1, -1, -1, -1]], tf.constant([[1, -1, -1, -1]]))
    >>> float(metric.result())
    0.25
    """

    def __init__(self, blank_index: int = 0, name: str = "label_error_rate", dtype=None):
        super().__init__(name=name, dtype=dtype)
        self.blank_index = check_blank_index(blank_index)
        self.edits = self.add_variable((), "zeros", dtype="float64", name="edits")
        self.labels = self.add_variable((), "zeros", dtype="float64", name="labels")

    def update_state(self, y_true, y_pred, sample_weight=None):
        """Adds a batch.

        Args:
          y_true: labels of the batch, in any form that `CTCLoss` takes.
          y_pred: logits or tokens of the batch.
          sample_weight: weights [B] or [B,1], or None.

        Raises:
          TypeError, ValueError: a dtype, shape or form of an argument is wrong.
          tf.errors.InvalidArgumentError: a value is wrong, as for `CTCLoss`.
        """
        owner = type(self).__name__
        reject_symbolic(y_pred, "y_pred", owner)
        if not tf.is_tensor(y_pred):
            y_pred = tf.convert_to_tensor(y_pred)
        if is_nested(y_pred):
            y_true, y_pred, sample_weight = _innermost(y_true, y_pred, sample_weight)
        if y_pred.dtype.is_integer:
            num_classes = None
            blank = resolve_blank(self.blank_index, num_classes)
            tokens = _token_rows(y_pred, blank)
            targets = resolve_targets(y_true, self.blank_index, num_classes, owner)
        else:
            logits = as_logits(y_pred, "y_pred", owner)
            num_classes = count_classes(logits)
            blank = resolve_blank(self.blank_index, num_classes)
            targets = resolve_targets(y_true, self.blank_index, num_classes, owner)
            frames = frame_lengths(logits, targets.logit_length)
            decoding = ctc_greedy_decode(
                logits, frames, blank_index=self.blank_index, logits_time_major=False
            )
            tokens = decoding.to_sparse()
        labels, lengths = sparse_rows(targets.labels, targets.label_length, blank, "y_true")
        checks = require(
            tf.equal(tokens.dense_shape[0], labels.dense_shape[0]),
            "`y_true` and `y_pred` must have the same number of rows. Received rows of each:",
            labels.dense_shape[0],
            tokens.dense_shape[0],
        )
        with tf.control_dependencies(checks):
            edits = tf.cast(tf.edit_distance(tokens, labels, normalize=False), tf.float64)
        lengths = tf.cast(lengths, tf.float64)
        if sample_weight is not None:
            weights = row_weights(sample_weight, lengths)
            edits, lengths = edits * weights, lengths * weights
        self.edits.assign_add(tf.reduce_sum(edits))
        self.labels.assign_add(tf.reduce_sum(lengths))

    def result(self):
        """Scalar: edit distances over label lengths since the last reset, 0 if no label came."""
        rate = tf.math.divide_no_nan(
            keras.ops.convert_to_tensor(self.edits), keras.ops.convert_to_tensor(self.labels)
        )
        return tf.cast(rate, self.dtype)

    def get_config(self):
        return {**super().get_config(), "blank_index": self.blank_index}


def _innermost(y_true, y_pred, sample_weight):
    """Labels, logits or tokens, and weights of the innermost rows of nested ones."""
    targets = pack_targets(y_true)
    labels = innermost_rows_alike(targets.labels, "y_true", y_pred, "y_pred")
    rows = innermost_rows(y_pred)
    if sample_weight is not None:
        each = with_innermost_rows(y_pred, tf.zeros([rows.nrows()], tf.float64))
        sample_weight = row_weights(sample_weight, each)
    return CTCTargets(labels, targets.label_length, targets.logit_length), rows, sample_weight


def _token_rows(tokens, blank) -> tf.SparseTensor:
    """Decoded tokens, padded, ragged or sparse, as a SparseTensor int64 [B,T]."""
    tokens = as_integers(tokens, "y_pred")
    if tokens.shape.rank not in (None, 2):
        raise ValueError(
            "`y_pred` as tokens must have shape [B,T], padded with -1, or be ragged or sparse. "
            f"Received: shape {tokens.shape}"
        )
    lengths = None
    if not (is_ragged(tokens) or is_sparse(tokens)):
        lengths = padded_lengths(tokens, blank)
    return sparse_rows(tokens, lengths, blank, "y_pred")[0]
