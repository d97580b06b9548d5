"""Whole models: compile, fit and evaluate with every form of data."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras_support import Task

from tf_warpctc.keras import CTCLoss, CTCModel, CTCTargets, LabelErrorRate


def compiled(model, optimizer="sgd", **options):
    model.compile(optimizer, loss=CTCLoss(), metrics=[LabelErrorRate()], **options)
    return model


@pytest.fixture
def policy(request):
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(request.param)
    yield request.param
    keras.config.set_dtype_policy(before)


@pytest.mark.parametrize(
    ("policy", "run_eagerly"),
    [
        ("float32", False),
        ("float32", True),
        ("mixed_bfloat16", False),
        ("mixed_float16", False),
        ("float64", False),
    ],
    indirect=["policy"],
)
def test_fit_learns(policy, run_eagerly):
    task = Task()
    model = compiled(task.model(), keras.optimizers.Adam(0.3), run_eagerly=run_eagerly)
    assert model.output.dtype == policy.removeprefix("mixed_")
    history = model.fit(
        task.frames,
        task.labels,
        epochs=15,
        batch_size=16,
        validation_data=(task.frames, task.labels),
        validation_freq=15,
        verbose=0,
    ).history
    assert history["label_error_rate"][0] > 0.3
    assert history["loss"][-1] < 0.1 * history["loss"][0]
    assert history["val_label_error_rate"] == [0]
    assert 0 < history["val_loss"][0] < history["loss"][-2]


def test_batches_of_unequal_size():
    """6, 6 and 4 rows: the loss is the mean of the rows, the rate that of the sums."""
    task = Task()
    model = compiled(task.model())
    results = model.evaluate(task.frames, task.labels, batch_size=6, verbose=0)
    assert results == pytest.approx(task.first_results(model.get_weights()[0]), rel=1e-5)


class Sequence(keras.utils.PyDataset):
    """One batch of all rows."""

    def __init__(self, x, y):
        super().__init__()
        self.x, self.y = x, y

    def __len__(self):
        return 1

    def __getitem__(self, index):
        return self.x, self.y


def ragged(task):
    return tf.RaggedTensor.from_tensor(task.labels, lengths=task.label_length)


def dataset(x, y):
    return tf.data.Dataset.from_tensor_slices((x, y)).batch(16)


# What `fit` and `evaluate` take, for a plain keras.Model and for a CTCModel.
ANY_MODEL = {
    "array": lambda t: (t.frames, t.labels),
    "array of floats": lambda t: (t.frames, t.labels.astype(np.float32)),
    "ragged": lambda t: (t.frames, ragged(t)),
    "sparse": lambda t: (t.frames, ragged(t).to_sparse()),
    "dataset of arrays": lambda t: (dataset(t.frames, t.labels),),
    "dataset of ragged": lambda t: (dataset(t.frames, ragged(t)),),
    "dataset of sparse": lambda t: (dataset(t.frames, ragged(t).to_sparse()),),
    "dataset of CTCTargets": lambda t: (dataset(t.frames, CTCTargets(**t.explicit)),),
    "dataset of ragged CTCTargets": lambda t: (
        dataset(t.frames, CTCTargets(ragged(t), logit_length=t.logit_length)),
    ),
}
CTC_MODEL = {
    "dict of arrays": lambda t: (t.frames, t.explicit),
    "dict of tensors": lambda t: (
        t.frames,
        {key: tf.constant(value) for key, value in t.explicit.items()},
    ),
    "dict with ragged": lambda t: (
        t.frames,
        {"labels": ragged(t), "logit_length": t.logit_length},
    ),
    "tuple of arrays": lambda t: (t.frames, tuple(t.explicit.values())),
    "list of arrays": lambda t: (t.frames, list(t.explicit.values())),
    "dataset of dicts": lambda t: (dataset(t.frames, t.explicit),),
    "dataset of tuples": lambda t: (dataset(t.frames, tuple(t.explicit.values())),),
    "PyDataset of dicts": lambda t: (Sequence(t.frames, t.explicit),),
    "generator of dicts": lambda t: (iter_once((t.frames, t.explicit)),),
}


def iter_once(batch):
    yield batch


@pytest.mark.parametrize(
    ("cls", "form"),
    [(keras.Model, form) for form in ANY_MODEL]
    + [(CTCModel, form) for form in (*CTC_MODEL, "array", "dataset of CTCTargets")],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_every_form_of_data(cls, form):
    """One batch, so that what `fit` reports is the loss of the first weights."""
    task = Task()
    model = compiled(task.model(cls))
    before = model.get_weights()[0]
    data = {**ANY_MODEL, **CTC_MODEL}[form](task)
    history = model.fit(*data, verbose=0).history
    loss, rate = task.first_results(before)
    assert history == {
        "loss": [pytest.approx(loss, rel=1e-5)],
        "label_error_rate": [pytest.approx(rate, rel=1e-6)],
    }
    assert np.abs(model.get_weights()[0] - before).max() > 1e-3


@pytest.mark.parametrize("form", ["array", "dataset of CTCTargets", "dict of arrays"])
def test_evaluate(form):
    task = Task()
    model = compiled(task.model(CTCModel))
    data = {**ANY_MODEL, **CTC_MODEL}[form](task)
    results = model.evaluate(*data, verbose=0)
    assert results == pytest.approx(task.first_results(model.get_weights()[0]), rel=1e-5)


def test_validation_data_and_split_of_a_dict():
    task = Task()
    model = compiled(task.model(CTCModel))
    history = model.fit(
        task.frames, task.explicit, validation_data=(task.frames, task.explicit), verbose=0
    ).history
    assert history["val_loss"] == [
        pytest.approx(model.evaluate(task.frames, task.labels, verbose=0)[0], rel=1e-5)
    ]
    history = model.fit(task.frames, task.explicit, validation_split=0.25, verbose=0).history
    tail = model.evaluate(task.frames[12:], task.labels[12:], verbose=0)[0]
    assert history["val_loss"] == [pytest.approx(tail, rel=1e-5)]


@pytest.mark.parametrize("form", ["array", "dict of arrays", "dataset of CTCTargets"])
def test_sample_weight(form):
    task = Task()
    weights = np.linspace(0, 2, 16).astype(np.float32)
    model = task.model(CTCModel)
    model.compile("sgd", loss=CTCLoss(reduction="sum"), weighted_metrics=[LabelErrorRate()])
    if form == "dataset of CTCTargets":
        data = tf.data.Dataset.from_tensor_slices(
            (task.frames, CTCTargets(**task.explicit), weights)
        )
        results = model.evaluate(data.batch(16), verbose=0)
    else:
        x, y = {**ANY_MODEL, **CTC_MODEL}[form](task)
        results = model.evaluate(x, y, sample_weight=weights, batch_size=16, verbose=0)
    logits = model.predict(task.frames, verbose=0)
    losses = CTCLoss(reduction=None)(task.explicit, logits).numpy()
    metric = LabelErrorRate()
    metric.update_state(task.explicit, logits, weights)
    expected = [(losses * weights).sum(), float(metric.result())]
    assert results == pytest.approx(expected, rel=1e-5)


def test_several_outputs():
    """CTCTargets stand where the target of one output goes."""
    task = Task()
    frames = keras.Input([None, task.classes])
    outputs = {
        "tokens": keras.layers.Dense(task.classes, name="tokens")(frames),
        "count": keras.layers.Dense(1, name="count")(keras.layers.GlobalAveragePooling1D()(frames)),
    }
    model = keras.Model(frames, outputs)
    model.compile(
        "sgd",
        loss={"tokens": CTCLoss(), "count": "mse"},
        metrics={"tokens": [LabelErrorRate()]},
    )
    before = model.get_layer("tokens").get_weights()[0]
    y = {"tokens": CTCTargets(**task.explicit), "count": task.label_length.astype(np.float32)}
    history = model.fit(dataset(task.frames, y), verbose=0).history
    loss, rate = task.first_results(before)
    assert history["tokens_loss"] == [pytest.approx(loss, rel=1e-5)]
    assert history["tokens_label_error_rate"] == [pytest.approx(rate, rel=1e-6)]


def test_several_steps_per_execution():
    task = Task()
    model = compiled(task.model(), steps_per_execution=2)
    data = dataset(task.frames, CTCTargets(**task.explicit)).unbatch().batch(4)
    results = model.evaluate(data, verbose=0)
    assert results == pytest.approx(task.first_results(model.get_weights()[0]), rel=1e-5)


def test_train_on_batch():
    task = Task()
    model = compiled(task.model(CTCModel))
    loss, rate = task.first_results(model.get_weights()[0])
    results = model.train_on_batch(task.frames, task.explicit, return_dict=True)
    assert results == {
        "loss": pytest.approx(loss, rel=1e-5),
        "label_error_rate": pytest.approx(rate, rel=1e-6),
    }


def test_a_dict_under_a_plain_model_is_refused_by_keras():
    """Why CTCModel and CTCTargets exist; if this ever passes, they can go."""
    task = Task()
    with pytest.raises(ValueError, match="structure"):
        compiled(task.model()).evaluate(task.frames, task.explicit, verbose=0)


@pytest.mark.parametrize("form", ["dict of arrays", "dataset of dicts"])
def test_under_a_distribution_strategy(form):
    task = Task()
    with tf.distribute.MirroredStrategy(["CPU:0"]).scope():
        model = compiled(task.model(CTCModel))
    before = model.get_weights()[0]
    history = model.fit(*{**ANY_MODEL, **CTC_MODEL}[form](task), verbose=0).history
    loss, rate = task.first_results(before)
    assert history["loss"] == [pytest.approx(loss, rel=1e-5)]
    assert history["label_error_rate"] == [pytest.approx(rate, rel=1e-6)]


def test_bad_mask_raises_in_fit():
    """Frames that start with zeros are masked on the left."""
    task = Task()
    frames = np.roll(task.frames, 1, axis=1)
    frames[:, 0] = 0
    with pytest.raises(tf.errors.InvalidArgumentError, match="right padding"):
        compiled(task.model()).fit(frames, task.labels, verbose=0)


def test_ctc_model_says_how_to_subclass():
    with pytest.raises(TypeError, match="CTCTargetsMixin.*Received: class Reader"):

        class Reader(CTCModel):
            pass
