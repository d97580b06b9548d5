"""Keras on ragged sequences: layers that hand the structure through, and whole models."""

import keras
import nesting
import numpy as np
import pytest
import tensorflow as tf
from keras_support import Task, levenshtein

import tf_warpctc
from tf_warpctc.keras import CTCGreedyDecoder, CTCLoss, LabelErrorRate, Padded, PerFrame

InvalidArgument = tf.errors.InvalidArgumentError


def frames_of(lengths=(3, 0, 2), width=4, levels=(), seed=0, splits="int64"):
    rng = np.random.default_rng(seed)
    rows = [rng.normal(size=(n, width)).astype(np.float32) for n in lengths]
    if not levels:
        return tf.RaggedTensor.from_row_lengths(np.concatenate(rows), tf.constant(lengths, splits))
    return nesting.ragged(levels, rows, None, splits)


def task_logits_model(head=None, **options):
    """A per-frame linear model with ragged input, and fixed first weights."""
    frames = keras.Input([None, Task.classes], ragged=True)
    start = keras.initializers.RandomNormal(seed=3)
    logits = PerFrame(keras.layers.Dense(Task.classes, kernel_initializer=start))(frames)
    return keras.Model(frames, logits if head is None else head(logits), **options)


def ragged_task(task):
    frames = tf.RaggedTensor.from_tensor(task.frames, lengths=task.logit_length)
    return frames, tf.RaggedTensor.from_tensor(task.labels, lengths=task.label_length)


def documents(x, lengths):
    return tf.RaggedTensor.from_row_lengths(x, lengths)


class TestPerFrame:
    @pytest.mark.parametrize("splits", nesting.SPLITS)
    @pytest.mark.parametrize("levels", [(), ([1, 0, 2],), ([1, 2], [1, 0, 2])])
    def test_structure_passes_through(self, levels, splits):
        frames = frames_of(levels=levels, splits=splits)
        dense = keras.layers.Dense(6)
        result = PerFrame(dense)(frames)
        assert result.ragged_rank == frames.ragged_rank
        for found, given in zip(result.nested_row_splits, frames.nested_row_splits, strict=True):
            assert found is given
        expected = frames.flat_values @ dense.kernel + dense.bias
        np.testing.assert_allclose(result.flat_values, expected, atol=1e-6)

    def test_statistics_see_live_frames_alone(self):
        frames = frames_of(lengths=(30, 0, 2))
        result = PerFrame(keras.layers.BatchNormalization())(frames, training=True)
        np.testing.assert_allclose(tf.reduce_mean(result.flat_values, 0), np.zeros(4), atol=1e-5)

    def test_frames_of_other_ranks(self):
        ids = tf.ragged.constant([[1, 2], [], [3]])
        embedded = PerFrame(keras.layers.Embedding(5, 7), frame_rank=0)(ids)
        assert embedded.shape == [3, None, 7]
        images = tf.RaggedTensor.from_row_lengths(tf.ones([3, 6, 5, 1]), [2, 1])
        layer = PerFrame(keras.layers.Conv2D(2, 3), frame_rank=3)
        assert layer(images).shape == [2, None, 4, 3, 2]
        assert layer.compute_output_shape((2, None, 6, 5, 1)) == (2, None, 4, 3, 2)
        spec = layer(keras.KerasTensor((None, None, 6, 5, 1), ragged=True))
        assert spec.ragged and spec.shape == (None, None, 4, 3, 2)

    def test_what_is_refused(self):
        with pytest.raises(TypeError, match="must be a RaggedTensor"):
            PerFrame(keras.layers.Dense(2))(tf.zeros([2, 3, 4]))
        with pytest.raises(TypeError, match="must be ragged"):
            PerFrame(keras.layers.Dense(2))(keras.Input([None, 4]))
        images = tf.RaggedTensor.from_row_lengths(tf.ones([3, 6, 5, 1]), [2, 1])
        with pytest.raises(ValueError, match="frame_rank=1"):
            PerFrame(keras.layers.Dense(2))(images)
        fewer = keras.layers.Lambda(lambda x: x[1:])
        with pytest.raises(InvalidArgument, match="as many frames as it is given"):
            PerFrame(fewer)(frames_of())


