"""Nested ragged sequences: the rows' own bits under the structure that came in."""

import typing

import hypothesis
import nesting
import numpy as np
import pytest
import support
import tensorflow as tf
from hypothesis import strategies as st

import tf_warpctc

V = 5


def random_rows(rng, count, dtype):
    """Frames [T, V] and labels that fit into them, some empty, of `count` rows."""
    frames, labels = [], []
    for _ in range(count):
        length = int(rng.integers(0, 9))
        frames.append(rng.normal(0.0, 2.0, (length, V)).astype(support.NUMPY_DTYPES[dtype]))
        labels.append(rng.integers(1, V, int(rng.integers(0, length // 2 + 1))).astype(np.int32))
    return frames, labels


def nested_logits(levels, frames, splits="int64", dtype=np.float32):
    return nesting.ragged(levels, frames, np.zeros([0, V], dtype), splits)


def nested_labels(levels, labels, splits="int64"):
    return nesting.ragged(levels, labels, np.zeros([0], np.int32), splits)


class Rows(typing.NamedTuple):
    """Rows at random, and the outer levels over them."""

    levels: list
    frames: list
    labels: list
    logits: tf.RaggedTensor
    splits: str


@st.composite
def nested_rows(draw, dtypes=("float32",)):
    levels = draw(nesting.outer_lengths())
    dtype = draw(st.sampled_from(dtypes))
    splits = draw(st.sampled_from(nesting.SPLITS))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    frames, labels = random_rows(rng, nesting.num_rows(levels), dtype)
    logits = nested_logits(levels, frames, splits, support.NUMPY_DTYPES[dtype])
    return Rows(levels, frames, labels, logits, splits)


def padded(frames, labels):
    """The same rows as one padded batch."""
    batch = support.Batch([np.asarray(f, np.float64) for f in frames], labels)
    values = np.zeros((len(frames), max(map(len, frames)), V), frames[0].dtype)
    for b, row in enumerate(frames):
        values[b, : len(row)] = row
    labels, label_length = support.label_arguments(batch, "dense", "int32")
    return tf.constant(values), labels, label_length, batch.logit_length


def assert_outer_splits(result, logits, levels):
    """The outer row splits of the logits, untouched, on a result with an entry for each row."""
    kept = result.nested_row_splits[:levels]
    for found, given in zip(kept, logits.nested_row_splits[:levels], strict=True):
        assert found.dtype == given.dtype
        np.testing.assert_array_equal(found, given)


@hypothesis.given(
    rows=nested_rows(support.DTYPES),
    label_splits=st.sampled_from(nesting.SPLITS),
    mode=st.sampled_from(support.MODES),
)
@hypothesis.settings(max_examples=40)
def test_loss_and_gradient_are_the_rows_own(rows, label_splits, mode):
    """Bit for bit those of one padded batch of all rows, at any depth, with empty rows anywhere."""
    levels, frames, labels, logits, _ = rows
    ids = nested_labels(levels, labels, label_splits)

    def run(logits, ids):
        flat = logits.flat_values
        with tf.GradientTape() as tape:
            tape.watch(flat)
            loss = tf_warpctc.ctc_loss(ids, logits.with_flat_values(flat), None, None)
            total = tf.reduce_sum(loss.flat_values)
        return loss, tape.gradient(total, flat)

    loss, gradient = support.in_mode(mode, run, logits, ids)
    assert loss.ragged_rank == len(levels)
    assert_outer_splits(loss, logits, len(levels))
    assert gradient.shape == logits.flat_values.shape and gradient.dtype == logits.dtype
    if not frames:
        assert loss.flat_values.shape == [0]
        return
    values, dense_ids, label_length, logit_length = padded(frames, labels)
    with tf.GradientTape() as tape:
        tape.watch(values)
        expected = tf_warpctc.ctc_loss(dense_ids, values, label_length, logit_length, False)
    np.testing.assert_array_equal(loss.flat_values, expected)
    assert loss.to_list() == nesting.grouped(levels, expected.numpy().tolist())
    wanted = tape.gradient(expected, values).numpy()
    wanted = np.concatenate([row[:n] for row, n in zip(wanted, logit_length, strict=True)])
    np.testing.assert_array_equal(gradient, wanted)


@pytest.mark.parametrize("splits", nesting.SPLITS)
def test_gradient_is_the_central_difference(splits):
    """With respect to the flat values of two levels, an empty row and a zero weight among them."""
    levels = [[2, 0, 2]]
    frames, labels = random_rows(np.random.default_rng(3), 4, "float64")
    frames[1], labels[1] = frames[1][:0], labels[1][:0]
    logits = nested_logits(levels, frames, splits, np.float64)
    weights = tf.constant([0.5, 2.0, 0.0, -3.0], tf.float64)

    def total(flat):
        loss = tf_warpctc.ctc_loss(
            nested_labels(levels, labels, splits), logits.with_flat_values(flat), None, None
        )
        return tf.reduce_sum(loss.flat_values * weights)

    (analytic,), (numeric,) = tf.test.compute_gradient(total, [logits.flat_values], delta=1e-5)
    assert np.abs(analytic).max() > 0.1
    np.testing.assert_allclose(analytic, numeric, rtol=0, atol=1e-8)


@hypothesis.given(
    rows=nested_rows(),
    mode=st.sampled_from(support.MODES),
    merge=st.booleans(),
    token_dtype=st.sampled_from([tf.int32, tf.int64]),
)
@hypothesis.settings(max_examples=40)
def test_greedy_decoding_is_the_rows_own(rows, mode, merge, token_dtype):
    """Every field, bit for bit, and never a token where there is none."""
    levels, frames, labels, logits, _ = rows

    def run(logits):
        return tf_warpctc.ctc_greedy_decode(
            logits, blank_index=2, merge_repeated=merge, dtype=token_dtype
        )

    decoded = support.in_mode(mode, run, logits)
    per_token = ("tokens", "start_frames", "end_frames", "log_probability")
    for name, field in decoded._asdict().items():
        assert field.ragged_rank == len(levels) + (name in per_token)
        assert_outer_splits(field, logits, len(levels))
    assert decoded.tokens.dtype == token_dtype
    if not frames:
        assert decoded.tokens.flat_values.shape == [0]
        return
    values, _, _, logit_length = padded(frames, labels)
    expected = tf_warpctc.ctc_greedy_decode(values, logit_length, 2, merge_repeated=merge)
    lengths = expected.lengths.numpy()
    for name, field in decoded._asdict().items():
        wanted = getattr(expected, name).numpy()
        if name in per_token:
            wanted = [row[:n].tolist() for row, n in zip(wanted, lengths, strict=True)]
        else:
            wanted = wanted.tolist()
        assert field.to_list() == nesting.grouped(levels, wanted), name
    assert decoded.to_ragged() is decoded.tokens
    sparse = decoded.to_sparse()
    assert sparse.values.dtype == tf.int64
    np.testing.assert_array_equal(sparse.values, decoded.tokens.flat_values)


@hypothesis.given(
    seed=st.integers(0, 2**32 - 1),
    levels=nesting.outer_lengths(),
    splits=st.sampled_from(nesting.SPLITS),
    mode=st.sampled_from(support.MODES),
)
@hypothesis.settings(max_examples=40)
def test_align_is_the_rows_own(seed, levels, splits, mode):
    rng = np.random.default_rng(seed)
    rows = [rng.integers(0, 3, rng.integers(0, 8)) for _ in range(nesting.num_rows(levels))]
    tokens = nesting.ragged(levels, rows, np.zeros([0], np.int64), splits)
    aligned = support.in_mode(mode, tf_warpctc.ctc_align, tokens)
    assert_outer_splits(aligned, tokens, len(levels))
    expected = []
    for row in rows:
        padded_row, lengths = tf_warpctc.ctc_align(row[None])
        expected.append(padded_row[0, : int(lengths[0])].numpy().tolist())
    assert aligned.to_list() == nesting.grouped(levels, expected)


DOCUMENTS = [2, 1]  # lines of each


def documents(lengths=DOCUMENTS, frames=4):
    """Documents of lines of `frames` frames, and a label of one id for each line."""
    logits = nested_logits([lengths], [np.zeros([frames, V], np.float32)] * sum(lengths))
    return logits, nested_labels([lengths], [np.array([1], np.int32)] * sum(lengths))


@pytest.mark.parametrize("mode", support.MODES)
@pytest.mark.parametrize(
    ("lengths", "found"),
    [
        ([2, 1, 1], r"level 0.*number of rows.*3.*2"),
        ([1, 2], r"level 0.*\[0 1\].*\[1 2\].*\[2 1\]"),
        ([2, 0], r"level 0.*\[1\].*\[0\].*\[1\]"),
        ([], r"level 0.*number of rows.*0.*2"),
    ],
)
def test_other_structure_names_both_numbers(lengths, found, mode):
    logits, _ = documents()
    _, labels = documents(lengths)

    def run(labels, logits):
        return tf_warpctc.ctc_loss(labels, logits, None, None)

    with pytest.raises(tf.errors.InvalidArgumentError, match=f"(?s)labels and logits.*{found}"):
        support.in_mode(mode, run, labels, logits)


@pytest.mark.parametrize("mode", support.MODES)
def test_row_counts_of_one_level(mode):
    """Without an outer level the op compares the rows."""
    logits = tf.RaggedTensor.from_row_lengths(tf.zeros([6, V]), [2, 4])
    labels = tf.ragged.constant([[1], [2], [3]], tf.int32)

    def run(labels, logits):
        return tf_warpctc.ctc_loss(labels, logits, None, None)

    with pytest.raises(
        (ValueError, tf.errors.InvalidArgumentError), match=r"(?s)\b3\b.*\b2\b|2.*3"
    ):
        support.in_mode(mode, run, labels, logits)


def test_deeper_levels_are_compared():
    logits = nested_logits([[1, 1], [2, 1]], [np.zeros([4, V], np.float32)] * 3)
    labels = nested_labels([[1, 1], [1, 2]], [np.array([1], np.int32)] * 3)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"level 1.*\[0 1\].*\[1 2\].*\[2 1\]"):
        tf_warpctc.ctc_loss(labels, logits, None, None)


def test_static_faults():
    logits, labels = documents()
    with pytest.raises(ValueError, match="labels must be a RaggedTensor of 2 levels"):
        tf_warpctc.ctc_loss(tf.ones([3, 1], tf.int32), logits, [1, 1, 1], None)
    with pytest.raises(ValueError, match="same number of ragged levels, received 1.* and 2"):
        tf_warpctc.ctc_loss(labels.values, logits, None, None)
    with pytest.raises(ValueError, match="labels must have the form"):
        tf_warpctc.ctc_loss(labels, logits.values, None, None)
    with pytest.raises(ValueError, match="label_length must be None"):
        tf_warpctc.ctc_loss(labels, logits, [1, 1, 1], None)
    with pytest.raises(ValueError, match="logit_length must be None"):
        tf_warpctc.ctc_loss(labels, logits, None, [4, 4, 4])
    with pytest.raises(ValueError, match="logit_length must be None"):
        tf_warpctc.ctc_greedy_decode(logits, [4, 4, 4])
    equal_lines = tf.RaggedTensor.from_row_lengths(tf.zeros([3, 4, V]), DOCUMENTS)
    with pytest.raises(ValueError, match=r"logits must have the form \[B, \(T\), V\]"):
        tf_warpctc.ctc_greedy_decode(equal_lines)


def test_faults_in_a_row_are_named_by_the_row():
    """Rows are counted through all documents."""
    logits, _ = documents()
    labels = tf.ragged.constant([[[1], [2]], [[V]]], tf.int32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="2"):
        tf_warpctc.ctc_loss(labels, logits, None, None)


def test_options_reach_the_rows():
    logits, labels = documents(frames=0)  # no frame for a label
    assert tf_warpctc.ctc_loss(labels, logits, None, None).to_list() == [[np.inf, np.inf], [np.inf]]
    zero = tf_warpctc.ctc_loss(labels, logits, None, None, zero_infinity=True)
    assert zero.to_list() == [[0.0, 0.0], [0.0]]
    logits, labels = documents()
    last = tf_warpctc.ctc_loss(labels, logits, None, None, blank_index=-1)
    first = tf_warpctc.ctc_loss(labels, logits, None, None)
    np.testing.assert_array_equal(last.flat_values, first.flat_values)  # all classes are equal
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf_warpctc.ctc_loss(labels, logits, None, None, blank_index=1)


def test_uniform_dimensions_stay_uniform():
    """[D, 2, (T), V] has two lines in each document, which its type says."""
    lines = tf.RaggedTensor.from_row_lengths(tf.zeros([10, V]), [1, 2, 3, 4])
    logits = tf.RaggedTensor.from_uniform_row_length(lines, 2)
    assert tf_warpctc.ctc_greedy_decode(logits).tokens.shape == [2, 2, None]
    assert tf_warpctc.ctc_greedy_decode(logits).score.shape == [2, 2]
    labels = tf.RaggedTensor.from_uniform_row_length(tf.ragged.constant([[1]] * 4, tf.int32), 2)
    assert tf_warpctc.ctc_loss(labels, logits, None, None).shape == [2, 2]


class Reader(tf.Module):
    """Ragged signatures, rank 1 and nested."""

    @tf.function(input_signature=[tf.RaggedTensorSpec([None, None, None, V], ragged_rank=2)])
    def read(self, logits):
        return tf_warpctc.ctc_greedy_decode(logits)._asdict()

    @tf.function(
        input_signature=[
            tf.RaggedTensorSpec([None, None, None], tf.int32, ragged_rank=2),
            tf.RaggedTensorSpec([None, None, None, V], ragged_rank=2),
        ]
    )
    def loss(self, labels, logits):
        return tf_warpctc.ctc_loss(labels, logits, None, None)

    @tf.function(input_signature=[tf.RaggedTensorSpec([None, None], tf.int32, ragged_rank=1)])
    def align(self, tokens):
        return tf_warpctc.ctc_align(tokens)


def test_saved_model_with_ragged_signatures(tmp_path):
    rng = np.random.default_rng(5)
    frames, labels = random_rows(rng, 3, "float32")
    logits, ids = nested_logits([DOCUMENTS], frames), nested_labels([DOCUMENTS], labels)
    module = Reader()
    tf.saved_model.save(module, str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    for name, field in module.read(logits).items():
        assert loaded.read(logits)[name].to_list() == field.to_list(), name
    assert loaded.loss(ids, logits).to_list() == module.loss(ids, logits).to_list()
    tokens = tf.ragged.constant([[1, 1, 0, 2], [], [0]], tf.int32)
    assert loaded.align(tokens).to_list() == [[1, 2], [], []]


def test_all_empty():
    """No placeholder stands for what is empty."""
    for lengths in ([], [0], [0, 0]):
        logits = nested_logits([lengths], [])
        decoded = tf_warpctc.ctc_greedy_decode(logits)
        assert decoded.tokens.to_list() == decoded.score.to_list() == [[]] * len(lengths)
    logits = nested_logits([[2, 0]], [np.zeros([0, V], np.float32)] * 2)
    assert tf_warpctc.ctc_greedy_decode(logits).tokens.to_list() == [[[], []], []]
    empty_labels = nested_labels([[2, 0]], [np.zeros([0], np.int32)] * 2)
    assert tf_warpctc.ctc_loss(empty_labels, logits, None, None).to_list() == [[0.0, 0.0], []]
    assert tf_warpctc.ctc_align(empty_labels).to_list() == [[[], []], []]
