"""Every recorded case of data/ctc_loss_cases.json, in each layout, eager and in a tf.function."""

import numpy as np
import pytest
import support
import tensorflow as tf
from cases import load_cases
from tolerances import LOSS_RTOL, assert_gradient_close

import tf_warpctc

CASES = load_cases()


def run_case(case, layout, dtype, mode):
    """(loss, gradient [T, V]) of one case as row 1 of a batch of two, so that row 0 must stay out.

    The other row has no labels and its own length; packed rows hold the live frames only.
    """
    logits = case.logits.copy()
    logits[max(case.logit_length, 0) :] = np.nan  # past the length nothing may be read
    num_frames, num_classes = logits.shape
    labels = np.full((2, len(case.labels)), -7, np.int32)
    labels[1] = case.labels
    label_length = np.array([0, case.label_length], np.int32)
    logit_length = np.array([num_frames, case.logit_length], np.int32)
    values = np.stack([np.zeros_like(logits), logits]).astype(support.NUMPY_DTYPES[dtype])
    if layout == "time_major":
        values = values.transpose(1, 0, 2)
    splits = np.array([0, num_frames, num_frames + case.logit_length], np.int64)
    if layout == "packed":
        values = np.concatenate([values[0], values[1, : case.logit_length]])

    def loss_and_gradient(values):
        with tf.GradientTape() as tape:
            tape.watch(values)
            packed = layout == "packed"
            loss = tf_warpctc.ctc_loss(
                labels,
                tf.RaggedTensor.from_row_splits(values, splits) if packed else values,
                label_length,
                None if packed else logit_length,
                logits_time_major=layout == "time_major",
                blank_index=case.blank_index,
            )
        return loss, tape.gradient(loss, values)

    loss, gradient = support.in_mode(mode, loss_and_gradient, tf.constant(values))
    assert loss.dtype == (tf.float64 if dtype == "float64" else tf.float32)
    expected_other = num_frames * np.log(num_classes)  # an empty label on uniform logits
    assert loss[0].numpy() == pytest.approx(expected_other, rel=1e-6)
    gradient = gradient.numpy().astype(np.float64)
    if layout == "time_major":
        gradient = gradient[:, 1]
    elif layout == "batch_major":
        gradient = gradient[1]
    else:
        dead = np.zeros((num_frames - case.logit_length, num_classes))
        gradient = np.concatenate([gradient[num_frames:], dead])
    return loss[1].numpy(), gradient


# Packed rows have no logit_length that could be wrong.
CASES_AND_LAYOUTS = [
    pytest.param(case, layout, id=f"{case.name}-{layout}")
    for case in CASES
    for layout in support.LAYOUTS
    if not (layout == "packed" and case.expect and "logit_length" in case.name)
]


@pytest.mark.parametrize("mode", support.MODES)
@pytest.mark.parametrize(("case", "layout"), CASES_AND_LAYOUTS)
def test_case(case, layout, mode):
    if case.expect is not None:
        assert case.expect == "InvalidArgument"
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"\w+\[1(, ?0)?\] is -?\d"):
            run_case(case, layout, "float32", mode)
        return
    for dtype in [case.dtype] if case.dtype else ["float32", "float64"]:
        loss, gradient = run_case(case, layout, dtype, mode)
        np.testing.assert_allclose(loss, case.loss, rtol=LOSS_RTOL[dtype])
        if case.gradient is not None:
            assert_gradient_close(gradient, case.gradient, dtype, err_msg=dtype)
            np.testing.assert_array_equal(gradient[case.logit_length :], 0.0)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_large_label_ids_in_half_precision(dtype):
    """Ids 2049 and 3001 are no numbers of a half type: labels may not pass through the logits'."""
    (case,) = [case for case in CASES if case.name == "large_label_id_low_precision"]
    loss, gradient = run_case(case, "batch_major", dtype, "eager")
    np.testing.assert_allclose(loss, case.loss, rtol=LOSS_RTOL[dtype])
    assert (gradient[:, 2049] < 0).any() and (gradient[:, 3001] < 0).any()
    assert (gradient[:, [2048, 2050, 3000]] > 0).all()