class TestPadded:
    @pytest.mark.parametrize("splits", nesting.SPLITS)
    @pytest.mark.parametrize("levels", [(), ([1, 0, 2],)])
    def test_each_row_is_as_if_alone(self, levels, splits):
        """A recurrent layer that reads backwards too: padding must not reach the live frames."""
        frames = frames_of(lengths=(3, 0, 5), levels=levels, splits=splits)
        inner = keras.layers.Bidirectional(keras.layers.LSTM(3, return_sequences=True))
        layer = Padded(inner)
        result = layer(frames)
        for found, given in zip(result.nested_row_splits, frames.nested_row_splits, strict=True):
            assert found is given
        splits = frames.values.row_splits if levels else frames.row_splits
        for begin, end in zip(splits[:-1].numpy(), splits[1:].numpy(), strict=True):
            if begin < end:
                alone = inner(frames.flat_values[None, begin:end])[0]
                np.testing.assert_allclose(result.flat_values[begin:end], alone, atol=1e-6)

    def test_no_frames_at_all(self):
        layer = Padded(keras.layers.GRU(3, return_sequences=True))
        frames = tf.RaggedTensor.from_row_lengths(tf.zeros([0, 4]), [0, 0])
        assert layer(frames).shape == [2, None, 3]
        assert layer(frames).flat_values.shape == [0, 3]

        @tf.function(input_signature=[tf.RaggedTensorSpec([None, None, 4], ragged_rank=1)])
        def run(frames):
            return layer(frames)

        assert run(frames).to_list() == [[], []]

    def test_attention_through_a_model(self):
        """Layers of two arguments go in as a model; their mask comes from the rows."""
        x = keras.Input([None, 4])
        attention = keras.layers.MultiHeadAttention(2, 3)
        layer = Padded(keras.Model(x, attention(x, x)))
        frames = frames_of(lengths=(3, 5))
        short = layer(frames)
        longer = layer(tf.concat([frames, frames_of(lengths=(9,), seed=1)], axis=0))
        np.testing.assert_allclose(longer.flat_values[:8], short.flat_values, atol=1e-5)

    def test_another_number_of_frames(self):
        layer = Padded(keras.layers.Conv1D(2, 3, strides=2, padding="same"))
        with pytest.raises(InvalidArgument, match="as many rows and frames"):
            layer(frames_of())


@pytest.mark.parametrize("kind", ["PerFrame", "Padded"])
def test_wrappers_save_and_load(kind, tmp_path):
    inner = {
        "PerFrame": lambda: PerFrame(keras.layers.Dense(3)),
        "Padded": lambda: Padded(keras.layers.GRU(3, return_sequences=True)),
    }[kind]
    frames = keras.Input([None, 4], ragged=True)
    model = keras.Model(frames, inner()(frames))
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    given = frames_of()
    assert loaded(given).to_list() == model(given).to_list()
    assert loaded.output.ragged and loaded.output.shape == (None, None, 3)


