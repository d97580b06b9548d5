"""Greedy decoding equals the oracle: one body over dtype, layout and mode, all fields at once."""

import itertools

import hypothesis
import numpy as np
import pytest
import support
import tensorflow as tf
from decoding import assert_faces_agree, assert_matches_oracle, decode
from hypothesis import strategies as st

import tf_warpctc


def rows_of(seed=41, num_classes=5, scale=2.0):
    """Rows of many lengths, with long runs of one class, ties, and no frames at all."""
    rng = np.random.default_rng(seed)
    rows = [rng.normal(0.0, scale, (n, num_classes)) for n in (9, 0, 1, 33, 64, 5)]
    rows.append(np.repeat(rng.normal(0.0, scale, (7, num_classes)), 4, axis=0))  # runs
    rows.append(np.zeros((6, num_classes)))  # every class ties
    rows.append(rng.integers(-1, 2, (40, num_classes)).astype(np.float64))  # many ties
    rows.append(np.eye(num_classes)[[0, 0, 1, 1, 0, 1, 2, 2, 0, 0]])
    return rows


@pytest.mark.parametrize("mode", support.MODES)
@pytest.mark.parametrize("layout", support.LAYOUTS)
@pytest.mark.parametrize("dtype", support.DTYPES)
def test_matches_oracle(dtype, layout, mode):
    frames = rows_of()
    for blank, merge in [(0, True), (2, True), (-1, True), (0, False), (4, False)]:
        decoding = decode(frames, layout, dtype, mode, blank_index=blank, merge_repeated=merge)
        assert_matches_oracle(decoding, frames, dtype, blank, merge)


@pytest.mark.parametrize("layout", support.LAYOUTS)
@pytest.mark.parametrize("merge", [True, False])
def test_sparse_and_ragged_faces(layout, merge):
    frames = rows_of()
    for blank in (0, 2, -1):
        decoding = decode(frames, layout, "float32", blank_index=blank, merge_repeated=merge)
        assert_faces_agree(decoding, frames, "float32", blank, merge)


@pytest.mark.parametrize("layout", support.LAYOUTS)
def test_faces_inside_a_function(layout):
    frames = rows_of()
    values, lengths = support.logit_arguments(
        support.Batch(frames, [[]] * len(frames)), layout, "float32"
    )

    @tf.function
    def faces(values, lengths):
        if layout == "packed":
            logits, lengths = tf.RaggedTensor.from_row_splits(values, lengths), None
        else:
            logits = values
        decoding = tf_warpctc.ctc_greedy_decode(
            logits, lengths, logits_time_major=layout == "time_major"
        )
        return decoding.to_ragged(), tf.sparse.to_dense(decoding.to_sparse(), -1)

    ragged, dense = faces(values, lengths)
    eager = decode(frames, layout, "float32")
    assert ragged.to_list() == eager.to_ragged().to_list()
    np.testing.assert_array_equal(dense, eager.to_ragged().to_tensor(-1))


@pytest.mark.parametrize("layout", support.LAYOUTS)
@pytest.mark.parametrize("field", tf_warpctc.GreedyDecoding._fields)
def test_one_field_alone(field, layout):
    """A graph that uses one field computes that one alone, and the same."""
    frames = rows_of()
    values, lengths = support.logit_arguments(
        support.Batch(frames, [[]] * len(frames)), layout, "float32"
    )

    @tf.function
    def alone(values, lengths):
        logits = values
        if layout == "packed":
            logits, lengths = tf.RaggedTensor.from_row_splits(values, lengths), None
        decoding = tf_warpctc.ctc_greedy_decode(
            logits, lengths, logits_time_major=layout == "time_major"
        )
        return getattr(decoding, field)

    expected = getattr(decode(frames, layout, "float32"), field)
    for found, wanted in zip(
        tf.nest.flatten(alone(values, lengths), expand_composites=True),
        tf.nest.flatten(expected, expand_composites=True),
        strict=True,
    ):
        np.testing.assert_array_equal(found, wanted)


def test_ragged_tokens_carry_their_spans():
    """Ragged in, ragged out: spans and probabilities have the row splits of the tokens."""
    decoding = decode(rows_of(), "packed", "float32")
    assert decoding.to_ragged() is decoding.tokens
    np.testing.assert_array_equal(decoding.tokens.row_lengths(), decoding.lengths)
    for field in (decoding.start_frames, decoding.end_frames, decoding.log_probability):
        np.testing.assert_array_equal(field.row_splits, decoding.tokens.row_splits)


