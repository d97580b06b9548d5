"""Trains the recogniser with `model.fit`, and scores it on held-out lines.

The loss is compiled in like any other. CTCLoss takes labels padded with -1, and the length of each
line from the mask on the logits; LabelErrorRate decodes the same logits and counts the edits
between what it reads and the labels.
"""

import dataclasses

import keras
import tensorflow as tf
from lines import HEIGHT, LABEL_PADDING, PADDING, Lines, Scans, stream_lines
from model import BLANK

from tf_warpctc.keras import CTCLoss, LabelErrorRate


@dataclasses.dataclass(frozen=True)
class Plan:
    """How long to train. The defaults are 756 steps, about a minute on two cores."""

    epochs: int = 12
    lines_per_epoch: int = 2000
    batch_size: int = 32
    learning_rate: float = 3e-3  # at the start; it falls along a cosine to a fiftieth

    @property
    def steps(self) -> int:
        return self.epochs * -(-self.lines_per_epoch // self.batch_size)


def training_batches(scans: Scans, plan: Plan, seed: int) -> tf.data.Dataset:
    """Batches of new lines every epoch, each padded only to its own longest line and label."""
    epoch = iter(range(plan.epochs))

    def lines():
        return stream_lines(scans, plan.lines_per_epoch, seed + next(epoch))

    spec = (tf.TensorSpec([None, HEIGHT], tf.float32), tf.TensorSpec([None], tf.int32))
    return (
        tf.data.Dataset.from_generator(lines, output_signature=spec)
        .apply(tf.data.experimental.assert_cardinality(plan.lines_per_epoch))
        .padded_batch(plan.batch_size, padding_values=(PADDING, LABEL_PADDING))
        .prefetch(2)
    )


def train(
    model: keras.Model, scans: Scans, validation: Lines, plan: Plan, seed: int
) -> dict[str, list[float]]:
    """Compiles and fits the model; returns Keras' history, one number an epoch for each curve."""
    rate = keras.optimizers.schedules.CosineDecay(plan.learning_rate, plan.steps, alpha=0.02)
    model.compile(
        optimizer=keras.optimizers.Adam(rate, clipnorm=1.0),
        loss=CTCLoss(blank_index=BLANK),
        metrics=[LabelErrorRate(blank_index=BLANK)],
        jit_compile=False,  # Keras turns XLA on where it finds a GPU; the CTC ops are not XLA ops
    )
    fitted = model.fit(
        training_batches(scans, plan, seed),
        validation_data=tuple(validation),
        epochs=plan.epochs,
        shuffle=False,  # the lines are drawn at random as it is
    )
    return fitted.history
