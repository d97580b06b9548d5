"""The forms in which `y_true` may come, brought to one: `CTCTargets` of integer labels and lengths.

| y_true                                     | label lengths             | frame lengths         |
| ------------------------------------------ | ------------------------- | --------------------- |
| integers [B,U] padded with -1 or blank     | up to the last real entry | Keras mask, else all  |
| tf.RaggedTensor [B,(U)], or nested         | its rows                  | Keras mask, else all  |
| tf.SparseTensor [B,U]                      | values in each row        | Keras mask, else all  |
| dict of labels, label_length, logit_length | as given, or as above     | as given, or as above |
| tuple of the same, in this order           | as given, or as above     | as given, or as above |
| CTCTargets of the same                     | as given, or as above     | as given, or as above |

In `fit`, Keras itself refuses a dict or tuple as the target of a single output before it calls the
loss. CTCTargets is one object to Keras and passes; CTCModel makes that object from a dict or tuple.
"""

from __future__ import annotations

import typing
from collections.abc import Mapping

import tensorflow as tf

from tf_warpctc.checks import require
from tf_warpctc.inputs import is_sparse, ragged_from_sparse
from tf_warpctc.keras.checks import as_integers, reject_symbolic, row_vector
from tf_warpctc.structure import is_ragged

FIELDS = ("labels", "label_length", "logit_length")

_FORMS = (
    "integer labels [B,U] padded with -1 or the blank, a RaggedTensor, a SparseTensor, "
    "a CTCTargets, a dict with the keys labels, label_length, logit_length, or a tuple of these"
)


class CTCTargets(tf.experimental.BatchableExtensionType):
    """Labels with explicit lengths, as one object that `tf.data` and `model.fit` carry whole.

    A batch for `CTCLoss` and `LabelErrorRate`, or a single example in a `tf.data.Dataset` (without
    the axis B), which `batch` then stacks. Ragged and sparse labels state their own lengths.

    Keras takes CTCTargets from a `tf.data.Dataset`. Arrays passed straight to `fit(x, y)`, Python
    generators, `PyDataset`, and datasets under a `tf.distribute` strategy only carry plain arrays
    and tensors; use `CTCModel` with a dict there.

    Args:
      labels: class ids: integers [B,U], a RaggedTensor [B,(U)] or a SparseTensor [B,U].
      label_length: integers [B], or None to find a row's length from its padding.
      logit_length: integers [B], the live frames of the logits, or None to use the Keras mask of
        the logits, or all frames if there is none.

    Example:

    >>> import tensorflow as tf
    >>> from tf_warpctc.keras import CTCTargets
    >>> dataset = tf.data.Dataset.from_tensor_slices(
    ...     (
    ...         tf.zeros([4, 10, 8]),
    ...         CTCTargets(tf.ones([4, 3], tf.int32), label_length=[3, 2, 1, 3]),
    ...     )
    ... ).batch(2)
    >>> features, targets = next(iter(dataset))
    >>> targets.labels.shape, targets.label_length.numpy()
    (TensorShape([2, 3]), array([3, 2], dtype=int32))
    """

    # TensorFlow reads these annotations and knows typing.Union, but not the operator |.
    labels: typing.Union[tf.Tensor, tf.RaggedTensor, tf.SparseTensor]  # noqa: UP007
    label_length: typing.Optional[tf.Tensor] = None  # noqa: UP045
    logit_length: typing.Optional[tf.Tensor] = None  # noqa: UP045

    def __init__(self, labels, label_length=None, logit_length=None):
        def tensor(value):
            return value if value is None or tf.is_tensor(value) else tf.convert_to_tensor(value)

        self.labels = tensor(labels)
        self.label_length = tensor(label_length)
        self.logit_length = tensor(logit_length)


def pack_targets(y_true) -> CTCTargets:
    """Wraps any form of `y_true` in CTCTargets, without looking at the values.

    Raises:
      ValueError: a dict without labels or with unknown keys, a tuple of a wrong length, or None.
    """
    if isinstance(y_true, CTCTargets):
        return y_true
    if isinstance(y_true, Mapping):
        unknown = sorted(str(key) for key in y_true if key not in FIELDS)
        if "labels" not in y_true or unknown:
            raise ValueError(
                f"`y_true` as a dict must have the key 'labels' and may have {FIELDS[1:]}. "
                f"Received keys: {sorted(map(str, y_true))}"
            )
        return CTCTargets(**y_true)
    if isinstance(y_true, tuple):
        if not 1 <= len(y_true) <= len(FIELDS):
            raise ValueError(
                f"`y_true` as a tuple must hold {FIELDS}, of which the last two may be left out. "
                f"Received: {len(y_true)} entries"
            )
        return CTCTargets(*y_true)
    if y_true is None:
        raise ValueError(f"`y_true` must be {_FORMS}. Received: None")
    return CTCTargets(y_true)


