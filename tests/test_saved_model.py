"""A SavedModel with the ops loads where only TensorFlow and tf_warpctc are imported."""

import os
import subprocess
import sys

import numpy as np
import tensorflow as tf
from tolerances import assert_losses_close
from zoo import zoo

import tf_warpctc

LOADER = """
import sys
import numpy as np
import tensorflow as tf
import tf_warpctc

assert "tf_warpctc.keras" not in sys.modules
folder = sys.argv[1]
model = tf.saved_model.load(folder)
given = {name: tf.constant(value) for name, value in np.load(folder + "/in.npz").items()}
np.savez(folder + "/out.npz", **{name: x.numpy() for name, x in model.serve(**given).items()})
"""


class Served(tf.Module):
    """Loss, its gradient, decoding and alignment behind one signature, shapes unknown."""

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, None, 12], tf.float32, "logits"),
            tf.TensorSpec([None], tf.int64, "logit_length"),
            tf.TensorSpec([None, None], tf.int32, "labels"),
            tf.TensorSpec([None], tf.int32, "label_length"),
        ]
    )
    def serve(self, logits, logit_length, labels, label_length):
        with tf.GradientTape() as tape:
            tape.watch(logits)
            loss = tf_warpctc.ctc_loss(labels, logits, label_length, logit_length, False)
        decoding = tf_warpctc.ctc_greedy_decode(logits, logit_length)
        (sparse,), _ = tf_warpctc.ctc_greedy_decoder(
            tf.transpose(logits, [1, 0, 2]), logit_length, blank_index=0
        )
        aligned, _ = tf_warpctc.ctc_align(labels, label_length)
        return {
            "loss": loss,
            "gradient": tape.gradient(loss, logits),
            "aligned": aligned,
            "values": sparse.values,
            **decoding._asdict(),
        }


def test_another_process_gives_the_same_bits(tmp_path):
    batch = zoo()
    given = {
        "logits": batch.padded_frames().astype(np.float32),
        "logit_length": batch.logit_length,
        "labels": batch.padded_labels(np.int32),
        "label_length": batch.label_length.astype(np.int32),
    }
    module = Served()
    expected = module.serve(**{name: tf.constant(value) for name, value in given.items()})
    assert_losses_close(expected["loss"].numpy(), batch.expected("float32")[0], "float32")
    tf.saved_model.save(module, str(tmp_path))
    np.savez(tmp_path / "in.npz", **given)
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, sys.path)))
    subprocess.run(
        [sys.executable, "-c", LOADER, str(tmp_path)], check=True, env=environment, timeout=120
    )
    with np.load(tmp_path / "out.npz") as out:
        assert set(out) == set(expected)
        for name, value in expected.items():
            np.testing.assert_array_equal(out[name], value, err_msg=name)
