"""tf_warpctc.sequence against nested lists, and against Paddle's own rules for a LoD."""

import hypothesis
import nesting
import numpy as np
import pytest
import support
import tensorflow as tf
from hypothesis import strategies as st

from tf_warpctc import sequence

InvalidArgument = tf.errors.InvalidArgumentError


def offsets(lengths):
    return [0, *np.cumsum(lengths).tolist()]


@st.composite
def all_lengths(draw):
    """Lengths of 1 to 4 levels, the last of which counts values."""
    return draw(nesting.outer_lengths(max_depth=4))


def values_of(levels):
    return np.arange(nesting.num_rows(levels) * 2).reshape(-1, 2)


@hypothesis.given(levels=all_lengths(), dtype=st.sampled_from(nesting.SPLITS))
def test_lod_and_lengths_and_back(levels, dtype):
    values = values_of(levels)
    expected = nesting.grouped(levels, values.tolist())
    lod = [tf.constant(offsets(level), dtype) for level in levels]
    lengths = [tf.constant(level, dtype) for level in levels]
    for x in (sequence.from_lod(values, lod), sequence.from_lengths(values, lengths)):
        assert x.to_list() == expected
        assert x.ragged_rank == len(levels) and x.row_splits.dtype == dtype
        back, found = sequence.to_lod(x)
        np.testing.assert_array_equal(back, values)
        assert [level.numpy().tolist() for level in found] == [offsets(level) for level in levels]
        back, found = sequence.to_lengths(x)
        np.testing.assert_array_equal(back, values)
        assert [level.numpy().tolist() for level in found] == levels


def test_plain_lists_and_mixed_types():
    x = sequence.from_lod([1.0, 2.0], [[0, 2]])
    assert x.row_splits.dtype == tf.int64 and x.to_list() == [[1.0, 2.0]]
    mixed = [tf.constant([0, 1], tf.int32), tf.constant([0, 2], tf.int64)]
    assert sequence.from_lod([1.0, 2.0], mixed).row_splits.dtype == tf.int64
    assert sequence.from_lengths(np.zeros([0, 3]), [[]]).shape == [0, None, 3]
    assert sequence.from_lengths(np.arange(3), [np.array([1, 2])]).to_list() == [[0], [1, 2]]


@pytest.mark.parametrize("mode", support.MODES)
@pytest.mark.parametrize(
    ("lod", "message"),
    [
        ([[1, 3]], "level 0: must start at 0.*1 3"),
        ([[0, 2, 1, 3]], "level 0: offsets must not descend.*0 2 1 3"),
        ([[0, 2]], "level 0: must end at the number of rows below.*3.*0 2"),
        ([[0, 4]], "level 0: must end at the number of rows below.*3.*0 4"),
        ([[]], "level 0: must hold at least the offset 0"),
        ([[0, 1], [0, 2]], "level 1: must end at the number of rows below.*3.*0 2"),
        ([[0, 1], [0, 1, 3]], "level 0: must end at the number of rows below.*2.*0 1"),
        ([[0, 2], [-1, 1, 3]], "level 1: must start at 0"),
        ([[0, 2], [0, 4, 3]], "level 1: offsets must not descend"),
    ],
)
def test_bad_lods_say_what_is_wrong(lod, message, mode):
    levels = [tf.constant(level, tf.int64) for level in lod]

    def run(values, *levels):
        return sequence.from_lod(values, list(levels))

    with pytest.raises((ValueError, InvalidArgument), match=f"(?s){message}"):
        support.in_mode(mode, run, tf.range(3), *levels)


def test_bad_lengths():
    with pytest.raises(InvalidArgument, match=r"lengths, level 0: .*negative.*-1"):
        sequence.from_lengths(tf.range(3), [[4, -1]])
    with pytest.raises(InvalidArgument, match=r"(?s)level 0: must end.*3.*0 2"):
        sequence.from_lengths(tf.range(3), [[2]])
    with pytest.raises(ValueError, match="list of one or more levels"):
        sequence.from_lengths(tf.range(3), [])
    with pytest.raises(ValueError, match="list of one or more levels"):
        sequence.from_lod(tf.range(3), tf.constant([0, 3]))
    with pytest.raises(ValueError, match="level 0: must be a vector"):
        sequence.from_lod(tf.range(3), [tf.constant([[0, 3]])])
    with pytest.raises(TypeError, match="level 0: must be int32 or int64.*float32"):
        sequence.from_lod(tf.range(3), [tf.constant([0.0, 3.0])])


def join(nested, levels):
    """Nested lists with `levels` levels taken out from the inside of each entry."""
    for _ in range(levels):
        nested = [entry for part in nested for entry in part]
    return nested


