"""LabelErrorRate against a plain Levenshtein table: forms, streaming, weights, errors."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras_support import Batch, levenshtein, with_mask
from oracles import greedy_row

from tf_warpctc.keras import CTCTargets, LabelErrorRate


def best_path(frames, blank=0):
    """Tokens of the best class of each frame, by the oracle."""
    return [int(token) for token in greedy_row(np.asarray(frames, np.float64), blank).tokens]


def expected_counts(batch, all_frames=False):
    """Edit distances and label lengths of each row."""
    edits = []
    for b, frames in enumerate(batch.logits):
        live = len(frames) if all_frames else batch.logit_length[b]
        label = batch.labels[b, : batch.label_length[b]].tolist()
        edits.append(levenshtein(best_path(frames[:live], batch.blank), label))
    return np.array(edits), batch.label_length


def rate(y_true, y_pred, sample_weight=None, **options):
    metric = LabelErrorRate(**options)
    metric.update_state(y_true, y_pred, sample_weight)
    return float(metric.result())


LABEL_FORMS = {
    "padded with -1": lambda b: b.padded(-1),
    "padded with the blank": lambda b: b.padded(b.blank % b.logits.shape[-1]),
    "floats": lambda b: b.padded(-1).astype(np.float32),
    "ragged": lambda b: b.ragged(),
    "sparse": lambda b: b.ragged().to_sparse(),
    "dict": lambda b: {"labels": b.labels, "label_length": b.label_length},
    "CTCTargets": lambda b: CTCTargets(b.labels, b.label_length),
}


class TestLogits:
    @pytest.mark.parametrize("blank", [0, 2, -1])
    @pytest.mark.parametrize("form", LABEL_FORMS)
    def test_forms_with_a_mask(self, form, blank):
        batch = Batch(rows=8, blank=blank)
        edits, lengths = expected_counts(batch)
        assert edits.sum() != expected_counts(batch, all_frames=True)[0].sum()
        value = rate(
            LABEL_FORMS[form](batch), with_mask(batch.logits, batch.mask), blank_index=blank
        )
        assert value == pytest.approx(edits.sum() / lengths.sum(), rel=1e-6)

    def test_all_frames_without_a_mask(self):
        batch = Batch(rows=8)
        edits, lengths = expected_counts(batch, all_frames=True)
        assert rate(batch.padded(-1), batch.logits) == pytest.approx(edits.sum() / lengths.sum())

    def test_explicit_lengths_go_before_the_mask(self):
        batch = Batch(rows=8)
        edits, lengths = expected_counts(batch)
        y_pred = with_mask(batch.logits, np.ones(batch.mask.shape, bool))
        y_true = (batch.labels, batch.label_length, batch.logit_length)
        assert rate(y_true, y_pred) == pytest.approx(edits.sum() / lengths.sum())

    def test_ragged_logits(self):
        batch = Batch(rows=8)
        edits, lengths = expected_counts(batch)
        logits = tf.RaggedTensor.from_tensor(batch.logits, lengths=batch.logit_length)
        assert rate(batch.padded(-1), logits) == pytest.approx(edits.sum() / lengths.sum())

    @pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
    def test_dtypes(self, dtype):
        batch = Batch(rows=8, dtype=dtype)
        edits, lengths = expected_counts(batch)
        value = rate(batch.padded(-1), with_mask(batch.logits, batch.mask))
        assert value == pytest.approx(edits.sum() / lengths.sum())

    def test_inside_a_function(self):
        batch = Batch(rows=8)
        edits, lengths = expected_counts(batch)
        metric = LabelErrorRate()

        @tf.function(
            input_signature=[tf.TensorSpec([None, None, 5]), tf.TensorSpec([None, None], tf.int64)]
        )
        def update(logits, labels):
            logits._keras_mask = tf.constant(batch.mask)
            metric.update_state(labels, logits)

        update(batch.logits, batch.padded(-1))
        update(batch.logits, batch.padded(-1))
        assert metric.edits.numpy() == 2 * edits.sum()
        assert float(metric.result()) == pytest.approx(edits.sum() / lengths.sum())

    def test_bad_mask_raises(self):
        batch = Batch()
        mask = np.ones(batch.mask.shape, bool)
        mask[1, 0] = False
        with pytest.raises(tf.errors.InvalidArgumentError, match="right padding"):
            rate(batch.padded(-1), with_mask(batch.logits, mask))


class TestTokens:
    truth = [[1, 2, 3], [4, 4], [], [2]]
    guess = [[1, 3], [4, 4, 4, 1], [1], [2]]  # distances 1, 2, 1, 0

    def padded(self, rows, value=-1, dtype=np.int64):
        width = max(map(len, rows)) + 1
        return np.array([row + [value] * (width - len(row)) for row in rows], dtype)

    @pytest.mark.parametrize("form", ["padded", "int32", "blank", "ragged", "sparse"])
    def test_forms(self, form):
        y_pred = {
            "padded": self.padded(self.guess),
            "int32": tf.constant(self.padded(self.guess, dtype=np.int32)),
            "blank": self.padded(self.guess, 0),
            "ragged": tf.ragged.constant(self.guess, tf.int32),
            "sparse": tf.ragged.constant(self.guess, tf.int64).to_sparse(),
        }[form]
        assert rate(self.padded(self.truth), y_pred) == pytest.approx(4 / 6)

    def test_random_rows(self):
        rng = np.random.default_rng(5)
        edits = labels = 0
        metric = LabelErrorRate()
        for _ in range(5):
            truth, guess = (
                [rng.integers(1, 4, rng.integers(0, 9)).tolist() for _ in range(7)]
                for _ in range(2)
            )
            edits += sum(map(levenshtein, truth, guess))
            labels += sum(map(len, truth))
            metric.update_state(self.padded(truth), self.padded(guess))
            assert float(metric.result()) == pytest.approx(edits / labels, rel=1e-6)
        assert edits > 0

    def test_large_ids_survive_half_precision(self):
        truth = np.array([[2049, 3001]])
        assert rate(truth, np.array([[2049, 3001]]), dtype="float16") == 0
        assert rate(truth, np.array([[2048, 3001]]), dtype="float16") == 0.5

    def test_no_tokens_at_all(self):
        assert rate(self.padded([[1, 2], [3]]), np.full((2, 4), -1)) == 1
        assert rate(self.padded([[1, 2], [3]]), np.zeros((2, 0), np.int64)) == 1

    def test_blank_counted_from_the_end_needs_logits(self):
        with pytest.raises(ValueError, match="`blank_index` must be counted from 0.*-1"):
            rate([[1]], np.array([[1]]), blank_index=-1)

    @pytest.mark.parametrize(
        ("y_true", "y_pred", "message"),
        [
            ([[1, -1, 2]], [[1]], r"`y_true` must hold neither negative ids nor the blank.*\[-1\]"),
            ([[1]], [[1, 0, 2]], r"`y_pred` must hold neither negative ids nor the blank.*\[0\]"),
            (([[1]], [2]), [[1]], r"`y_true`: each length must lie in 0..U. .* 1 \[2\]"),
            (tf.SparseTensor([[0, 1]], [1], [1, 2]), [[1]], "right-ragged"),
            ([[1]], [[1], [2]], "`y_true` and `y_pred` must have the same number of rows.* 1 2"),
        ],
    )
    def test_bad_values(self, y_true, y_pred, message):
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            rate(y_true, y_pred)

    def test_bad_shapes_and_dtypes(self):
        with pytest.raises(ValueError, match=r"`y_pred` as tokens must have shape \[B,T\].*\(1,\)"):
            rate([[1]], np.array([1]))
        with pytest.raises(ValueError, match=r"`y_pred` must be logits.*\(1, 1\)"):
            rate([[1]], np.array([[1.0]]))
        with pytest.raises(TypeError, match="`y_pred`.*bool"):
            rate([[1]], np.array([[True]]))
        with pytest.raises(TypeError, match="`y_pred` is a symbolic KerasTensor"):
            rate([[1]], keras.Input([None, 4]))


class TestStreaming:
    def test_sums_over_batches_and_not_a_mean_of_rates(self):
        metric = LabelErrorRate()
        metric.update_state([[1, 2, 3, 4, 5, 6, 7, 8]], np.array([[1, 2, 3, 4, 5, 6, 7, 8]]))
        metric.update_state([[1, 2]], np.array([[2, 1]]))
        assert float(metric.result()) == pytest.approx(2 / 10)

    def test_reset(self):
        metric = LabelErrorRate()
        metric.update_state([[1, 2]], np.array([[3, -1]]))
        assert float(metric.result()) == 1
        metric.reset_state()
        assert float(metric.result()) == 0
        metric.update_state([[1, 2]], np.array([[1, -1]]))
        assert float(metric.result()) == 0.5

    def test_no_labels_give_zero(self):
        metric = LabelErrorRate()
        assert float(metric.result()) == 0
        metric.update_state([[-1]], np.array([[3]]))
        assert float(metric.result()) == 0
        metric.update_state([[1, 2]], np.array([[1, 2]]))
        assert float(metric.result()) == 0.5  # the token too many counts once there is a label

    @pytest.mark.parametrize("shape", [(3,), (3, 1)])
    def test_weights(self, shape):
        weights = np.array([2.0, 0.0, 0.5]).reshape(shape)
        y_true, y_pred = [[1, 2], [3, 4], [5, -1]], np.array([[1, -1], [9, 9], [6, 7]])
        assert rate(y_true, y_pred, weights) == pytest.approx((2 * 1 + 0.5 * 2) / (2 * 2 + 0.5))

    def test_weights_of_zero_leave_no_labels(self):
        assert rate([[1, 2]], np.array([[3]]), [0.0]) == 0

    def test_weights_of_other_shapes_raise(self):
        with pytest.raises(ValueError, match=r"`sample_weight`.*\(2,\)"):
            rate([[1, 2]], np.array([[3]]), [1.0, 1.0])

    def test_counts_stay_exact_past_float32(self):
        metric = LabelErrorRate()
        metric.edits.assign(2.0**24)
        metric.labels.assign(2.0**25)
        metric.update_state([[1, 2]], np.array([[3, 2]]))
        assert metric.edits.numpy() == 2**24 + 1
        assert metric.labels.numpy() == 2**25 + 2


@pytest.mark.parametrize("options", [{}, {"blank_index": 3, "name": "wer", "dtype": "float64"}])
def test_config_round_trip(options):
    metric = LabelErrorRate(**options)
    for twin in (
        LabelErrorRate.from_config(metric.get_config()),
        keras.metrics.deserialize(keras.metrics.serialize(metric)),
    ):
        assert isinstance(twin, LabelErrorRate)
        assert twin.get_config() == metric.get_config()
        for key, value in options.items():
            assert twin.get_config()[key] == value
    assert metric.result().dtype == options.get("dtype", "float32")


@pytest.mark.parametrize("indices", [[[0, 0], [2**40, 0]], [[0, 0], [1, 1]], [[1, 0], [0, 0]]])
@pytest.mark.parametrize("graph", [False, True])
def test_sparse_labels_that_are_no_rows(indices, graph):
    """An index outside the shape, a gap, rows out of order: an error, in a graph as well."""

    def rate(indices):
        labels = tf.SparseTensor(indices, tf.constant([1, 2], tf.int64), [4, 3])
        metric.update_state(labels, tf.zeros([4, 5, 6]))

    metric = LabelErrorRate()
    call = tf.function(rate) if graph else rate
    with pytest.raises(tf.errors.InvalidArgumentError, match="of the SparseTensor"):
        call(tf.constant(indices, tf.int64))
