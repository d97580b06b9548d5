"""Rows without a valid alignment: inf, zero or an error, as asked, and never a gradient."""

import numpy as np
import pytest
import support
import tensorflow as tf
from zoo import zoo

import tf_warpctc

# Row 1 needs 4 frames and has 3, row 3 needs a blank between its repeats, row 4 has no frame.
SHAPES = [(5, 2), (3, 4), (4, 0), (2, 2), (0, 1), (6, 3)]
INFEASIBLE = [False, True, False, True, True, False]


def mixed_batch():
    batch = support.random_batch(np.random.default_rng(31), SHAPES, 6)
    batch.labels[1] = [1, 2, 3, 4]
    batch.labels[3] = [2, 2]
    return batch


@pytest.mark.parametrize("layout", support.LAYOUTS)
@pytest.mark.parametrize("dtype", support.DTYPES)
def test_default_is_infinite_loss_and_zero_gradient(dtype, layout):
    batch = mixed_batch()
    for options in ({}, {"on_infeasible": "inf"}, {"zero_infinity": False}):
        result = support.evaluate(batch, dtype, layout, upstream=batch.upstream(), **options)
        assert np.isposinf(result.loss).tolist() == INFEASIBLE
        support.assert_matches_oracle(batch, result, dtype, batch.upstream())


@pytest.mark.parametrize("options", [{"zero_infinity": True}, {"on_infeasible": "zero"}])
@pytest.mark.parametrize("mode", support.MODES)
@pytest.mark.parametrize("layout", support.LAYOUTS)
def test_zero_on_request(layout, mode, options):
    batch = mixed_batch()
    for dtype in ("float16", "float32", "float64"):
        upstream = batch.upstream()
        result = support.evaluate(batch, dtype, layout, mode=mode, upstream=upstream, **options)
        plain = support.evaluate(batch, dtype, layout, mode=mode, upstream=upstream)
        expected = np.where(INFEASIBLE, 0.0, plain.loss)
        np.testing.assert_array_equal(result.loss, expected)
        for got, same in zip(result.gradients, plain.gradients, strict=True):
            np.testing.assert_array_equal(got, same)


@pytest.mark.parametrize("form", support.LABEL_FORMS)
@pytest.mark.parametrize("mode", support.MODES)
@pytest.mark.parametrize("layout", support.LAYOUTS)
def test_raise_on_request(layout, mode, form):
    batch = mixed_batch()
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[1\].*3.*4|row 1.*(3.*4|4.*3)"):
        support.evaluate(batch, "float32", layout, form, mode=mode, on_infeasible="raise")


@pytest.mark.parametrize("layout", support.LAYOUTS)
def test_raise_is_silent_when_every_row_is_feasible(layout):
    keep = [b for b, bad in enumerate(INFEASIBLE) if not bad]
    batch = mixed_batch()
    batch = support.Batch([batch.frames[b] for b in keep], [batch.labels[b] for b in keep])
    result = support.evaluate(batch, "float32", layout, on_infeasible="raise")
    support.assert_matches_oracle(batch, result, "float32")


def test_zero_infinity_does_not_hide_nan():
    batch = mixed_batch()
    batch.frames[0][1, 1] = np.nan
    result = support.evaluate(batch, zero_infinity=True)
    assert np.isnan(result.loss[0]) and result.loss[1] == 0.0


def test_sum_of_losses_trains_with_zero_infinity():
    """The use of zero_infinity: one hopeless row leaves the mean and its gradient finite."""
    batch = zoo()
    values, lengths = support.logit_arguments(batch, "time_major", "float32")
    labels, label_length = support.label_arguments(batch, "dense", "int32")
    with tf.GradientTape() as tape:
        tape.watch(values)
        loss = tf_warpctc.ctc_loss(labels, values, label_length, lengths, zero_infinity=True)
        mean = tf.reduce_mean(loss)
    gradient = tape.gradient(mean, values)
    assert np.isfinite(mean) and np.isfinite(gradient).all()
    finite = np.where(np.isinf(batch.expected("float32")[0]), 0.0, batch.expected("float32")[0])
    np.testing.assert_allclose(mean, finite.mean(), rtol=1e-6)
