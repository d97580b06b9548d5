"""Small batches for the tests of the Keras classes, their answers in NumPy, and a tiny task."""

import keras
import ml_dtypes
import numpy as np
import oracles
import tensorflow as tf

NUMPY_DTYPES = {
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "float32": np.float32,
    "float64": np.float64,
}


class Batch:
    """Random logits [B,T,V] and labels [B,U] with their lengths, and the losses by the oracle.

    Frames and labels past their lengths hold other legal numbers, so that a wrong length shows.
    """

    def __init__(self, rows=4, frames=9, classes=5, width=3, blank=0, dtype="float32", seed=0):
        rng = np.random.default_rng(seed)
        self.blank = blank
        self.dtype = dtype
        logits = rng.normal(size=(rows, frames, classes), scale=2)
        self.logits = logits.astype(NUMPY_DTYPES[dtype])
        tokens = np.array([c for c in range(classes) if c != blank % classes])
        self.labels = rng.choice(tokens, (rows, width))
        self.label_length = np.resize(np.arange(width, -1, -1), rows)
        # Every row has the frames that its labels need, even if they are all equal.
        self.logit_length = rng.integers(2 * width, frames, rows)
        self.logit_length[0] = frames

    @property
    def mask(self):
        return np.arange(self.logits.shape[1]) < self.logit_length[:, None]

    def padded(self, value):
        live = np.arange(self.labels.shape[1]) < self.label_length[:, None]
        return np.where(live, self.labels, value)

    def ragged(self):
        return tf.RaggedTensor.from_tensor(self.labels, lengths=self.label_length)

    def losses(self, all_frames=False):
        """Losses float64 [B] of the logits as rounded to their dtype."""
        return np.array([row[0] for row in self._answers(all_frames)])

    def gradients(self):
        """Gradients float64 [B,T,V] of the sum of losses; zero past the live frames."""
        out = np.zeros(self.logits.shape)
        for b, (_, gradient) in enumerate(self._answers(False)):
            out[b, : len(gradient)] = gradient
        return out

    def _answers(self, all_frames):
        for b, logits in enumerate(self.logits.astype(np.float64)):
            frames = len(logits) if all_frames else self.logit_length[b]
            yield oracles.loss_and_gradient(
                logits[:frames], self.labels[b, : self.label_length[b]], self.blank
            )


def with_mask(logits, mask):
    """A tensor of `logits` which carries `mask` as Keras' own layers attach it."""
    tensor = tf.constant(logits)
    tensor._keras_mask = None if mask is None else tf.constant(mask)
    return tensor


def levenshtein(a, b):
    """Edit distance of two sequences, by the full table."""
    table = np.zeros((len(a) + 1, len(b) + 1), int)
    table[:, 0] = np.arange(len(a) + 1)
    table[0, :] = np.arange(len(b) + 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            table[i + 1, j + 1] = min(
                table[i, j] + (x != y), table[i, j + 1] + 1, table[i + 1, j] + 1
            )
    return int(table[-1, -1])


class Task:
    """A task that a linear model learns at once: frames that show their class, with noise.

    Rows differ in length. Frames past the end of a row are zero, for `keras.layers.Masking`.
    """

    classes = 4

    def __init__(self, rows=16, width=3, seed=1):
        rng = np.random.default_rng(seed)
        self.label_length = rng.integers(1, width + 1, rows)
        self.logit_length = 4 * self.label_length
        self.labels = np.full((rows, width), -1)
        self.frames = np.zeros((rows, 4 * width, self.classes), np.float32)
        for b, length in enumerate(self.label_length):
            row = rng.integers(1, self.classes, length)
            self.labels[b, :length] = row
            classes = np.stack([row, row, np.zeros_like(row), np.zeros_like(row)], 1).ravel()
            self.frames[b, : 4 * length] = np.eye(self.classes)[classes]
            self.frames[b, : 4 * length] += rng.normal(0, 0.1, (4 * length, self.classes))

    @property
    def explicit(self):
        """The labels as a dict with lengths."""
        return {
            "labels": np.maximum(self.labels, 0),
            "label_length": self.label_length,
            "logit_length": self.logit_length,
        }

    def first_results(self, kernel):
        """Mean loss and label error rate of frames @ kernel, by the oracles."""
        losses, edits = [], 0
        for b, frames in enumerate(self.frames.astype(np.float64)):
            logits = frames[: self.logit_length[b]] @ kernel.astype(np.float64)
            label = self.labels[b, : self.label_length[b]].tolist()
            losses.append(oracles.loss_and_gradient(logits, label)[0])
            edits += levenshtein(oracles.greedy_row(logits).tokens, label)
        return [np.mean(losses), edits / self.label_length.sum()]

    def model(self, cls=keras.Model, head=None, **options):
        """Masking and a linear layer with fixed first weights; `head` makes more of the logits."""
        frames = keras.Input([None, self.classes])
        start = keras.initializers.RandomNormal(seed=3)
        logits = keras.layers.Dense(self.classes, kernel_initializer=start, name="logits")(
            keras.layers.Masking()(frames)
        )
        return cls(frames, logits if head is None else head(logits), **options)
