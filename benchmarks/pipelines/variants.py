"""The pipelines that are compared: the same lines, layers and loss, in four kinds of batches.

The ragged ones are those of examples/read_digits/ragged.py. The padded ones say how long each line
is in their targets, so that the loss leaves padding out, as the layers before it cannot.
"""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import keras
import tensorflow as tf

from tf_warpctc.keras import CTCTargets

sys.path.append(str(Path(__file__).resolve().parents[2] / "examples/read_digits"))

from lines import split_scans  # noqa: E402
from ragged import (  # noqa: E402
    HEIGHT,
    WINDOW,
    build_model,
    by_length,
    frame_reader,
    frames_and_labels,
    ragged_batches,
)

Batches = Callable[[tf.data.Dataset, int], tf.data.Dataset]


def as_padded(lines: tf.data.Dataset, batch_size: int) -> tf.data.Dataset:
    """Frames [B, T, F], and labels [B, U] with -1 behind them and the lines' lengths."""
    with_lengths = lines.map(lambda frames, labels: (frames, labels, tf.shape(frames)[0]))
    batches = with_lengths.padded_batch(batch_size, padding_values=(0.0, -1, 0))
    return batches.map(
        lambda frames, labels, lengths: (frames, CTCTargets(labels, logit_length=lengths))
    )


def as_padded_by_length(lines: tf.data.Dataset, batch_size: int) -> tf.data.Dataset:
    """The same, of lines of like length."""
    return by_length(lines, batch_size, lambda alike: as_padded(alike, batch_size))


def padded_model() -> keras.Model:
    """The layers of the ragged model, from frames [B, T, F] to logits [B, T, 11]."""
    frames = keras.Input([None, WINDOW * HEIGHT])
    logits = frames
    for layer in frame_reader().layers:
        logits = layer(logits)
    return keras.Model(frames, logits)


class Variant(NamedTuple):
    """One pipeline: from lines to batches, and the model that takes them."""

    batches: Batches
    model: Callable[[], keras.Model]


VARIANTS = {
    "padded": Variant(as_padded, padded_model),
    "padded, by length": Variant(as_padded_by_length, padded_model),
    "ragged": Variant(ragged_batches, build_model),
    "ragged, by length": Variant(partial(ragged_batches, alike=True), build_model),
}


def training_lines(count: int) -> tf.data.Dataset:
    """The same `count` lines each time, 1 to 60 digits long."""
    training, _, _ = split_scans(seed=1)
    return frames_and_labels(training, count, seed=2)