@pytest.mark.parametrize("num_classes", [1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 129, 1000])
def test_class_counts(num_classes):
    """V around the vector widths of the argmax; the best class in every place."""
    rng = np.random.default_rng(num_classes)
    best = np.concatenate([np.arange(num_classes), rng.integers(0, num_classes, 20)])
    frames = [rng.normal(0.0, 1.0, (len(best), num_classes)) + 9.0 * np.eye(num_classes)[best]]
    frames.append(rng.integers(0, 2, (30, num_classes)).astype(np.float64))
    for dtype, layout in itertools.product(support.DTYPES, support.LAYOUTS):
        decoding = decode(frames, layout, dtype, blank_index=num_classes // 2)
        assert_matches_oracle(decoding, frames, dtype, num_classes // 2)


@pytest.mark.parametrize("token_dtype", [tf.int32, tf.int64])
@pytest.mark.parametrize("padding", [-1, 0, 77])
def test_padding_value_and_dtype(padding, token_dtype):
    frames = rows_of()
    for layout in support.LAYOUTS:
        decoding = decode(frames, layout, "float32", padding_value=padding, dtype=token_dtype)
        assert_matches_oracle(
            decoding, frames, "float32", 0, padding=padding, token_dtype=token_dtype
        )


def test_default_arguments():
    """Batch-major, all frames live, blank 0, repeats merged, padded with -1."""
    logits = np.eye(3)[[[1, 1, 0, 2], [0, 2, 2, 2]]].astype(np.float32)
    decoding = tf_warpctc.ctc_greedy_decode(logits)
    np.testing.assert_array_equal(decoding.tokens, [[1, 2, -1, -1], [2, -1, -1, -1]])
    np.testing.assert_array_equal(decoding.lengths, [2, 1])
    np.testing.assert_array_equal(decoding.score, [-4.0, -4.0])
    np.testing.assert_array_equal(decoding.start_frames, [[0, 3, -1, -1], [1, -1, -1, -1]])
    np.testing.assert_array_equal(decoding.end_frames, [[2, 4, -1, -1], [4, -1, -1, -1]])
    assert decoding._fields[:3] == ("tokens", "lengths", "score")


@pytest.mark.parametrize("layout", support.LAYOUTS)
@pytest.mark.parametrize("dtype", support.DTYPES)
def test_nan_and_infinite_frames(dtype, layout):
    """NaN never wins; it makes the row's score NaN. A frame without a number is class 0."""
    nan, inf = np.nan, np.inf
    clean = np.eye(4)[[1, 1, 2, 0, 3, 3]]
    with_nan = clean.copy()
    with_nan[1, 3] = with_nan[2, 0] = nan  # classes 1 and 2 still win
    only_nan = clean.copy()
    only_nan[2] = nan
    only_minus_inf = clean.copy()
    only_minus_inf[4] = -inf
    with_inf = clean.copy()
    with_inf[3, 2] = -inf
    last_nan = clean.copy()
    last_nan[5, :3] = nan
    frames = [clean, with_nan, only_nan, only_minus_inf, with_inf, last_nan]
    for blank in (0, 1):
        decoding = decode(frames, layout, dtype, blank_index=blank)
        expected = {
            0: [[1, 2, 3], [1, 2, 3], [1, 3], [1, 2, 3], [1, 2, 3], [1, 2, 3]],
            1: [[2, 0, 3], [2, 0, 3], [0, 3], [2, 0, 3], [2, 0, 3], [2, 0, 3]],
        }[blank]
        assert decoding.to_ragged().to_list() == expected
        score = decoding.score.numpy()
        np.testing.assert_array_equal(np.isnan(score), [0, 1, 1, 0, 0, 1])
        np.testing.assert_array_equal(score[[0, 3, 4]], [-6.0, inf, -6.0])
        rows = [support.round_to(frames[b], dtype) for b in (0, 4)]
        kept = type(decoding)(*[tf.gather(part, [0, 4]) for part in decoding])
        assert_matches_oracle(kept, rows, dtype, blank)


@pytest.mark.parametrize("mode", support.MODES)
def test_empty_dimensions(mode):
    for num_rows, num_frames in [(0, 0), (0, 3), (2, 0)]:

        def run(logits):
            decoding = tf_warpctc.ctc_greedy_decode(logits)
            return tuple(decoding) + (decoding.to_ragged(), decoding.to_sparse())

        *parts, ragged, sparse = support.in_mode(mode, run, tf.zeros([num_rows, num_frames, 4]))
        for part in parts:
            assert part.shape in ([num_rows, num_frames], [num_rows])
        np.testing.assert_array_equal(parts[2], np.zeros(num_rows))
        assert ragged.to_list() == [[]] * num_rows
        np.testing.assert_array_equal(sparse.dense_shape, [num_rows, 0])


def test_long_rows():
    rng = np.random.default_rng(43)
    frames = [rng.normal(0.0, 2.0, (n, 6)) for n in (5000, 3, 4096)]
    for layout in support.LAYOUTS:
        assert_matches_oracle(decode(frames, layout, "float32"), frames, "float32", 0)


@hypothesis.given(
    seed=st.integers(0, 2**32 - 1),
    lengths=st.lists(st.integers(0, 12), min_size=1, max_size=5),
    num_classes=st.integers(1, 6),
    levels=st.integers(1, 4),
    layout=st.sampled_from(support.LAYOUTS),
    dtype=st.sampled_from(support.DTYPES),
    merge=st.booleans(),
    blank=st.integers(0, 5),
)
def test_any_batch(seed, lengths, num_classes, levels, layout, dtype, merge, blank):
    """Few levels of logits, so that ties and runs are everywhere."""
    rng = np.random.default_rng(seed)
    frames = [rng.integers(0, levels, (n, num_classes)).astype(np.float64) for n in lengths]
    blank %= num_classes
    decoding = decode(frames, layout, dtype, blank_index=blank, merge_repeated=merge)
    assert_matches_oracle(decoding, frames, dtype, blank, merge)
    assert_faces_agree(decoding, frames, dtype, blank, merge)
