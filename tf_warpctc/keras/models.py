"""CTCModel: a keras.Model whose targets may be a dict or tuple of labels and explicit lengths.

Keras compares the structure of `y` with that of the output, and refuses a dict or tuple of three
arrays as the target of one output before any loss is called. CTCModel steps in at the two methods
which Keras offers for overriding, `compute_loss` and `compute_metrics`, and makes them one object.
"""

from __future__ import annotations

from collections.abc import Mapping

import keras

from tf_warpctc.keras.losses import PACKAGE
from tf_warpctc.keras.targets import pack_targets


class CTCTargetsMixin:
    """Gives a model class of one's own the targets of `CTCModel`; stands before `keras.Model`.

    Example:

    >>> import keras
    >>> import numpy as np
    >>> from tf_warpctc.keras import CTCLoss, CTCTargetsMixin
    >>> class Reader(CTCTargetsMixin, keras.Model):
    ...     def __init__(self, num_classes):
    ...         super().__init__()
    ...         self.head = keras.layers.Dense(num_classes)
    ...
    ...     def call(self, frames):
    ...         return self.head(frames)
    >>> model = Reader(3)
    >>> model.compile(optimizer="sgd", loss=CTCLoss())
    >>> y = {"labels": np.array([[1, 2], [2, 0]]), "label_length": np.array([2, 1])}
    >>> history = model.fit(np.ones([2, 5, 4], "float32"), y, verbose=0)
    """

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        y, sample_weight = _single_target(y, y_pred, sample_weight)
        return super().compute_loss(
            x=x, y=y, y_pred=y_pred, sample_weight=sample_weight, training=training
        )

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        y, sample_weight = _single_target(y, y_pred, sample_weight)
        return super().compute_metrics(x, y, y_pred, sample_weight=sample_weight)


@keras.saving.register_keras_serializable(package=PACKAGE)
class CTCModel(CTCTargetsMixin, keras.Model):
    """A functional model which takes `y` as a dict or tuple of labels, label_length, logit_length.

    `CTCModel(inputs, outputs)` is `keras.Model(inputs, outputs)` in every other way. Its `fit`,
    `evaluate` and `validation_data` take `y` as a dict `{"labels": ..., "label_length": ...,
    "logit_length": ...}` (either length may be left out) or as a tuple in this order, from NumPy
    arrays, tensors, `tf.data`, generators and `PyDataset` alike, and hand it to the loss and to the
    metrics as one `CTCTargets`. Any other `y` goes on unchanged.

    The model must have a single output. With several, put a `CTCTargets` in the place of the
    output's target, which Keras carries as it is. To subclass, derive from `CTCTargetsMixin` and
    `keras.Model`: Keras turns the base of CTCModel itself into that of a functional model.

    Example:

    >>> import keras
    >>> import numpy as np
    >>> from tf_warpctc.keras import CTCLoss, CTCModel, LabelErrorRate
    >>> inputs = keras.Input([None, 4])
    >>> model = CTCModel(inputs, keras.layers.Dense(3)(inputs))
    >>> model.compile(optimizer="sgd", loss=CTCLoss(), metrics=[LabelErrorRate()])
    >>> y = {"labels": np.array([[1, 2], [2, 0]]), "label_length": np.array([2, 1])}
    >>> history = model.fit(np.ones([2, 5, 4], "float32"), y, verbose=0)
    >>> sorted(history.history)
    ['label_error_rate', 'loss']
    """

    def __init_subclass__(cls, **kwargs):
        raise TypeError(
            "CTCModel can't be subclassed; derive from tf_warpctc.keras.CTCTargetsMixin and "
            f"keras.Model, in this order. Received: class {cls.__name__}"
        )


def _single_target(y, y_pred, sample_weight):
    """Packs a dict or tuple `y`; Keras may have copied the sample weights once per entry of it."""
    explicit = isinstance(y, tuple) or (isinstance(y, Mapping) and "labels" in y)
    if not explicit or keras.tree.is_nested(y_pred):
        return y, sample_weight
    if keras.tree.is_nested(sample_weight):
        sample_weight = keras.tree.flatten(sample_weight)[0]
    return pack_targets(y), sample_weight