@pytest.mark.parametrize("run_eagerly", [False, True])
@pytest.mark.parametrize("source", ["tensors", "dataset"])
def test_fit_evaluate_predict(source, run_eagerly):
    """The same numbers as the oracles', and as the padded model with its mask."""
    task = Task()
    frames, labels = ragged_task(task)
    model = task_logits_model()
    model.compile("sgd", CTCLoss(), metrics=[LabelErrorRate()], run_eagerly=run_eagerly)
    data = (frames, labels)
    if source == "dataset":
        data = (tf.data.Dataset.from_tensor_slices((frames, labels)).ragged_batch(6),)
    options = {} if source == "dataset" else {"batch_size": 6}
    first = model.evaluate(*data, verbose=0, **options)
    assert first == pytest.approx(task.first_results(model.get_weights()[0]), rel=1e-5)
    model.compile(keras.optimizers.Adam(0.3), CTCLoss(), metrics=[LabelErrorRate()])
    history = model.fit(*data, epochs=15, verbose=0, **options).history
    assert history["label_error_rate"][-1] < 0.1 < history["label_error_rate"][0]
    reader = keras.Model(model.input, CTCGreedyDecoder()(model.output))
    inputs = data[0].map(lambda x, y: x) if source == "dataset" else frames
    tokens = reader.predict(inputs, verbose=0, **options)
    assert isinstance(tokens, tf.RaggedTensor)
    edits = sum(map(levenshtein, tokens.to_list(), labels.to_list()))
    assert edits < 0.1 * task.label_length.sum()


def test_nested_model():
    """Documents of lines: fit, evaluate and predict, with the numbers of the lines."""
    task = Task(rows=6)
    frames, labels = ragged_task(task)
    of_lines = [2, 0, 3, 1]
    nested = documents(frames, of_lines), documents(labels, of_lines)
    inputs = keras.Input([None, None, Task.classes], ragged=True)
    start = keras.initializers.RandomNormal(seed=3)
    logits = PerFrame(keras.layers.Dense(Task.classes, kernel_initializer=start))(inputs)
    model = keras.Model(inputs, logits)
    model.compile(keras.optimizers.Adam(0.3), CTCLoss(), metrics=[LabelErrorRate()])
    data = tf.data.Dataset.from_tensor_slices(nested).ragged_batch(2)
    first = model.evaluate(data.unbatch().ragged_batch(4), verbose=0)
    assert first == pytest.approx(task.first_results(model.get_weights()[0]), rel=1e-5)
    history = model.fit(data, epochs=15, verbose=0).history
    assert history["loss"][-1] < 0.2 * history["loss"][0]
    reader = keras.Model(inputs, CTCGreedyDecoder()(logits))
    tokens = reader.predict(data.map(lambda x, y: x), verbose=0)
    np.testing.assert_array_equal(tokens.row_lengths(), of_lines)


