"""Runs the library's loss in any dtype, layout, label form and mode; compares with the oracle.

The tests describe a batch as rows of their own lengths (`Batch`); `evaluate` pads it with garbage,
packs it or makes it sparse, calls `tf_warpctc.ctc_loss` eagerly or in a tf.function, and hands back
per-row losses and gradients.
"""

from dataclasses import dataclass, field

import ml_dtypes
import numpy as np
import oracles
import tensorflow as tf
from tolerances import assert_gradient_close, assert_losses_close

import tf_warpctc

DTYPES = ("float16", "bfloat16", "float32", "float64")
LAYOUTS = ("time_major", "batch_major", "packed")
LABEL_FORMS = ("dense", "sparse", "ragged")
MODES = ("eager", "function", "unknown_shapes")

NUMPY_DTYPES = {
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "float32": np.float32,
    "float64": np.float64,
}


def round_to(values, dtype):
    """`values` as the library will see them in `dtype`, back in float64."""
    with np.errstate(over="ignore"):
        return np.asarray(values, np.float64).astype(NUMPY_DTYPES[dtype]).astype(np.float64)


@dataclass
class Batch:
    """Rows of live frames [T_b, V] and their labels; `blank_index` as the user gives it."""

    frames: list
    labels: list
    blank_index: int = 0
    _expected: dict = field(default_factory=dict, repr=False)

    def __len__(self):
        return len(self.frames)

    @property
    def num_classes(self):
        return self.frames[0].shape[1]

    @property
    def logit_length(self):
        return np.array([len(row) for row in self.frames], np.int64)

    @property
    def label_length(self):
        return np.array([len(row) for row in self.labels], np.int64)

    def upstream(self):
        """A different weight for every row, some negative, one zero."""
        weights = np.resize([1.0, -0.5, 2.0, 0.25, 0.0, 1.5, -3.0], len(self))
        return weights + 0.01 * np.arange(len(self)) * (weights != 0)

    def expected(self, dtype):
        """Oracle losses [B] and a gradient [T_b, V] for each row, from the rounded logits."""
        if dtype not in self._expected:
            rows = [
                oracles.loss_and_gradient(
                    round_to(logits, dtype),
                    labels,
                    self.blank_index,
                    # The oracle's log space must be finer than what it judges.
                    np.longdouble if dtype == "float64" or len(logits) > 300 else np.float64,
                )
                for logits, labels in zip(self.frames, self.labels, strict=True)
            ]
            self._expected[dtype] = np.array([r[0] for r in rows]), [r[1] for r in rows]
        return self._expected[dtype]

    def padded_frames(self, extra=2):
        """[B, T, V] with NaN and infinities past every row's length."""
        width = int(self.logit_length.max(initial=0)) + extra
        garbage = np.resize([np.nan, np.inf, -np.inf, 1e30], (width, self.num_classes))
        out = np.empty((len(self), width, self.num_classes))
        for b, row in enumerate(self.frames):
            out[b] = garbage
            out[b, : len(row)] = row
        return out

    def padded_labels(self, dtype, extra=1):
        """[B, U] with numbers that are no class past every row's length."""
        width = int(self.label_length.max(initial=0)) + extra
        limits = np.iinfo(dtype)
        garbage = [-1, self.num_classes, limits.max, limits.min, self.blank_index]
        out = np.empty((len(self), width), dtype)
        for b, row in enumerate(self.labels):
            out[b] = np.resize(garbage, width)
            out[b, : len(row)] = row
        return out


@dataclass
class Result:
    loss: np.ndarray  # [B], in the dtype that came back
    gradients: list  # per row [T_b, V], float64
    padding_gradient: np.ndarray  # all gradient entries past the lengths, flat
    gradient_dtype: str


def label_arguments(batch, form, dtype):
    """(labels tensor, label_length or None) of a batch in one of the three forms."""
    if form == "dense":
        return tf.constant(batch.padded_labels(dtype)), tf.constant(batch.label_length, dtype)
    flat = np.array([label for row in batch.labels for label in row], dtype)
    if form == "ragged":
        return tf.RaggedTensor.from_row_lengths(flat, batch.label_length), None
    indices = [[b, u] for b, row in enumerate(batch.labels) for u in range(len(row))]
    width = int(batch.label_length.max(initial=0)) + 1
    shape = [len(batch), width]
    return tf.SparseTensor(np.reshape(indices, (-1, 2)).astype(np.int64), flat, shape), None


