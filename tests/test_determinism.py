"""The same inputs give the same bits: in every repeat, layout, mode, batch and thread count."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import support
import tensorflow as tf
from zoo import zoo

import tf_warpctc

HERE = pathlib.Path(__file__).resolve().parent


def assert_same_bits(first, second):
    np.testing.assert_array_equal(first.loss, second.loss)
    for a, b in zip(first.gradients, second.gradients, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", support.DTYPES)
def test_repeats_layouts_forms_and_modes_give_the_same_bits(dtype):
    batch = zoo()
    upstream = batch.upstream()
    first = support.evaluate(batch, dtype, upstream=upstream)
    for _ in range(5):
        assert_same_bits(first, support.evaluate(batch, dtype, upstream=upstream))
    for layout in support.LAYOUTS:
        assert_same_bits(first, support.evaluate(batch, dtype, layout, upstream=upstream))
    for form in support.LABEL_FORMS:
        assert_same_bits(first, support.evaluate(batch, dtype, form=form, upstream=upstream))
    for mode in support.MODES:
        assert_same_bits(first, support.evaluate(batch, dtype, mode=mode, upstream=upstream))


@pytest.mark.parametrize("dtype", support.DTYPES)
def test_a_row_does_not_depend_on_its_neighbours(dtype):
    """Alone, or among others with wider labels and longer frames: the same bits."""
    batch = zoo()
    together = support.evaluate(batch, dtype)
    for b in range(0, len(batch), 3):
        alone = support.Batch([batch.frames[b]], [batch.labels[b]], batch.blank_index)
        result = support.evaluate(alone, dtype)
        assert result.loss[0] == together.loss[b]
        np.testing.assert_array_equal(result.gradients[0], together.gradients[b])


def test_threads_do_not_change_the_bits():
    """1, 2 and 5 intra-op threads, each in a process of its own: TensorFlow fixes the pool once."""
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join([str(HERE), *filter(None, sys.path)]))
    probes = {
        threads: subprocess.Popen(
            [sys.executable, str(HERE / "determinism_probe.py"), str(threads)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for threads in (1, 2, 5)
    }
    digests = {}
    for threads, probe in probes.items():
        out, err = probe.communicate(timeout=300)
        assert probe.returncode == 0, err[-2000:]
        lines = dict(line.split(" ", 1) for line in out.splitlines() if " " in line)
        assert lines["threads"] == str(threads)
        digests[threads] = lines["digest"]
    assert len(set(digests.values())) == 1, digests


def test_concurrent_calls_do_not_disturb_each_other():
    """Many losses at once from one graph: no scratch is shared between calls."""
    batch = zoo()
    values, lengths = support.logit_arguments(batch, "time_major", "float32")
    labels, label_length = support.label_arguments(batch, "dense", "int32")

    scales = (0.5, 1.0, 2.0, 1.0, 0.5, 2.0, 1.0, 0.5)

    @tf.function
    def many(values):
        losses = [
            tf_warpctc.ctc_loss(labels, values * scale, label_length, lengths) for scale in scales
        ]
        return tf.stack(losses)

    alone = {
        scale: tf_warpctc.ctc_loss(labels, values * scale, label_length, lengths).numpy()
        for scale in set(scales)
    }
    for _ in range(5):
        losses = many(values).numpy()
        for row, scale in zip(losses, scales, strict=True):
            np.testing.assert_array_equal(row, alone[scale])