class TestNestedLoss:
    lines = [2, 0, 1]

    def batch(self):
        logits = documents(frames_of(lengths=(5, 3, 4)), self.lines)
        labels = documents(tf.ragged.constant([[1, 2], [3], []], tf.int32), self.lines)
        return labels, logits

    def rows(self):
        labels, logits = self.batch()
        return tf_warpctc.ctc_loss(labels.values, logits.values, None, None).numpy()

    def test_reductions(self):
        rows = self.rows()
        for reduction, expected in [("sum_over_batch_size", rows.mean()), ("sum", rows.sum())]:
            assert float(CTCLoss(reduction=reduction)(*self.batch())) == pytest.approx(expected)
        for reduction in (None, "none"):
            losses = CTCLoss(reduction=reduction)(*self.batch())
            assert losses.to_list() == [rows[:2].tolist(), [], rows[2:].tolist()]

    @pytest.mark.parametrize(
        "weights",
        [
            documents([2.0, 0.0, 0.5], lines),
            np.array([2.0, 7.0, 0.5]),
            np.array([[2.0], [7.0], [0.5]]),
        ],
        ids=["ragged", "outer", "outer, column"],
    )
    def test_weights(self, weights):
        expected = self.rows() * (
            [2, 0, 0.5] if isinstance(weights, tf.RaggedTensor) else [2, 2, 0.5]
        )
        found = CTCLoss(reduction="sum")(*self.batch(), sample_weight=weights)
        assert float(found) == pytest.approx(expected.sum(), rel=1e-6)

    def test_weights_of_another_structure(self):
        with pytest.raises(InvalidArgument, match="sample_weight and the losses, level 0"):
            CTCLoss()(*self.batch(), sample_weight=documents([1.0, 1.0, 1.0], [1, 1, 1]))
        with pytest.raises((ValueError, InvalidArgument), match="one weight for each"):
            CTCLoss()(*self.batch(), sample_weight=np.ones(2))

    def test_error_rate_of_logits_and_tokens(self):
        labels, logits = self.batch()
        decoded = tf_warpctc.ctc_greedy_decode(logits)
        flat = [line for document in labels.to_list() for line in document]
        read = [line for document in decoded.tokens.to_list() for line in document]
        edits = np.array([levenshtein(a, b) for a, b in zip(read, flat, strict=True)])
        lengths = np.array([len(line) for line in flat])
        for predicted in (logits, decoded.tokens):
            rate = LabelErrorRate()
            rate.update_state(labels, predicted)
            assert float(rate.result()) == pytest.approx(edits.sum() / lengths.sum())
            rate.reset_state()
            rate.update_state(labels, predicted, np.array([3.0, 1.0, 2.0]))
            weights = np.array([3, 3, 2])
            assert float(rate.result()) == pytest.approx(
                (edits * weights).sum() / (lengths * weights).sum()
            )
        with pytest.raises(InvalidArgument, match="y_true and y_pred, level 0"):
            LabelErrorRate().update_state(documents(labels.values, [1, 1, 1]), logits)

    def test_decoder_outputs(self):
        _, logits = self.batch()
        decoded = tf_warpctc.ctc_greedy_decode(logits)
        assert CTCGreedyDecoder()(logits).to_list() == decoded.tokens.to_list()
        padded = CTCGreedyDecoder(output="padded", padding_value=-5)(logits)
        np.testing.assert_array_equal(padded, decoded.tokens.to_tensor(-5))
        details = CTCGreedyDecoder(output="details")(logits)
        for name, field in decoded._asdict().items():
            assert details[name].to_list() == field.to_list(), name
        for output in (None, "padded", "ragged", "sparse"):
            spec = CTCGreedyDecoder(output=output)(
                keras.KerasTensor([None, None, None, 4], ragged=True)
            )
            result = CTCGreedyDecoder(output=output)(logits)
            assert spec.ragged == isinstance(result, tf.RaggedTensor)
            assert spec.sparse == isinstance(result, tf.SparseTensor)
            assert tf.TensorShape(spec.shape).is_compatible_with(result.shape)


class TestSavedModel:
    """Keras states the inputs of a model's own signature as dense: a ragged one needs another."""

    def test_signature_of_values_and_row_splits(self, tmp_path):
        """Plain tensors, which a server can take."""
        model = task_logits_model(head=CTCGreedyDecoder())
        archive = keras.export.ExportArchive()
        archive.track(model)

        def read(values, row_splits):
            tokens = model(tf.RaggedTensor.from_row_splits(values, row_splits))
            return {"tokens": tokens.values, "row_splits": tokens.row_splits}

        archive.add_endpoint(
            "read",
            read,
            [tf.TensorSpec([None, Task.classes]), tf.TensorSpec([None], tf.int64)],
        )
        archive.write_out(str(tmp_path), verbose=False)
        frames, _ = ragged_task(Task())
        loaded = tf.saved_model.load(str(tmp_path))
        read = loaded.signatures["read"](values=frames.values, row_splits=frames.row_splits)
        tokens = tf.RaggedTensor.from_row_splits(read["tokens"], read["row_splits"])
        assert tokens.to_list() == model(frames).to_list()

    def test_function_of_ragged_tensors(self, tmp_path):
        model = task_logits_model(head=CTCGreedyDecoder())
        module = tf.Module()
        module.weights = [weight.value for weight in model.variables]
        spec = tf.RaggedTensorSpec([None, None, Task.classes], tf.float32, ragged_rank=1)
        module.read = tf.function(lambda frames: model(frames), input_signature=[spec])
        tf.saved_model.save(module, str(tmp_path))
        frames, _ = ragged_task(Task())
        loaded = tf.saved_model.load(str(tmp_path))
        assert loaded.read(frames).to_list() == model(frames).to_list()
