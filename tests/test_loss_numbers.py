"""Numbers at their limits: long rows, many states, huge and infinite logits, ties, one class."""

import functools

import numpy as np
import oracles
import pytest
import support
import tensorflow as tf
from tolerances import LOSS_RTOL, assert_gradient_close, assert_losses_close

import tf_warpctc


def check(batch, dtypes=support.DTYPES, upstream=None, **options):
    for dtype in dtypes:
        result = support.evaluate(batch, dtype, upstream=upstream, **options)
        support.assert_matches_oracle(batch, result, dtype, upstream)


@functools.cache
def long_batch():
    """Made once: the oracle takes seconds for it."""
    shapes = [(3000, 800), (1100, 512), (20, 5), (3000, 0), (3000, 1), (520, 511)]
    return support.random_batch(np.random.default_rng(11), shapes, 28)


@pytest.mark.parametrize("layout", support.LAYOUTS)
def test_many_states_and_long_rows(layout):
    """More than 1024 states (U > 511), and 3000 frames; in one batch with short rows."""
    check(long_batch(), ("float32", "float64"), layout=layout)


def test_uniform_closed_form_at_length():
    """Every class equally likely: the loss is a binomial coefficient, exact at any length."""
    rng = np.random.default_rng(12)
    rows = [(3000, 1000), (2500, 700), (1000, 999), (400, 0), (2047, 3), (64, 31)]
    labels = [rng.choice([0, 1, 3, 4], u).tolist() for _, u in rows]
    labels[2] = support.without_repeats(labels[2], 5, 2)
    frames = [np.zeros((t, 5)) for t, _ in rows]
    expected = [oracles.uniform_loss(t, 5, y) for (t, _), y in zip(rows, labels, strict=True)]
    for dtype in support.DTYPES:
        loss = support.evaluate(support.Batch(frames, labels, 2), dtype).loss
        np.testing.assert_allclose(loss, expected, rtol=LOSS_RTOL[dtype])


def test_total_probability_of_all_labellings():
    """exp(-loss) over every label sequence is 1: nothing is counted twice or left out."""
    logits = np.random.default_rng(13).normal(0.0, 2.0, (5, 3))
    labels = [[int(c) + 1 for c in np.binary_repr(i, n)] for n in range(1, 6) for i in range(2**n)]
    batch = support.Batch([logits] * (len(labels) + 1), [[]] + labels)
    total = np.exp(-support.evaluate(batch, "float64").loss).sum()
    assert total == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("scale", [50.0, 1e3, 1e4])
def test_large_logits(scale):
    """Confident models: the loss stays accurate, and never negative when it is nearly zero."""
    rng = np.random.default_rng(14)
    shapes = [(30, 8), (12, 0), (9, 9), (60, 20), (1, 1), (150, 40)]
    batch = support.random_batch(rng, shapes, 10, scale=scale / 3)
    dtypes = ["bfloat16", "float32", "float64"] + (["float16"] if scale <= 1e4 else [])
    for dtype in dtypes:
        result = support.evaluate(batch, dtype)
        assert np.isfinite(result.loss).all() and (result.loss >= 0).all()
        expected, gradients = batch.expected(dtype)
        np.testing.assert_allclose(result.loss, expected, rtol=LOSS_RTOL[dtype])
        for b, gradient in enumerate(gradients):
            assert_gradient_close(result.gradients[b], gradient, dtype, err_msg=f"row {b}")


@pytest.mark.parametrize("scale", [1e4, 1e8, 1e30])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_huge_logits(scale, dtype):
    """Logits of ±scale: one path outweighs all others, or all are hopeless; both are finite."""
    rng = np.random.default_rng(15)
    shapes = [(12, 3), (6, 6), (20, 0), (25, 11), (1, 1)]
    batch = support.random_batch(rng, shapes, 7, scale=scale)
    batch.labels[1] = support.without_repeats(batch.labels[1], 7, 0)
    right = scale * (2.0 * np.eye(7)[[1, 0, 1, 2, 0]] - 1.0)  # spells 1 1 2 beyond doubt
    batch.frames += [right, -right, right]
    batch.labels += [[1, 1, 2], [1, 1, 2], [3]]
    result = support.evaluate(batch, dtype)
    assert np.isfinite(result.loss).all() and (result.loss >= 0).all()
    expected, _ = batch.expected(dtype)
    np.testing.assert_allclose(result.loss, expected, rtol=LOSS_RTOL[dtype], atol=1e-6)
    assert result.loss[-3] == 0.0
    for gradient in result.gradients:
        assert np.isfinite(gradient).all()
        np.testing.assert_allclose(gradient.sum(-1), 0.0, atol=1e-5)


def test_loss_is_never_negative():
    """Rows which are certain: rounding may not push -log p below zero."""
    rng = np.random.default_rng(16)
    frames, labels = [], []
    for margin in np.linspace(2.0, 40.0, 60):
        path = [0] * 3 + [1, 1, 0, 2, 2, 2, 0] + [0] * 90
        frames.append(margin * np.eye(4)[path] + rng.normal(0.0, 1e-3, (len(path), 4)))
        labels.append([1, 2])
    batch = support.Batch(frames, labels)
    for dtype in support.DTYPES:
        result = support.evaluate(batch, dtype)
        expected, _ = batch.expected(dtype)
        assert_losses_close(result.loss, expected, dtype)


