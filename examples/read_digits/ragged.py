"""The same handwriting with no padding anywhere, from the data set to the text.

    python examples/read_digits/ragged.py [--quick] [--by-length]

Lines here hold 1 to 60 digits, so that padded batches would be half padding. `ragged_batch` makes
a RaggedTensor of the lines of a batch, and the model, the loss, the metric and the decoder all take
it as it is. A frame is a window over the picture of a line, so that layers which see one frame at a
time can read.

Lines of any length can share a batch, as no layer here computes padding. Where layers do, those
inside of `tf_warpctc.keras.Padded`, `--by-length` spares them most of it: it puts lines of like
length into one batch. docs/performance_pipelines.md has both, beside padded batches.
"""

import argparse
import os
import sys
from pathlib import Path

# These come before the imports which they are for.
# ruff: noqa: E402
sys.path.append(str(Path(__file__).resolve().parents[2]))  # where tf_warpctc is, unless installed
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import tensorflow as tf
from lines import HEIGHT, Scans, split_scans, stream_lines
from model import BLANK, FRAME_WIDTH

from tf_warpctc.keras import CTCGreedyDecoder, CTCLoss, LabelErrorRate, PerFrame

DIGITS = (1, 60)  # of a line, both included
WINDOW = 20  # columns that a frame sees
BUCKET = 32  # frames: lines of the same multiple of them share batches

# What more than this share of misread digits says is that a part does not work.
MOST_MISREAD = 0.06


def windows(columns: tf.Tensor) -> tf.Tensor:
    """Columns [W, HEIGHT] to frames [ceil(W / 2), WINDOW * HEIGHT]; beyond the line is paper."""
    columns = tf.pad(columns, [[WINDOW // 2, 0], [0, 0]])
    count = (tf.shape(columns)[0] - WINDOW // 2 + FRAME_WIDTH - 1) // FRAME_WIDTH
    frames = tf.signal.frame(columns, WINDOW, FRAME_WIDTH, pad_end=True, axis=0)[:count]
    return tf.reshape(frames, [-1, WINDOW * HEIGHT])


def frames_and_labels(scans: Scans, count: int, seed: int) -> tf.data.Dataset:
    """Lines one by one: frames float32 [T, WINDOW * HEIGHT], and labels int32 [U]."""
    spec = (tf.TensorSpec([None, HEIGHT], tf.float32), tf.TensorSpec([None], tf.int32))
    lines = tf.data.Dataset.from_generator(
        lambda: stream_lines(scans, count, seed, DIGITS), output_signature=spec
    )
    # The pictures are kept, and their windows, WINDOW / FRAME_WIDTH times as large, made anew.
    return lines.cache().map(lambda columns, label: (windows(columns), label), tf.data.AUTOTUNE)


def by_length(lines: tf.data.Dataset, batch_size: int, make_batch) -> tf.data.Dataset:
    """Batches of lines of like length; `make_batch` makes one of a data set of its lines."""
    return lines.group_by_window(
        key_func=lambda frames, label: tf.cast(tf.shape(frames)[0] // BUCKET, tf.int64),
        reduce_func=lambda key, alike: make_batch(alike),
        window_size=batch_size,
    )


def ragged_batches(lines: tf.data.Dataset, batch_size: int, alike: bool = False) -> tf.data.Dataset:
    """Batches of a RaggedTensor of frames [B, (T), F] and one of labels [B, (U)]."""

    def make_batch(lines):
        return lines.ragged_batch(batch_size)

    return by_length(lines, batch_size, make_batch) if alike else make_batch(lines)


def build_model() -> keras.Model:
    """From frames [B, (T), F] to logits [B, (T), 11], all of them ragged."""
    frames = keras.Input([None, WINDOW * HEIGHT], ragged=True, name="frames")
    return keras.Model(frames, PerFrame(frame_reader())(frames), name="read_digits_ragged")


def frame_reader() -> keras.Model:
    """From a frame [WINDOW * HEIGHT] to its logits [11]."""
    return keras.Sequential(
        [
            keras.layers.Dense(256, activation="relu"),
            keras.layers.Dropout(0.2),
            keras.layers.Dense(256, activation="relu"),
            keras.layers.Dense(BLANK + 1),
        ]
    )


def main():
    """Trains, reads held-out lines, and says how many digits were misread."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few steps, to see that it works")
    parser.add_argument("--by-length", action="store_true", help="batches of lines of like length")
    options = parser.parse_args()
    quick = options.quick
    keras.utils.set_random_seed(1)
    training, _, test = split_scans(seed=1)
    lines = frames_and_labels(training, 64 if quick else 4000, seed=2)
    model = build_model()
    model.compile(
        optimizer=keras.optimizers.Adam(1e-3),
        loss=CTCLoss(blank_index=BLANK),
        metrics=[LabelErrorRate(blank_index=BLANK)],
        jit_compile=False,  # the CTC ops are not XLA ops
    )
    batches = ragged_batches(lines, 16, alike=options.by_length).prefetch(2)
    model.fit(batches, epochs=1 if quick else 8, verbose=2, shuffle=False)

    held_out = ragged_batches(frames_and_labels(test, 32 if quick else 200, seed=3), 16).cache()
    _, error_rate = model.evaluate(held_out, verbose=0)
    reader = keras.Model(model.input, CTCGreedyDecoder(blank_index=BLANK)(model.output))
    read = reader.predict(held_out.map(lambda frames, labels: frames), verbose=0)
    labels = tf.concat([labels for _, labels in held_out], axis=0)
    order = np.argsort(labels.row_lengths())
    for row in order[[0, len(order) // 4, len(order) // 2]]:
        print("is  ", *labels[row].numpy())
        print("read", *read[row].numpy())
    print(f"{100 * error_rate:.2f} % of {labels.flat_values.shape[0]} held-out digits misread")
    if not quick and error_rate > MOST_MISREAD:
        sys.exit(f"more than {100 * MOST_MISREAD:.0f} % of the digits are misread")


if __name__ == "__main__":
    main()