def logit_arguments(batch, layout, dtype):
    """(values, lengths): dense logits and logit_length, or packed frames and row splits."""
    as_dtype = NUMPY_DTYPES[dtype]
    with np.errstate(over="ignore"):
        if layout == "packed":
            splits = np.concatenate([[0], np.cumsum(batch.logit_length)])
            return tf.constant(np.concatenate(batch.frames).astype(as_dtype)), tf.constant(splits)
        padded = batch.padded_frames().astype(as_dtype)
    if layout == "time_major":
        padded = padded.transpose(1, 0, 2)
    return tf.constant(padded), tf.constant(batch.logit_length)


def spec_without_shape(x):
    """Type spec of the same rank with every dimension unknown."""
    shape = [None] * x.shape.rank
    if isinstance(x, tf.SparseTensor):
        return tf.SparseTensorSpec(shape, x.dtype)
    if isinstance(x, tf.RaggedTensor):
        return tf.RaggedTensorSpec(shape, x.dtype, x.ragged_rank, x.row_splits.dtype)
    return tf.TensorSpec(shape, x.dtype)


def in_mode(mode, function, *arguments):
    """Calls `function` eagerly, in a tf.function, or in one traced without any dimension."""
    if mode == "eager":
        return function(*arguments)
    given = [x for x in arguments if x is not None]

    def without_nones(*given):
        left = iter(given)
        return function(*[None if x is None else next(left) for x in arguments])

    signature = None
    if mode == "unknown_shapes":
        signature = [spec_without_shape(x) for x in given]
    return tf.function(without_nones, input_signature=signature)(*given)


def evaluate(
    batch,
    dtype="float32",
    layout="time_major",
    form="dense",
    label_dtype="int32",
    mode="eager",
    upstream=None,
    **options,
):
    """Loss and gradient of a batch from the library; `options` go to ctc_loss as they are."""
    values, lengths = logit_arguments(batch, layout, dtype)
    labels, label_length = label_arguments(batch, form, label_dtype)
    loss_dtype = "float64" if dtype == "float64" else "float32"
    weights = np.ones(len(batch)) if upstream is None else upstream

    def loss_and_gradient(values, lengths, labels, label_length, weights):
        with tf.GradientTape() as tape:
            tape.watch(values)
            if layout == "packed":
                logits = tf.RaggedTensor.from_row_splits(values, lengths, validate=False)
                logit_length = None
            else:
                logits, logit_length = values, lengths
            loss = tf_warpctc.ctc_loss(
                labels,
                logits,
                label_length,
                logit_length,
                logits_time_major=layout == "time_major",
                blank_index=batch.blank_index,
                **options,
            )
        return loss, tape.gradient(loss, values, output_gradients=weights)

    arguments = (values, lengths, labels, label_length, tf.constant(weights, loss_dtype))
    loss, gradient = in_mode(mode, loss_and_gradient, *arguments)
    flat = gradient.numpy().astype(np.float64)
    if layout == "time_major":
        flat = flat.transpose(1, 0, 2)
    if layout == "packed":
        rows, padding = np.split(flat, np.cumsum(batch.logit_length)[:-1]), np.zeros(0)
    else:
        rows = [flat[b, :n] for b, n in enumerate(batch.logit_length)]
        padding = np.concatenate([flat[b, n:].ravel() for b, n in enumerate(batch.logit_length)])
    return Result(loss.numpy(), rows, padding, gradient.dtype.name)


def assert_matches_oracle(batch, result, dtype, upstream=None):
    """Every row's loss and gradient equals the oracle's, padding gradients are exactly zero."""
    loss, gradients = batch.expected(dtype)
    assert result.loss.dtype == (np.float64 if dtype == "float64" else np.float32)
    assert result.gradient_dtype == dtype
    assert_losses_close(result.loss, loss, dtype)
    weights = np.ones(len(batch)) if upstream is None else upstream
    for b, expected in enumerate(gradients):
        assert_gradient_close(result.gradients[b], expected, dtype, weights[b], f"row {b}")
    np.testing.assert_array_equal(result.padding_gradient, 0.0)


def random_batch(rng, shapes, num_classes, blank_index=0, scale=2.0):
    """Rows of `shapes` [(T, U), ...] with random logits and labels, feasible or not."""
    blank = blank_index % num_classes
    classes = [v for v in range(num_classes) if v != blank]
    frames, labels = [], []
    for num_frames, num_labels in shapes:
        frames.append(rng.normal(0.0, scale, (num_frames, num_classes)))
        labels.append(rng.choice(classes, num_labels).tolist() if num_labels else [])
    return Batch(frames, labels, blank_index)


def without_repeats(labels, num_classes, blank):
    """The same labels with each repeat of its left neighbour moved to another class."""
    out = []
    for label in labels:
        while out and label == out[-1] or label == blank:
            label = (label + 1) % num_classes
        out.append(label)
    return out