@hypothesis.given(levels=all_lengths(), data=st.data())
def test_slice_levels(levels, data):
    begin = data.draw(st.integers(0, len(levels) - 1))
    end = data.draw(st.integers(begin + 1, len(levels)))
    values = values_of(levels).tolist()
    x = sequence.from_lengths(np.reshape(values, (-1, 2)), levels)
    # From the inside: what each row of the last level kept holds, then the levels around it.
    rows = [join(row, len(levels) - end) for row in nesting.grouped(levels[end - 1 :], values)]
    expected = nesting.grouped(levels[begin : end - 1], rows)
    sliced = sequence.slice_levels(x, begin, end)
    assert sliced.ragged_rank == end - begin
    assert sliced.to_list() == expected
    np.testing.assert_array_equal(sliced.flat_values, x.flat_values)


@hypothesis.given(levels=all_lengths(), data=st.data(), mode=st.sampled_from(support.MODES))
def test_slice_in_level(levels, data, mode):
    level = data.draw(st.integers(0, len(levels) - 1))
    begin = data.draw(st.integers(0, len(levels[level])))
    end = data.draw(st.integers(begin, len(levels[level])))
    values = values_of(levels)
    x = sequence.from_lengths(values, levels)

    def run(x, begin, end):
        return sequence.slice_in_level(x, level, begin, end)

    sliced = support.in_mode(mode, run, x, tf.constant(begin), tf.constant(end))
    assert sliced.ragged_rank == len(levels) - level
    assert sliced.to_list() == nesting.grouped(levels[level:], values.tolist())[begin:end]
    assert all(splits[0] == 0 for splits in sliced.nested_row_splits)


def test_paddles_own_example():
    """The LoD of three levels in the comments of Paddle's lod_tensor.h."""
    lod = [[0, 2, 3], [0, 2, 4, 7], [0, 2, 5, 7, 10, 12, 15, 20]]
    x = sequence.from_lod(tf.range(20), lod)
    _, joined = sequence.to_lod(sequence.slice_levels(x, 0, 2))
    assert [level.numpy().tolist() for level in joined] == [[0, 2, 3], [0, 5, 10, 20]]
    values, part = sequence.to_lod(sequence.slice_in_level(x, 0, 1, 2))
    assert [level.numpy().tolist() for level in part] == [[0, 1], [0, 3], [0, 2, 5, 10]]
    assert values.numpy().tolist() == list(range(10, 20))


def test_bad_slices():
    x = sequence.from_lod(tf.range(3), [[0, 1, 2], [0, 1, 3]])
    for begin, end in [(0, 0), (1, 1), (-1, 1), (0, 3), (2, 1)]:
        with pytest.raises(ValueError, match=f"begin < end <= 2.*received {begin} and {end}"):
            sequence.slice_levels(x, begin, end)
    for level in (-1, 2):
        with pytest.raises(ValueError, match=rf"level must be in \[0, 2\).*{level}"):
            sequence.slice_in_level(x, level, 0, 1)
    for begin, end in [(-1, 1), (1, 0), (0, 3)]:
        with pytest.raises(InvalidArgument, match=f"{begin} {end} 2"):
            sequence.slice_in_level(x, 0, begin, end)
    for function in (sequence.to_lod, sequence.to_lengths, sequence.to_padded):
        with pytest.raises(ValueError, match="x must be a RaggedTensor"):
            function(tf.zeros([2, 3]))


@hypothesis.given(levels=all_lengths(), dtype=st.sampled_from(nesting.SPLITS))
def test_padding_and_back(levels, dtype):
    values = values_of(levels)
    x = sequence.from_lengths(values, [tf.constant(level, dtype) for level in levels])
    padded, lengths = sequence.to_padded(x, -1)
    flat = padded.flat_values if len(levels) > 1 else padded
    flat_lengths = lengths.flat_values if len(levels) > 1 else lengths
    assert flat_lengths.dtype == dtype
    np.testing.assert_array_equal(flat_lengths, levels[-1])
    assert flat.shape == [len(levels[-1]), max(levels[-1], default=0), 2]
    for row, length in zip(flat.numpy(), levels[-1], strict=True):
        assert (row[length:] == -1).all()
    back = sequence.from_padded(padded, lengths)
    assert back.to_list() == x.to_list()


def test_bad_padding():
    with pytest.raises(InvalidArgument, match=r"in \[0, T\].*2 \[3 0\]"):
        sequence.from_padded(tf.zeros([2, 2]), [3, 0])
    with pytest.raises(InvalidArgument, match=r"in \[0, T\].*2 \[ ?1 -1\]"):
        sequence.from_padded(tf.zeros([2, 2]), [1, -1])
    with pytest.raises(InvalidArgument, match="same number of rows.*1 2"):
        sequence.from_padded(tf.zeros([2, 2]), [1])
    nested = tf.RaggedTensor.from_row_splits(tf.zeros([2, 2]), [0, 2])
    with pytest.raises(ValueError, match="lengths must be a RaggedTensor"):
        sequence.from_padded(nested, [1, 1])
    other = tf.RaggedTensor.from_row_splits([1, 1], [0, 1, 2])
    with pytest.raises(InvalidArgument, match="lengths and values, level 0.*rows.*2.*1"):
        sequence.from_padded(nested, other)
