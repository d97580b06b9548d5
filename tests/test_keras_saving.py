"""Compiled models as `.keras` files: loaded in this process and in a fresh one."""

import json
import os
import subprocess
import sys

import keras
import numpy as np
import pytest
from keras_support import Task

import tf_warpctc
from tf_warpctc.keras import CTCLoss, CTCModel, CTCTargetsMixin, LabelErrorRate


def compiled(model):
    model.compile("sgd", loss=CTCLoss(), metrics=[LabelErrorRate()])
    return model


@pytest.mark.parametrize("cls", [keras.Model, CTCModel])
def test_save_and_load(cls, tmp_path):
    task = Task()
    model = task.model(cls)
    model.compile(
        keras.optimizers.Adam(0.1),
        loss=CTCLoss(zero_infinity=True, name="line_loss"),
        metrics=[LabelErrorRate(name="cer")],
    )
    model.fit(task.frames, task.labels, epochs=2, verbose=0)
    expected = model.evaluate(task.frames, task.labels, verbose=0, return_dict=True)
    model.save(tmp_path / "model.keras")
    twin = keras.models.load_model(tmp_path / "model.keras")
    assert type(twin) is type(model) and isinstance(twin.loss, CTCLoss)
    assert twin.loss.get_config() == model.loss.get_config()
    assert twin.evaluate(task.frames, task.labels, verbose=0, return_dict=True) == expected
    # The state of the optimizer is saved too: the next step is the same in both.
    for either in (model, twin):
        either.fit(task.frames, task.labels, batch_size=16, shuffle=False, verbose=0)
    for a, b in zip(model.get_weights(), twin.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)


def test_load_in_a_fresh_process(tmp_path):
    task = Task()
    model = compiled(task.model(CTCModel))
    model.fit(task.frames, task.explicit, verbose=0)
    model.save(tmp_path / "model.keras")
    np.savez(tmp_path / "data.npz", frames=task.frames, **task.explicit)
    script = """
import json, sys, keras, numpy, tf_warpctc.keras
model = keras.models.load_model(sys.argv[1] + "/model.keras")
data = dict(numpy.load(sys.argv[1] + "/data.npz"))
print(json.dumps([type(model).__name__, model.evaluate(data.pop("frames"), data, verbose=0)]))
"""
    root = os.path.dirname(os.path.dirname(tf_warpctc.__file__))
    path = os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    name, results = json.loads(done.stdout.splitlines()[-1])
    assert name == "CTCModel"
    assert results == model.evaluate(task.frames, task.explicit, verbose=0)


def test_own_model_class(tmp_path):
    @keras.saving.register_keras_serializable(package="test_keras_training")
    class Reader(CTCTargetsMixin, keras.Model):
        def __init__(self, classes, **kwargs):
            super().__init__(**kwargs)
            self.classes = classes
            self.head = keras.layers.Dense(classes)

        def call(self, frames):
            return self.head(frames)

        def get_config(self):
            return {**super().get_config(), "classes": self.classes}

    task = Task()
    task.model(CTCModel)  # which makes Keras change the bases of CTCModel, not those of the mixin
    model = compiled(Reader(task.classes))
    model.fit(task.frames, task.explicit, verbose=0)
    model.save(tmp_path / "model.keras")
    twin = keras.models.load_model(tmp_path / "model.keras")
    assert type(twin) is Reader
    assert twin.evaluate(task.frames, task.explicit, verbose=0) == model.evaluate(
        task.frames, task.explicit, verbose=0
    )
