"""Greedy decoding and alignment: bad values, static faults, and static shapes."""

import numpy as np
import pytest
import support
import tensorflow as tf

import tf_warpctc

N = None


@pytest.mark.parametrize("mode", ["eager", "unknown_shapes"])
@pytest.mark.parametrize("time_major", [True, False])
def test_logit_length_out_of_range(time_major, mode):
    logits = tf.zeros([5, 4, 6] if time_major else [4, 5, 6])

    def run(logits, lengths):
        return tf_warpctc.ctc_greedy_decode(logits, lengths, logits_time_major=time_major)

    for row, value in [(0, -1), (3, 6), (1, 2**31 - 1)]:
        for dtype in (np.int32, np.int64):
            lengths = np.full(4, 5, dtype)
            lengths[row] = value
            bound = "but logits has 5 frames" if value > 0 else "expected a length of 0 or more"
            pattern = rf"logit_length\[{row}\] is {value}[,:] {bound}"
            with pytest.raises(tf.errors.InvalidArgumentError, match=pattern):
                support.in_mode(mode, run, logits, tf.constant(lengths))
    lengths = tf.constant([1, 2**32 + 1, 1, 1], tf.int64)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"logit_length\[1\] is 4294967297"):
        support.in_mode(mode, run, logits, lengths)


@pytest.mark.parametrize("mode", ["eager", "unknown_shapes"])
def test_sequence_length_out_of_range_in_the_drop_in(mode):
    def run(inputs, lengths):
        return tf_warpctc.ctc_greedy_decoder(inputs, lengths)

    for row, value in [(1, 6), (0, -1)]:
        lengths = np.full(4, 5, np.int32)
        lengths[row] = value
        with pytest.raises(tf.errors.InvalidArgumentError, match=rf"length\[{row}\] is {value}"):
            support.in_mode(mode, run, tf.zeros([5, 4, 6]), tf.constant(lengths))


@pytest.mark.parametrize("mode", ["eager", "unknown_shapes"])
@pytest.mark.parametrize(
    "splits",
    [
        [0, 5, 3, 10],
        [1, 3, 5, 10],
        [0, 3, 5, 11],
        [-1, 3, 5, 10],
        [0, 3, 5, 2**40],
        [0, 2**63 - 1, -(2**63), -1, 10],  # rises only where differences wrap around
    ],
)
def test_bad_row_splits(splits, mode):
    def run(values, splits):
        logits = tf.RaggedTensor.from_row_splits(values, splits, validate=False)
        return tf_warpctc.ctc_greedy_decode(logits)

    with pytest.raises(tf.errors.InvalidArgumentError, match="split"):
        support.in_mode(mode, run, tf.zeros([10, 4]), tf.constant(splits, tf.int64))


@pytest.mark.parametrize("blank", [6, -7])
def test_blank_outside_the_classes(blank):
    wrong = (ValueError, tf.errors.InvalidArgumentError)
    logits = tf.zeros([4, 5, 6])
    with pytest.raises(wrong, match=f"blank_index.*{blank}"):
        tf_warpctc.ctc_greedy_decode(logits, blank_index=blank)
    with pytest.raises(wrong, match=f"blank_index.*{blank}"):
        tf_warpctc.ctc_greedy_decoder(logits, [4] * 5, blank_index=blank)
    with pytest.raises(wrong, match=f"blank_index.*{blank}"):
        support.in_mode(
            "unknown_shapes",
            lambda logits: tf_warpctc.ctc_greedy_decode(logits, blank_index=blank),
            logits,
        )


def trace(shape, lengths, **options):
    def run(logits, lengths):
        return tuple(tf_warpctc.ctc_greedy_decode(logits, lengths, **options))

    specs = tf.TensorSpec(shape, tf.float32), tf.TensorSpec(lengths, tf.int32)
    outputs = tf.function(run).get_concrete_function(*specs).structured_outputs
    return [output.shape.as_list() for output in outputs]


@pytest.mark.parametrize(
    ("shape", "lengths", "rows", "frames"),
    [
        ([4, 9, 5], [4], 4, 9),
        ([4, N, N], [N], 4, N),
        ([N, 9, 5], [4], 4, 9),
        ([N, N, 5], [N], N, N),
    ],
)
def test_static_shapes(shape, lengths, rows, frames):
    plane, line = [rows, frames], [rows]
    # tokens, lengths, score, start_frames, end_frames, log_probability
    expected = [plane, line, line, plane, plane, plane]
    assert trace(shape, lengths) == expected
    swapped = [shape[1], shape[0], shape[2]]
    assert trace(swapped, lengths, logits_time_major=True) == expected


@pytest.mark.parametrize(
    ("shape", "lengths"),
    [([4, 9], [4]), ([4, 9, 5, 1], [4]), ([4, 9, 5], [3]), ([4, 9, 5], []), ([4, 9, 5], [4, 1]),
     ([4, 9, 0], [4])],
)  # fmt: skip
def test_static_faults_are_refused_while_tracing(shape, lengths):
    with pytest.raises(ValueError, match=r"rank|[Dd]imension|[Ss]hape|rows|class|batch"):
        trace(shape, lengths)


def test_bad_arguments_name_themselves():
    wrong = (TypeError, ValueError, tf.errors.InvalidArgumentError)
    with pytest.raises(wrong, match="logits.*int32"):
        tf_warpctc.ctc_greedy_decode(tf.zeros([4, 5, 6], tf.int32))
    packed = tf.RaggedTensor.from_tensor(tf.zeros([4, 5, 6]), ragged_rank=1)
    with pytest.raises(wrong, match="logit_length"):
        tf_warpctc.ctc_greedy_decode(packed, [5] * 4)
    with pytest.raises(wrong, match="dtype"):
        tf_warpctc.ctc_greedy_decode(tf.zeros([4, 5, 6]), dtype=tf.float32)
    with pytest.raises(wrong, match="tokens.*float"):
        tf_warpctc.ctc_align(tf.zeros([4, 5]))
    with pytest.raises(wrong, match="length"):
        tf_warpctc.ctc_align(tf.ragged.constant([[1, 2], [3]]), [2, 1])


def test_decoding_has_no_gradient():
    logits = tf.zeros([2, 3, 4])
    with tf.GradientTape() as tape:
        tape.watch(logits)
        score = tf.reduce_sum(tf_warpctc.ctc_greedy_decode(logits).score)
    try:
        gradient = tape.gradient(score, logits)
    except LookupError:
        return  # refused, as TensorFlow's own decoder does
    assert gradient is None
