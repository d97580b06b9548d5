"""What CTCLoss gives: reductions, weights, dtypes, gradients, errors, configuration."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras_support import Batch, with_mask

from tf_warpctc.keras import CTCLoss

RTOL = {"float16": 1e-5, "bfloat16": 1e-5, "float32": 1e-5, "float64": 1e-11}


class TestReduction:
    weights = np.array([0.5, 2.0, 0.0, 3.0])

    def expected(self, losses, reduction, weights):
        weighted = losses if weights is None else losses * weights
        if reduction in (None, "none"):
            return weighted
        if reduction == "sum":
            return weighted.sum()
        if reduction == "mean_with_sample_weight" and weights is not None:
            return weighted.sum() / weights.sum()
        return weighted.mean()

    @pytest.mark.parametrize("weighted", ["no weights", "[B]", "[B,1]", "list"])
    @pytest.mark.parametrize(
        "reduction",
        [None, "none", "sum", "sum_over_batch_size", "mean", "mean_with_sample_weight"],
    )
    def test_against_numpy(self, reduction, weighted):
        batch = Batch()
        weights = None if weighted == "no weights" else self.weights
        given = {
            "no weights": None,
            "[B]": self.weights.astype(np.float32),
            "[B,1]": self.weights[:, None],
            "list": self.weights.tolist(),
        }[weighted]
        loss = CTCLoss(reduction=reduction)
        result = loss(batch.padded(-1), with_mask(batch.logits, batch.mask), given)
        expected = self.expected(batch.losses(), reduction, weights)
        assert result.shape == np.shape(expected)
        np.testing.assert_allclose(result, expected, rtol=1e-5)

    def test_unknown_reduction(self):
        with pytest.raises(ValueError, match="reduction"):
            CTCLoss(reduction="median")

    @pytest.mark.parametrize("shape", [(), (4, 9), (4, 1, 1), (3,), (1,), (5, 1)])
    def test_weights_of_other_shapes_raise(self, shape):
        batch = Batch()
        with pytest.raises(ValueError, match="`sample_weight`.*shape"):
            CTCLoss()(batch.padded(-1), batch.logits, np.ones(shape, np.float32))

    def test_weights_of_other_shapes_raise_at_run_time(self):
        batch = Batch(rows=1)

        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
        def call(weights):
            return CTCLoss()(batch.padded(-1), batch.logits, weights)

        with pytest.raises(tf.errors.InvalidArgumentError, match="one weight for each row"):
            call(np.ones(3, np.float32))

    def test_weight_zero_silences_an_infinite_row(self):
        y_true = np.array([[1, 1], [1, 2]])
        logits = tf.Variable(np.zeros((2, 2, 3), np.float32))
        assert np.isinf(CTCLoss(reduction=None)(y_true, logits)[0])
        with tf.GradientTape() as tape:
            loss = CTCLoss(reduction="sum")(y_true, logits, np.array([0.0, 1.0]))
        assert loss.numpy() == pytest.approx(2 * np.log(3))
        gradient = tape.gradient(loss, logits).numpy()
        assert (gradient[0] == 0).all()
        assert np.isfinite(gradient).all() and np.abs(gradient[1]).max() > 0.1


class TestNumbers:
    @pytest.mark.parametrize("dtype", RTOL)
    def test_dtypes(self, dtype):
        batch = Batch(dtype=dtype)
        losses = CTCLoss(reduction=None)(batch.padded(-1), with_mask(batch.logits, batch.mask))
        assert losses.dtype == ("float64" if dtype == "float64" else "float32")
        np.testing.assert_allclose(losses, batch.losses(), rtol=RTOL[dtype])

    def test_gradient(self):
        batch = Batch(dtype="float64")
        logits = tf.constant(batch.logits)
        with tf.GradientTape() as tape:
            tape.watch(logits)
            loss = CTCLoss(reduction="sum")(
                (batch.labels, batch.label_length, batch.logit_length), logits
            )
        np.testing.assert_allclose(tape.gradient(loss, logits), batch.gradients(), atol=1e-10)

    @pytest.mark.parametrize("dtype", ["float16", "mixed_float16", "mixed_bfloat16", "float64"])
    def test_large_ids_survive_the_dtype_of_the_loss(self, dtype):
        """2049 and 3001 are 2048 and 3000 in float16. The true ids alone are likely here."""
        logits = np.full((1, 3, 3010), -20, np.float32)
        logits[0, [0, 1, 2], [2049, 0, 3001]] = 20
        loss = CTCLoss(dtype=dtype)([[2049, 3001]], logits)
        assert loss.numpy() == pytest.approx(0, abs=1e-3)
        assert CTCLoss(dtype=dtype)([[2048, 3000]], logits).numpy() > 60
        assert loss.dtype == ("float64" if dtype == "float64" else "float32")

    @pytest.mark.parametrize("floatx", ["float16", "bfloat16"])
    def test_large_ids_survive_floatx(self, floatx):
        logits = np.full((1, 3, 3010), -8, np.float16)
        logits[0, [0, 1, 2], [2049, 0, 3001]] = 8
        before = keras.config.floatx()
        keras.config.set_floatx(floatx)
        try:
            loss = CTCLoss()(np.array([[2049, 3001]]), logits)
        finally:
            keras.config.set_floatx(before)
        assert loss.dtype == "float32"
        assert loss.numpy() == pytest.approx(3 * np.log1p(3009 * np.exp(-16.0)), rel=1e-2)

    def test_loss_beyond_float16(self):
        """The sum is 2**17, twice what float16 can hold."""
        logits = np.zeros((1, 4096, 2), np.float16)
        logits[..., 1] = 32
        loss = CTCLoss()([[-1]], logits)
        assert loss.numpy() == pytest.approx(2**17, rel=1e-6)

    def test_infeasible_rows(self):
        y_true, logits = np.array([[1, 1]]), np.zeros((1, 2, 3), np.float32)
        assert np.isinf(CTCLoss()(y_true, logits))
        assert np.isinf(CTCLoss(on_infeasible="inf")(y_true, logits))
        assert CTCLoss(zero_infinity=True)(y_true, logits).numpy() == 0
        assert CTCLoss(on_infeasible="zero")(y_true, logits).numpy() == 0
        with pytest.raises(tf.errors.InvalidArgumentError):
            CTCLoss(on_infeasible="raise")(y_true, logits)


class TestBadInput:
    logits = np.zeros((2, 5, 4), np.float32)

    @pytest.mark.parametrize(
        ("y_true", "message"),
        [
            ({"label": [[1], [2]]}, "key 'labels'.*Received keys: .'label'"),
            ({"labels": [[1], [2]], "weights": [1, 1]}, "Received keys: .'labels', 'weights'"),
            (([[1], [2]], [1, 1], [5, 5], [0, 0]), "Received: 4 entries"),
            ((), "Received: 0 entries"),
            (None, "`y_true` must be .*Received: None"),
            ([1, 2], r"shape \[B,U\].*Received: labels of shape \(2,\)"),
            ((tf.ragged.constant([[1], [2]]), [1, 1]), "`label_length` must be None"),
            (([[1], [2]], [[1, 1], [1, 1]]), r"`label_length` must have shape \[B\] or \[B,1\]"),
        ],
    )
    def test_forms(self, y_true, message):
        with pytest.raises(ValueError, match=message):
            CTCLoss()(y_true, self.logits)

    @pytest.mark.parametrize(
        ("y_true", "message"),
        [
            (np.array([[1.5], [2]]), "integers of magnitude below.*1.5"),
            (np.array([[np.nan], [2]]), "integers of magnitude below"),
            (np.array([[2049], [1]], np.float16), r"float16.*below 2048.*2\.?048"),
            (np.array([[2.0**24], [1]], np.float32), "float32.*below 16777216"),
            (([[1], [2]], np.array([0.5, 1])), "`label_length`.*0.5"),
            (np.array([[4], [1]]), "4"),
            (np.array([[-2], [1]]), "-2"),
            (([[1], [2]], [2, 1]), "label_length"),
            (([[1], [2]], [1, 1], [5, 6]), "logit_length"),
        ],
    )
    @pytest.mark.parametrize("mode", ["eager", "function"])
    def test_values(self, y_true, message, mode):
        call = CTCLoss().__call__
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            (tf.function(call) if mode == "function" else call)(y_true, self.logits)

    @pytest.mark.parametrize("y_true", [np.array([[True], [False]]), np.array([["a"], ["b"]])])
    def test_dtypes_of_labels(self, y_true):
        with pytest.raises(TypeError, match="`labels` must hold integers. Received: dtype"):
            CTCLoss()(y_true, self.logits)

    def test_logits(self):
        with pytest.raises(TypeError, match="`y_pred` must be .*Received: .*int64"):
            CTCLoss()([[1]], np.zeros((1, 5, 4), np.int64))
        with pytest.raises(ValueError, match=r"`y_pred` must be .*\(5, 4\)"):
            CTCLoss()([[1]], np.zeros((5, 4), np.float32))
        frames = tf.RaggedTensor.from_tensor(self.logits)
        with pytest.raises(ValueError, match="`logit_length` must be None for ragged logits"):
            CTCLoss()(([[1], [2]], None, [5, 5]), frames)

    def test_symbolic_tensors(self):
        logits, labels = keras.Input([None, 4]), keras.Input([None], dtype="int32")
        with pytest.raises(TypeError, match="`y_pred` is a symbolic KerasTensor.*CTCEndpoint"):
            CTCLoss()([[1]], logits)
        with pytest.raises(TypeError, match="`y_true` is a symbolic KerasTensor"):
            CTCLoss()({"labels": labels}, self.logits)

    def test_arguments(self):
        with pytest.raises(TypeError, match="`blank_index` must be an integer. Received: 0.5"):
            CTCLoss(blank_index=0.5)
        with pytest.raises(TypeError, match="`blank_index` must be an integer. Received: True"):
            CTCLoss(blank_index=True)
        with pytest.raises(ValueError, match="`on_infeasible` must be .*Received: 'skip'"):
            CTCLoss(on_infeasible="skip")


CONFIGS = [
    {},
    {
        "blank_index": -1,
        "zero_infinity": True,
        "reduction": "sum",
        "name": "loss_a",
        "dtype": "float64",
    },
    {"on_infeasible": "raise", "reduction": None, "dtype": "mixed_float16"},
]


@pytest.mark.parametrize("options", CONFIGS)
def test_config_round_trip(options):
    loss = CTCLoss(**options)
    for twin in (
        CTCLoss.from_config(loss.get_config()),
        keras.losses.deserialize(keras.losses.serialize(loss)),
    ):
        assert isinstance(twin, CTCLoss)
        assert twin.get_config() == loss.get_config()
        assert twin.dtype == loss.dtype
        for key, value in options.items():
            assert twin.get_config()[key] == value
