"""ctc_align: merge and drop on ids, padded and ragged, against plain Python."""

import functools

import hypothesis
import numpy as np
import oracles
import pytest
import support
import tensorflow as tf
from hypothesis import strategies as st

import tf_warpctc

ROWS = [[1, 1, 0, 1, 2, 2], [], [0, 0, 0], [3], [0, 3, 3, 0, 0, 3, 0], [5, 5, 5, 5], [-2, -2, 0, 7]]


def padded_arguments(rows, dtype, extra=1):
    """Rows padded with numbers that would change the answer if they were read."""
    width = max((len(row) for row in rows), default=0) + extra
    tokens = np.resize(np.array([9, 0, 9, 8], dtype), (len(rows), width))
    for b, row in enumerate(rows):
        tokens[b, : len(row)] = row
    return tf.constant(tokens), tf.constant([len(row) for row in rows], dtype)


@pytest.mark.parametrize("mode", support.MODES)
@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_padded(dtype, merge, mode):
    tokens, length = padded_arguments(ROWS, dtype)
    for blank in (0, 3, 99, -2):
        for padding in (0, -1):
            run = functools.partial(
                tf_warpctc.ctc_align,
                blank_index=blank,
                merge_repeated=merge,
                padding_value=padding,
            )
            aligned, lengths = support.in_mode(mode, run, tokens, length)
            rows = [oracles.align_row(row, blank, merge) for row in ROWS]
            expected = np.full(tokens.shape, padding)
            for b, row in enumerate(rows):
                expected[b, : len(row)] = row
            assert aligned.dtype == dtype and lengths.dtype in (tf.int32, tf.int64)
            np.testing.assert_array_equal(aligned, expected)
            np.testing.assert_array_equal(lengths, [len(row) for row in rows])


@pytest.mark.parametrize("mode", support.MODES)
@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("dtype", [tf.int32, tf.int64])
def test_ragged(dtype, merge, mode):
    for splits_dtype in (tf.int32, tf.int64):
        tokens = tf.ragged.constant(ROWS, dtype, row_splits_dtype=splits_dtype)

        def run(tokens):
            return tf_warpctc.ctc_align(tokens, blank_index=0, merge_repeated=merge)

        aligned = support.in_mode(mode, run, tokens)
        assert isinstance(aligned, tf.RaggedTensor)
        assert aligned.dtype == dtype and aligned.row_splits.dtype == splits_dtype
        assert aligned.to_list() == [oracles.align_row(row, 0, merge) for row in ROWS]


def test_nested_ragged_keeps_the_outer_rows():
    nested = [[[1, 1, 0], []], [], [[0, 2, 2], [3], [0]]]
    aligned = tf_warpctc.ctc_align(tf.ragged.constant(nested, tf.int64, ragged_rank=2))
    assert aligned.to_list() == [[[1], []], [], [[2], [3], []]]


def test_defaults():
    aligned, lengths = tf_warpctc.ctc_align([[1, 1, 0, 1], [0, 0, 2, 2]])
    np.testing.assert_array_equal(aligned, [[1, 1, 0, 0], [2, 0, 0, 0]])
    np.testing.assert_array_equal(lengths, [2, 1])


@pytest.mark.parametrize("shape", [[0, 0], [0, 3], [2, 0]])
def test_empty_dimensions(shape):
    aligned, lengths = tf_warpctc.ctc_align(tf.zeros(shape, tf.int32))
    assert aligned.shape == shape
    np.testing.assert_array_equal(lengths, np.zeros(shape[0]))
    ragged = tf.RaggedTensor.from_tensor(tf.zeros(shape, tf.int32))
    assert tf_warpctc.ctc_align(ragged).to_list() == [[]] * shape[0]


@pytest.mark.parametrize("mode", ["eager", "unknown_shapes"])
def test_length_out_of_range(mode):
    for row, value in [(0, -1), (1, 5), (1, 2**31 - 1)]:
        length = np.full(2, 4, np.int32)
        length[row] = value
        bound = "but tokens has width 4" if value > 0 else "expected a length of 0 or more"
        pattern = rf"length\[{row}\] is {value}[,:] {bound}"
        with pytest.raises(tf.errors.InvalidArgumentError, match=pattern):
            support.in_mode(
                mode, tf_warpctc.ctc_align, tf.ones([2, 4], tf.int32), tf.constant(length)
            )


@pytest.mark.parametrize("mode", ["eager", "unknown_shapes"])
@pytest.mark.parametrize(
    "splits",
    [
        [0, 5, 3, 6],
        [1, 3, 5, 6],
        [0, 3, 5, 7],
        [0, -3, 5, 6],
        [0, 2**63 - 1, -(2**63), -1, 6],  # rises only where differences wrap around
    ],
)
def test_bad_row_splits(splits, mode):
    def run(values, splits):
        tokens = tf.RaggedTensor.from_row_splits(values, splits, validate=False)
        return tf_warpctc.ctc_align(tokens)

    with pytest.raises(tf.errors.InvalidArgumentError, match="split"):
        support.in_mode(mode, run, tf.range(6), tf.constant(splits, tf.int64))


def test_static_shapes():
    def trace(tokens, length):
        function = tf.function(lambda tokens, length: tf_warpctc.ctc_align(tokens, length))
        specs = tf.TensorSpec(tokens, tf.int32), tf.TensorSpec(length, tf.int32)
        outputs = function.get_concrete_function(*specs).structured_outputs
        return [output.shape.as_list() for output in outputs]

    assert trace([4, 7], [4]) == [[4, 7], [4]]
    assert trace([None, 7], [4]) == [[4, 7], [4]]
    assert trace([4, None], [None]) == [[4, None], [4]]
    for tokens, length in [([4], [4]), ([4, 7, 1], [4]), ([4, 7], [5]), ([4, 7], [])]:
        with pytest.raises(ValueError, match=r"rank|[Dd]imension|[Ss]hape|rows|batch"):
            trace(tokens, length)


@hypothesis.given(
    rows=st.lists(st.lists(st.integers(-1, 3), max_size=12), min_size=1, max_size=6),
    blank=st.integers(-1, 3),
    merge=st.booleans(),
)
def test_any_rows(rows, blank, merge):
    expected = [oracles.align_row(row, blank, merge) for row in rows]
    ragged = tf_warpctc.ctc_align(
        tf.ragged.constant(rows, tf.int64, ragged_rank=1), None, blank, merge_repeated=merge
    )
    assert ragged.to_list() == expected
    tokens, length = padded_arguments(rows, np.int64)
    aligned, lengths = tf_warpctc.ctc_align(tokens, length, blank, merge_repeated=merge)
    got = [aligned[b, :n].numpy().tolist() for b, n in enumerate(lengths)]
    assert got == expected