def resolve_targets(y_true, blank_index: int, num_classes, owner: str) -> CTCTargets:
    """Brings any form of `y_true` to integer labels and, for dense labels, integer lengths.

    Args:
      y_true: any form that this module's table lists.
      blank_index: the blank; negative values count from the number of classes.
      num_classes: V as an int or a scalar int32 tensor; None if it isn't known, in which case
        `blank_index` may not be negative.
      owner: the class that errors name.

    Returns:
      CTCTargets. `label_length` [B] is None exactly for ragged and sparse labels.
    """
    for value in tf.nest.flatten(y_true):
        reject_symbolic(value, "y_true", owner)
    targets = pack_targets(y_true)
    labels = as_integers(targets.labels, "labels")
    label_length = targets.label_length
    # Ragged labels may be nested as the logits are, which ctc_loss checks.
    if labels.shape.rank not in (None, 2) and not is_ragged(labels):
        raise ValueError(
            f"{owner}: `labels` must have shape [B,U]; `y_true` may be {_FORMS}. "
            f"Received: labels of shape {labels.shape}"
        )
    if is_ragged(labels) or is_sparse(labels):
        if label_length is not None:
            raise ValueError(
                f"{owner}: `label_length` must be None for ragged and sparse labels, which state "
                f"their own lengths. Received: {label_length}"
            )
    elif label_length is None:
        label_length = padded_lengths(labels, resolve_blank(blank_index, num_classes))
    else:
        label_length = row_vector(as_integers(label_length, "label_length"), "label_length")
    return CTCTargets(labels, label_length, targets.logit_length)


def resolve_blank(blank_index: int, num_classes):
    """The index of the blank, counted from 0."""
    if blank_index >= 0:
        return blank_index
    if num_classes is None:
        raise ValueError(
            "`blank_index` must be counted from 0 where `y_pred` holds decoded tokens, which "
            f"don't show the number of classes. Received: blank_index={blank_index}"
        )
    return num_classes + blank_index


def count_classes(logits):
    """V of the logits, as an int where the static shape knows it."""
    if logits.shape.rank is not None and logits.shape[-1] is not None:
        return logits.shape[-1]
    values = logits.flat_values if is_ragged(logits) else logits
    return tf.shape(values)[-1]


def padded_lengths(labels: tf.Tensor, blank) -> tf.Tensor:
    """Length int32 [B] of each row: 1 + the index of its last entry that is no padding."""
    live = (labels != -1) & (labels != tf.cast(blank, labels.dtype))
    ends = tf.where(live, tf.range(1, tf.shape(labels)[1] + 1), 0)
    # The largest of no entries (U = 0) is the lowest int32.
    return tf.maximum(tf.reduce_max(ends, axis=1), 0)


def sparse_rows(labels, label_length, blank, argument: str):
    """Rows of class ids as a SparseTensor int64 [B,U], with their lengths int64 [B].

    Args:
      labels: integers [B,U], a RaggedTensor [B,(U)] or a SparseTensor [B,U].
      label_length: integers [B] for dense labels, None for others.
      blank: the index of the blank from 0, which may not occur inside a row.
      argument: the name used in errors.

    Raises:
      tf.errors.InvalidArgumentError: a length outside 0..U, or a row with a negative id or the
        blank before its end; or a SparseTensor with an index outside its shape, or whose rows have
        gaps.
    """
    labels = tf.cast(labels, tf.int64)
    if is_sparse(labels):
        labels = ragged_from_sparse(labels, argument)
    elif not is_ragged(labels):
        width = tf.shape(labels)[1]
        lengths = tf.cast(label_length, tf.int32)
        checks = require(
            tf.reduce_all((lengths >= 0) & (lengths <= width)),
            f"`{argument}`: each length must lie in 0..U. Received U, lengths:",
            width,
            lengths,
        )
        with tf.control_dependencies(checks):
            labels = tf.RaggedTensor.from_tensor(labels, lengths=lengths)
    rows = labels.to_sparse()
    legal = (rows.values >= 0) & (rows.values != tf.cast(blank, tf.int64))
    checks = require(
        tf.reduce_all(legal),
        f"`{argument}` must hold neither negative ids nor the blank before the end of a row. "
        "Received blank, ids:",
        blank,
        tf.boolean_mask(rows.values, ~legal),
    )
    with tf.control_dependencies(checks):
        return rows, tf.identity(labels.row_lengths())
