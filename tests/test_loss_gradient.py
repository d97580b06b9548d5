"""The gradient as a derivative: central differences, upstream weights, what has none, no second."""

import numpy as np
import pytest
import support
import tensorflow as tf
from tolerances import assert_gradient_close
from zoo import zoo

import tf_warpctc


@pytest.mark.parametrize("layout", support.LAYOUTS)
@pytest.mark.parametrize("blank", [0, 2, -1])
def test_central_differences(layout, blank):
    """The library against itself in float64: every logit of a row nudged, all in one batch."""
    rng = np.random.default_rng(17)
    step = 1e-5
    for num_frames, labels in [(6, []), (7, [1, 3, 3]), (3, [1, 3, 1]), (1, [1])]:
        logits = rng.normal(0.0, 2.0, (num_frames, 5))
        base = support.Batch([logits], [labels], blank)
        (gradient,) = support.evaluate(base, "float64", layout).gradients
        nudges = step * np.eye(logits.size).reshape(-1, *logits.shape)
        frames = list(logits + nudges) + list(logits - nudges)
        nudged = support.Batch(frames, [labels] * len(frames), blank)
        high, low = np.split(support.evaluate(nudged, "float64", layout).loss, 2)
        estimate = ((high - low) / (2 * step)).reshape(logits.shape)
        # Truncation is h²/6 times a third derivative below 1, rounding 1e-15/h.
        np.testing.assert_allclose(gradient, estimate, atol=5e-9)


@pytest.mark.parametrize("dtype", support.DTYPES)
def test_gradient_is_linear_in_the_upstream(dtype):
    """Twice the upstream is twice the bits; a zero upstream is an exact zero."""
    batch = zoo()
    once = support.evaluate(batch, dtype, upstream=np.full(len(batch), 1.0))
    twice = support.evaluate(batch, dtype, upstream=np.full(len(batch), 2.0))
    zero = support.evaluate(batch, dtype, upstream=np.zeros(len(batch)))
    rows = zip(once.gradients, twice.gradients, zero.gradients, strict=True)
    for row_once, row_twice, row_zero in rows:
        normal = np.abs(row_once) > 1e-4  # doubling is exact where float16 keeps all its bits
        np.testing.assert_array_equal(2 * row_once[normal], row_twice[normal])
        np.testing.assert_array_equal(row_zero, 0.0)


def test_infinite_upstream_stays_in_its_row():
    """A row of no valid alignment has a zero gradient even under an upstream that is not finite.

    The derivative of loss**2 at an infinite loss is one such.
    """
    rng = np.random.default_rng(18)
    batch = support.random_batch(rng, [(6, 2), (2, 4), (6, 2)], 5)
    for weight in (np.inf, np.nan):
        result = support.evaluate(batch, upstream=np.array([1.0, weight, 2.0]))
        np.testing.assert_array_equal(result.gradients[1], 0.0)
        for b, w in ((0, 1.0), (2, 2.0)):
            expected = batch.expected("float32")[1][b]
            assert_gradient_close(result.gradients[b], expected, "float32", w)


@pytest.mark.parametrize("mode", support.MODES)
@pytest.mark.parametrize("dtype", support.DTYPES)
def test_loss_without_gradient_is_the_same(dtype, mode):
    """A graph that asks for no gradient computes no residuals, and the same loss."""
    batch = zoo()
    values, lengths = support.logit_arguments(batch, "time_major", dtype)
    arguments = (*support.label_arguments(batch, "dense", "int32"), lengths)

    def loss(values, labels, label_length, lengths):
        return tf_warpctc.ctc_loss(labels, values, label_length, lengths)

    alone = support.in_mode(mode, loss, values, *arguments)
    np.testing.assert_array_equal(alone, support.evaluate(batch, dtype).loss)


def test_integers_have_no_gradient():
    """Labels and lengths are not differentiable; None, not zeros, in graph and tape."""
    with tf.Graph().as_default():
        logits = tf.zeros([4, 2, 3])
        labels, label_length = tf.constant([[1], [2]]), tf.constant([1, 1])
        logit_length = tf.constant([4, 3])
        loss = tf_warpctc.ctc_loss(labels, logits, label_length, logit_length)
        gradients = tf.gradients(loss, [logits, labels, label_length, logit_length])
        assert gradients[0] is not None and gradients[1:] == [None, None, None]


def test_tape_gradient_of_a_ragged_tensor():
    """The gradient of packed logits can be asked for by the RaggedTensor itself."""
    batch = zoo()
    values, splits = support.logit_arguments(batch, "packed", "float32")
    logits = tf.RaggedTensor.from_row_splits(values, splits)
    labels, label_length = support.label_arguments(batch, "dense", "int32")
    with tf.GradientTape() as tape:
        tape.watch(logits)
        loss = tf_warpctc.ctc_loss(labels, logits, label_length, None)
    gradient = tape.gradient(loss, logits)
    expected = support.evaluate(batch, layout="packed").gradients
    np.testing.assert_array_equal(gradient.flat_values, np.concatenate(expected))
    np.testing.assert_array_equal(gradient.row_splits, splits)


@pytest.mark.parametrize("vectorized", [False, True])
def test_jacobian(vectorized):
    """Row b's loss depends on row b's logits alone."""
    batch = support.random_batch(np.random.default_rng(19), [(5, 1), (5, 2), (5, 0)], 4)
    values, lengths = support.logit_arguments(batch, "batch_major", "float64")
    labels, label_length = support.label_arguments(batch, "dense", "int32")
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(values)
        loss = tf_warpctc.ctc_loss(labels, values, label_length, lengths, logits_time_major=False)
    jacobian = tape.jacobian(loss, values, experimental_use_pfor=vectorized).numpy()
    for b, expected in enumerate(batch.expected("float64")[1]):
        np.testing.assert_allclose(jacobian[b, b, :5], expected, atol=1e-12)
        jacobian[b, b] = 0.0
    np.testing.assert_array_equal(jacobian, 0.0)


def second_derivative(logits):
    with tf.GradientTape() as outer:
        outer.watch(logits)
        with tf.GradientTape() as inner:
            inner.watch(logits)
            loss = tf_warpctc.ctc_loss([[1, 2]], logits, [2], [6])
        gradient = inner.gradient(loss, logits)
        total = tf.reduce_sum(gradient**2)
    return outer.gradient(total, logits)


@pytest.mark.parametrize("dtype", support.DTYPES)
def test_second_derivative_raises(dtype):
    logits = tf.cast(tf.random.stateless_normal([6, 1, 4], [1, 2]), dtype)
    with pytest.raises(NotImplementedError, match="second derivative"):
        second_derivative(logits)


def test_second_derivative_raises_while_tracing():
    function = tf.function(second_derivative)
    with pytest.raises(NotImplementedError, match="second derivative"):
        function.get_concrete_function(tf.TensorSpec([6, 1, 4], tf.float32))


def test_second_derivative_raises_in_tf_gradients():
    with tf.Graph().as_default():
        logits = tf.zeros([6, 1, 4])
        loss = tf_warpctc.ctc_loss([[1, 2]], logits, [2], [6])
        (gradient,) = tf.gradients(loss, logits)
        with pytest.raises(NotImplementedError, match="second derivative"):
            tf.gradients(gradient, logits)