def test_minus_infinity_logits():
    """-inf is a class that cannot occur: unused, in some frames, the blank, or the label itself."""
    rng = np.random.default_rng(20)
    batch = support.random_batch(rng, [(10, 3)] * 7, 6, blank_index=2)
    for row in batch.labels:
        row[:] = [1, 3, 4]
    frames = batch.frames
    frames[0][:, 5] = -np.inf  # a class the label does not use
    frames[1][::3, 1] = -np.inf  # a label in some frames
    frames[2][:, 2] = -np.inf  # no blank anywhere: the labels must fill all frames
    frames[3][:, 3] = -np.inf  # a label everywhere: no valid alignment
    frames[4][:, [0, 5]] = -np.inf
    frames[5][4, [0, 1, 2, 3, 5]] = -np.inf  # frame 4 must be class 4, then 3 labels before it
    frames[6][0, [0, 2, 3, 4, 5]] = -np.inf  # the first frame must be class 1
    check(batch, upstream=batch.upstream())
    loss, gradients = batch.expected("float64")
    assert np.isinf(loss[3]) and not gradients[3].any()
    result = support.evaluate(batch, zero_infinity=True)
    assert result.loss[3] == 0.0 and not result.gradients[3].any()


def test_no_blank_and_repeats_is_infeasible():
    """Without a blank two equal labels cannot follow each other, however many frames there are."""
    frames = np.random.default_rng(21).normal(size=(9, 4))
    frames[:, 0] = -np.inf
    batch = support.Batch([frames, frames], [[1, 1], [1, 2]])
    assert np.isinf(batch.expected("float64")[0]).tolist() == [True, False]
    check(batch)


@pytest.mark.parametrize("layout", support.LAYOUTS)
@pytest.mark.parametrize("dtype", support.DTYPES)
def test_nan_stays_in_its_row(layout, dtype):
    """NaN in a live frame: that row's loss and gradient are NaN; other rows keep their bits."""
    rng = np.random.default_rng(22)
    batch = support.random_batch(rng, [(8, 2), (7, 3), (8, 0), (5, 2), (8, 3), (6, 2)], 5)
    clean = support.evaluate(batch, dtype, layout)
    batch.frames[1][3, 4] = np.nan  # a class of no label
    batch.frames[3][4, batch.labels[3][0]] = np.nan  # the last frame, a label
    batch.frames[4][0, 0] = np.nan  # the first frame, the blank
    dirty = support.evaluate(batch, dtype, layout)
    bad = [False, True, False, True, True, False]
    np.testing.assert_array_equal(np.isnan(dirty.loss), bad)
    for b, is_bad in enumerate(bad):
        if is_bad:
            assert np.isnan(dirty.gradients[b]).all()
        else:
            assert dirty.loss[b] == clean.loss[b]
            np.testing.assert_array_equal(dirty.gradients[b], clean.gradients[b])
    np.testing.assert_array_equal(dirty.padding_gradient, 0.0)


def test_frame_without_any_class_stays_in_its_row():
    """A frame of only -inf has no distribution: no finite loss, other rows untouched."""
    rng = np.random.default_rng(23)
    batch = support.random_batch(rng, [(6, 2), (6, 2), (6, 2)], 4)
    clean = support.evaluate(batch)
    batch.frames[1][2] = -np.inf
    dirty = support.evaluate(batch)
    assert not np.isfinite(dirty.loss[1])
    for b in (0, 2):
        assert dirty.loss[b] == clean.loss[b]
        np.testing.assert_array_equal(dirty.gradients[b], clean.gradients[b])


def test_one_class():
    """V = 1: only the blank exists, so the empty label is certain."""
    for dtype in support.DTYPES:
        batch = support.Batch([np.full((n, 1), 3.0) for n in (0, 1, 9)], [[], [], []])
        result = support.evaluate(batch, dtype)
        np.testing.assert_array_equal(result.loss, 0.0)
        assert not np.concatenate(result.gradients).any()


@pytest.mark.parametrize("layout", support.LAYOUTS)
@pytest.mark.parametrize("mode", support.MODES)
def test_empty_dimensions(layout, mode):
    """B = 0, T = 0 and U = 0 are legal, in any combination."""
    for num_rows, num_frames, num_labels in np.ndindex(2, 2, 2):
        shape = {
            "time_major": [num_frames, num_rows, 4],
            "batch_major": [num_rows, num_frames, 4],
            "packed": [num_rows * num_frames, 4],
        }[layout]
        splits = tf.range(num_rows + 1, dtype=tf.int64) * num_frames

        def loss_and_gradient(values, splits, labels, label_length):
            with tf.GradientTape() as tape:
                tape.watch(values)
                packed = layout == "packed"
                loss = tf_warpctc.ctc_loss(
                    labels,
                    tf.RaggedTensor.from_row_splits(values, splits) if packed else values,
                    label_length,
                    None,
                    logits_time_major=layout == "time_major",
                )
            return loss, tape.gradient(loss, values)

        labels = tf.ones([num_rows, num_labels], tf.int32)
        label_length = tf.fill([num_rows], num_labels)
        loss, gradient = support.in_mode(
            mode, loss_and_gradient, tf.zeros(shape), splits, labels, label_length
        )
        expected = oracles.uniform_loss(num_frames, 4, [1] * num_labels)
        np.testing.assert_allclose(loss, np.full(num_rows, expected), rtol=1e-6)
        assert gradient.shape == shape
