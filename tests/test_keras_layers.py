"""CTCGreedyDecoder and CTCEndpoint: eager, in functional models, in predict, exported."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras_support import Batch, Task, with_mask
from oracles import greedy_row

from tf_warpctc.keras import CTCEndpoint, CTCGreedyDecoder

OUTPUTS = (None, "padded", "ragged", "sparse", "details")
DETAILS = ("tokens", "lengths", "score", "start_frames", "end_frames", "log_probability")


def best_paths(batch, lengths=None):
    """Tokens of each row, by the oracle."""
    rows = []
    for b, frames in enumerate(batch.logits.astype(np.float64)):
        live = frames if lengths is None else frames[: lengths[b]]
        rows.append([int(token) for token in greedy_row(live, batch.blank).tokens])
    return rows


def to_lists(decoded):
    """Any output of the decoder as a list of rows."""
    if isinstance(decoded, dict):
        decoded = decoded["tokens"]
    if isinstance(decoded, tf.SparseTensor):
        decoded = tf.sparse.to_dense(decoded, default_value=-1)
    if isinstance(decoded, tf.RaggedTensor):
        return decoded.to_list()
    return [[int(token) for token in row if token != -1] for row in np.asarray(decoded)]


class TestDecoder:
    @pytest.mark.parametrize("output", OUTPUTS)
    @pytest.mark.parametrize("lengths", ["all", "lengths", "column", "mask", "keras mask"])
    def test_against_the_oracle(self, output, lengths):
        batch = Batch(rows=6)
        logits, options = batch.logits, {}
        if lengths == "lengths":
            options["lengths"] = tf.constant(batch.logit_length)
        elif lengths == "column":
            options["lengths"] = tf.constant(batch.logit_length[:, None], tf.int32)
        elif lengths == "mask":
            options["mask"] = tf.constant(batch.mask)
        elif lengths == "keras mask":
            logits = with_mask(batch.logits, batch.mask)
        decoded = CTCGreedyDecoder(output=output)(logits, **options)
        expected = best_paths(batch, None if lengths == "all" else batch.logit_length)
        assert best_paths(batch) != best_paths(batch, batch.logit_length)
        assert to_lists(decoded) == expected

    @pytest.mark.parametrize("blank", [2, -1])
    def test_blank(self, blank):
        batch = Batch(blank=blank)
        assert to_lists(CTCGreedyDecoder(blank_index=blank)(batch.logits)) == best_paths(batch)

    def test_repeats_and_padding_value(self):
        logits = tf.one_hot([[1, 1, 0, 2, 2]], 3)
        layer = CTCGreedyDecoder(merge_repeated=False, padding_value=-7)
        assert layer(logits).numpy().tolist() == [[1, 1, 2, 2, -7]]

    def test_details(self):
        batch = Batch(rows=6)
        decoded = CTCGreedyDecoder(output="details")(batch.logits, tf.constant(batch.logit_length))
        assert set(decoded) == set(DETAILS)
        for b, frames in enumerate(batch.logits):
            row = greedy_row(frames[: batch.logit_length[b]], batch.blank)
            count = len(row.tokens)
            found = {key: value[b].numpy() for key, value in decoded.items()}
            assert found["lengths"] == count
            assert found["score"] == pytest.approx(row.score, rel=1e-5)
            for key, expected, padding in (
                ("tokens", row.tokens, -1),
                ("start_frames", row.starts, -1),
                ("end_frames", row.ends, -1),
                ("log_probability", row.log_probabilities, 0),
            ):
                np.testing.assert_allclose(found[key][:count], expected, atol=1e-5, err_msg=key)
                assert (found[key][count:] == padding).all(), key

    def test_ragged_logits(self):
        batch = Batch(rows=6)
        logits = tf.RaggedTensor.from_tensor(batch.logits, lengths=batch.logit_length)
        expected = best_paths(batch, batch.logit_length)
        for output in OUTPUTS:
            assert to_lists(CTCGreedyDecoder(output=output)(logits)) == expected
        with pytest.raises(ValueError, match="`lengths` must be None for ragged logits"):
            CTCGreedyDecoder()(logits, tf.constant(batch.logit_length))

    @pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16", "float64"])
    def test_policy_does_not_cast_the_logits(self, policy):
        """1 and 1 + 2**-20 are one number in either half type; the tie would go to class 1."""
        logits = np.array([[[0, 1, 1 + 2.0**-20]]], np.float32)
        layer = CTCGreedyDecoder(output="details", dtype=policy)
        decoded = layer(logits)
        assert decoded["tokens"].numpy().tolist() == [[2]]
        assert decoded["score"].dtype == "float32"

    @pytest.mark.parametrize("output", OUTPUTS)
    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_spec_is_that_of_the_result(self, output, dtype):
        layer = CTCGreedyDecoder(output=output)
        spec = layer(keras.KerasTensor([4, 9, 5], dtype=dtype))
        result = layer(tf.zeros([4, 9, 5], dtype))
        if output != "details":
            spec, result = {"": spec}, {"": result}
        assert set(spec) == set(result)
        for key, value in result.items():
            assert spec[key].dtype == value.dtype.name, key
            assert tf.TensorShape(spec[key].shape).is_compatible_with(value.shape), key
            assert spec[key].sparse == isinstance(value, tf.SparseTensor)
            assert spec[key].ragged == isinstance(value, tf.RaggedTensor)
        shapes = layer.compute_output_shape((4, 9, 5))
        assert shapes == (
            {k: s.shape for k, s in spec.items()} if output == "details" else spec[""].shape
        )

    @pytest.mark.parametrize("output", OUTPUTS)
    def test_predict_and_export(self, output, tmp_path):
        task = Task(rows=7)
        model = task.model(head=CTCGreedyDecoder(output=output))
        model.get_layer("logits").set_weights([10 * np.eye(4), np.zeros(4)])
        expected = [row[row > 0].tolist() for row in task.labels]
        predicted = model.predict(task.frames, batch_size=3, verbose=0)
        assert to_lists(predicted) == expected
        if output in (None, "padded", "details"):
            model.export(tmp_path / "saved", verbose=False)
            saved = tf.saved_model.load(tmp_path / "saved")
            served = saved.serve(tf.constant(task.frames))
            names = saved.signatures["serving_default"].structured_outputs
            assert set(names) == (set(DETAILS) if output == "details" else {"output_0"})
        else:
            module = tf.Module()
            module.call = tf.function(
                model, input_signature=[tf.TensorSpec([None, None, 4], tf.float32)]
            )
            module.variables_of_model = model.variables
            tf.saved_model.save(module, tmp_path / "saved")
            saved = tf.saved_model.load(tmp_path / "saved")
            served = saved.call(tf.constant(task.frames))
        assert to_lists(served) == expected

    def test_lengths_as_an_input(self):
        batch = Batch(rows=6)
        logits, lengths = keras.Input([None, 5]), keras.Input([], dtype="int32")
        model = keras.Model([logits, lengths], CTCGreedyDecoder()(logits, lengths))
        predicted = model.predict([batch.logits, batch.logit_length], verbose=0)
        assert to_lists(predicted) == best_paths(batch, batch.logit_length)

    def test_tokens_carry_no_mask(self):
        batch = Batch()
        tokens = CTCGreedyDecoder()(with_mask(batch.logits, batch.mask))
        assert getattr(tokens, "_keras_mask", None) is None

    def test_bad_input(self):
        with pytest.raises(ValueError, match="`output` must be one of .*Received: 'dense'"):
            CTCGreedyDecoder(output="dense")
        with pytest.raises(ValueError, match=r"`logits` must be logits with shape \[B,T,V\]"):
            CTCGreedyDecoder()(np.zeros((2, 3), np.float32))
        with pytest.raises(ValueError, match=r"`logits` must have shape \[B,T,V\]"):
            CTCGreedyDecoder()(keras.Input([3]))
        with pytest.raises(TypeError, match="`logits` must be .*int64"):
            CTCGreedyDecoder()(np.zeros((1, 2, 3), np.int64))
        with pytest.raises(tf.errors.InvalidArgumentError, match="right padding"):
            CTCGreedyDecoder()(np.zeros((1, 2, 3), np.float32), mask=np.array([[False, True]]))

    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"blank_index": -1, "merge_repeated": False, "padding_value": 0, "output": "details"},
            {"name": "reader", "dtype": "mixed_bfloat16", "output": "sparse"},
        ],
    )
    def test_config_round_trip(self, options):
        layer = CTCGreedyDecoder(**options)
        for twin in (
            CTCGreedyDecoder.from_config(layer.get_config()),
            keras.layers.deserialize(keras.layers.serialize(layer)),
        ):
            assert isinstance(twin, CTCGreedyDecoder)
            assert twin.get_config() == layer.get_config()
        for key, value in options.items():
            config = layer.get_config()[key]
            assert (config["config"]["name"] if key == "dtype" else config) == value


def endpoint_model(optional=False, **options):
    """Frames, labels and lengths in; logits out. The linear layer starts as in `Task.model`."""
    frames = keras.Input([None, Task.classes], name="frames")
    labels = keras.Input([None], dtype="int32", name="labels", optional=optional)
    lengths = [
        keras.Input([], dtype="int32", name=name, optional=optional)
        for name in ("label_length", "logit_length")
    ]
    start = keras.initializers.RandomNormal(seed=3)
    logits = keras.layers.Dense(Task.classes, kernel_initializer=start)(frames)
    return keras.Model(
        [frames, labels, *lengths], CTCEndpoint(name="ctc", **options)(logits, labels, *lengths)
    )


class TestEndpoint:
    inputs = staticmethod(lambda task: {"frames": task.frames, **task.explicit})

    def test_adds_the_mean_loss_and_returns_the_logits(self):
        batch = Batch()
        layer = CTCEndpoint()
        logits = tf.constant(batch.logits)
        out = layer(logits, batch.labels, batch.label_length, batch.logit_length)
        np.testing.assert_array_equal(out, logits)
        assert len(layer.losses) == 1
        assert layer.losses[0].numpy() == pytest.approx(batch.losses().mean(), rel=1e-5)

    def test_mask_and_padding_stand_for_lengths(self):
        batch = Batch()
        layer = CTCEndpoint()
        out = layer(with_mask(batch.logits, batch.mask), batch.padded(-1))
        assert layer.losses[0].numpy() == pytest.approx(batch.losses().mean(), rel=1e-5)
        np.testing.assert_array_equal(out._keras_mask, batch.mask)

    def test_sample_weight(self):
        batch = Batch()
        layer = CTCEndpoint()
        weights = np.array([0.5, 0, 2, 1])
        layer(
            with_mask(batch.logits, batch.mask),
            batch.padded(-1),
            sample_weight=tf.constant(weights[:, None]),
        )
        expected = (batch.losses() * weights).mean()
        assert layer.losses[0].numpy() == pytest.approx(expected, rel=1e-5)

    @pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
    def test_policy_does_not_cast_the_logits(self, policy):
        batch = Batch()
        layer = CTCEndpoint(dtype=policy)
        out = layer(with_mask(batch.logits, batch.mask), batch.padded(-1))
        assert out.dtype == "float32" and layer.losses[0].dtype == "float32"
        assert layer.losses[0].numpy() == pytest.approx(batch.losses().mean(), rel=1e-5)

    def test_without_labels_it_does_nothing(self):
        layer = CTCEndpoint()
        logits = tf.ones([1, 2, 3])
        np.testing.assert_array_equal(layer(logits), logits)
        assert layer.losses == []

    @pytest.mark.parametrize("run_eagerly", [False, True])
    def test_fits_without_y(self, run_eagerly):
        task = Task()
        model = endpoint_model(label_error_rate=True)
        model.compile(keras.optimizers.Adam(0.3), run_eagerly=run_eagerly)
        history = model.fit(self.inputs(task), epochs=15, batch_size=16, verbose=0).history
        assert history["loss"][-1] < 0.1 * history["loss"][0]
        assert history["label_error_rate"][0] > 0.3
        results = model.evaluate(self.inputs(task), verbose=0, return_dict=True)
        assert results["label_error_rate"] == 0

    def test_reports_the_mean_loss_and_the_rate(self):
        task = Task()
        model = endpoint_model(label_error_rate=True)
        model.compile("sgd")
        results = model.evaluate(self.inputs(task), batch_size=16, verbose=0, return_dict=True)
        loss, rate = task.first_results(model.get_weights()[0])
        assert results["loss"] == pytest.approx(loss, rel=1e-5)
        assert results["label_error_rate"] == pytest.approx(rate, rel=1e-6)

    def test_optional_inputs_left_out_at_inference(self):
        task = Task()
        model = endpoint_model(optional=True)
        model.compile("sgd")
        model.fit(self.inputs(task), verbose=0)
        none = dict.fromkeys(("labels", "label_length", "logit_length"))
        logits = model({"frames": task.frames, **none})
        assert model.losses == []
        np.testing.assert_array_equal(logits, model(self.inputs(task)))
        assert len(model.losses) == 1

    def test_save_and_load(self, tmp_path):
        task = Task()
        model = endpoint_model(label_error_rate=True, zero_infinity=True)
        model.compile("adam")
        model.fit(self.inputs(task), verbose=0)
        model.save(tmp_path / "model.keras")
        twin = keras.models.load_model(tmp_path / "model.keras")
        assert twin.get_layer("ctc").get_config() == model.get_layer("ctc").get_config()
        assert twin.get_layer("ctc").get_config()["zero_infinity"] is True
        assert twin.evaluate(self.inputs(task), verbose=0) == model.evaluate(
            self.inputs(task), verbose=0
        )
