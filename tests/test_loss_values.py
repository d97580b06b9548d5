"""Loss and gradient equal the oracle: one body over dtype, layout, label form and mode.

The batch is the zoo (see zoo.py) with garbage in every padded frame and label, and the upstream
gradient differs from row to row.
"""

import itertools

import numpy as np
import oracles
import pytest
import support
import tensorflow as tf
from zoo import zoo

import tf_warpctc

ZOOS = {blank: zoo(blank_index=blank) for blank in (0, 5, -1, -12)}


@pytest.mark.parametrize("mode", support.MODES)
@pytest.mark.parametrize("form", support.LABEL_FORMS)
@pytest.mark.parametrize("layout", support.LAYOUTS)
@pytest.mark.parametrize("dtype", support.DTYPES)
def test_matches_oracle(dtype, layout, form, mode):
    # Label ids and blanks vary along, each with every value of every other parameter.
    turn = support.LAYOUTS.index(layout) + support.LABEL_FORMS.index(form)
    label_dtype = ("int32", "int64")[turn % 2]
    batch = ZOOS[list(ZOOS)[(turn + support.MODES.index(mode)) % len(ZOOS)]]
    upstream = batch.upstream()
    result = support.evaluate(batch, dtype, layout, form, label_dtype, mode, upstream)
    support.assert_matches_oracle(batch, result, dtype, upstream)


@pytest.mark.parametrize("blank", list(ZOOS))
@pytest.mark.parametrize("label_dtype", ["int32", "int64"])
def test_blank_anywhere(blank, label_dtype):
    batch = ZOOS[blank]
    for form in support.LABEL_FORMS:
        result = support.evaluate(batch, "float64", form=form, label_dtype=label_dtype)
        support.assert_matches_oracle(batch, result, "float64")


@pytest.mark.parametrize("num_classes", [2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 64, 67, 300])
def test_class_counts(num_classes):
    """V around the vector widths of the softmax, and rows whose start is not aligned."""
    rng = np.random.default_rng(num_classes)
    shapes = [(5, 2), (1, 1), (8, 0), (13, 6), (2, 1)]
    batch = support.random_batch(rng, shapes, num_classes, blank_index=num_classes // 2)
    for dtype in support.DTYPES:
        result = support.evaluate(batch, dtype, upstream=batch.upstream())
        support.assert_matches_oracle(batch, result, dtype, batch.upstream())


def test_lengths_default_to_the_full_width():
    rng = np.random.default_rng(3)
    logits = rng.normal(size=(4, 9, 6))
    labels = rng.integers(1, 6, (4, 3)).astype(np.int32)
    loss = tf_warpctc.ctc_loss(labels, logits, None, None, logits_time_major=False)
    expected = [oracles.loss_and_gradient(x, y)[0] for x, y in zip(logits, labels, strict=True)]
    np.testing.assert_allclose(loss, expected, rtol=1e-12)


@pytest.mark.parametrize("label_dtype", [np.int32, np.int64])
@pytest.mark.parametrize("logit_dtype", [np.int32, np.int64])
def test_length_dtypes_are_free(label_dtype, logit_dtype):
    """Lengths may be int32 or int64, each on its own and apart from the labels' type."""
    batch = ZOOS[0]
    logits = batch.padded_frames().astype(np.float32)
    for labels_dtype in (np.int32, np.int64):
        loss = tf_warpctc.ctc_loss(
            batch.padded_labels(labels_dtype),
            logits,
            batch.label_length.astype(label_dtype),
            batch.logit_length.astype(logit_dtype),
            logits_time_major=False,
        )
        np.testing.assert_allclose(loss, batch.expected("float32")[0], rtol=1e-6, atol=1e-6)


def test_accepts_what_tensorflow_accepts():
    """NumPy arrays, lists, positional order and `unique`, as for tf.nn.ctc_loss."""
    rng = np.random.default_rng(4)
    logits = rng.normal(size=(7, 2, 5)).astype(np.float32)
    labels = [[1, 2], [3, 3]]
    unique = tf.nn.ctc_unique_labels(tf.constant(labels))
    loss = tf_warpctc.ctc_loss(labels, logits, [2, 2], [7, 6], True, unique, 0, False, "loss")
    expected = tf_warpctc.ctc_loss(
        labels=tf.constant(labels, tf.int64),
        logits=tf.constant(logits),
        label_length=np.array([2, 2], np.int64),
        logit_length=np.array([7, 6]),
        logits_time_major=True,
    )
    np.testing.assert_array_equal(loss, expected)
    ours = [oracles.loss_and_gradient(logits[:n, b], labels[b])[0] for b, n in enumerate((7, 6))]
    np.testing.assert_allclose(loss, ours, rtol=1e-6)


def test_name_reaches_the_graph():
    @tf.function
    def loss(logits):
        return tf_warpctc.ctc_loss([[1]], logits, [1], [3], name="my_own_name")

    graph = loss.get_concrete_function(tf.TensorSpec([3, 1, 4], tf.float32)).graph
    assert any("my_own_name" in op.name for op in graph.get_operations())


def test_variables_and_models_can_be_trained():
    """The gradient reaches a variable through the op and lowers the loss."""
    batch = support.random_batch(np.random.default_rng(5), [(12, 3), (9, 2), (12, 4)], 6)
    weights = tf.Variable(tf.zeros([6, 6]))
    frames = batch.padded_frames(extra=0)
    logits = tf.constant(np.where(np.abs(frames) < 100, frames, 0.0), tf.float32)  # NaN out
    labels, label_length = support.label_arguments(batch, "dense", "int32")

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(
                tf_warpctc.ctc_loss(
                    labels,
                    logits @ weights,
                    label_length,
                    batch.logit_length,
                    logits_time_major=False,
                )
            )
        weights.assign_sub(0.1 * tape.gradient(loss, weights))
        return loss

    losses = [float(step()) for _ in range(30)]
    assert all(after < before for before, after in itertools.pairwise(losses))
    assert losses[-1] < 0.7 * losses[0]
