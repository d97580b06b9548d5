"""`python -m tf_warpctc.saved_model_cli` runs a SavedModel that uses the library's ops."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

import tf_warpctc


class Reader(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([None, None, 5], tf.float32, name="logits")])
    def serve(self, logits):
        return {"tokens": tf_warpctc.ctc_greedy_decode(logits).tokens}


def test_run(tmp_path):
    module = Reader()
    tf.saved_model.save(module, str(tmp_path / "model"), signatures=module.serve)
    logits = np.random.default_rng(0).normal(size=[3, 20, 5]).astype("float32")
    np.save(tmp_path / "logits.npy", logits)

    command = [sys.executable, "-m", "tf_warpctc.saved_model_cli", "run", "--overwrite"]
    command += ["--dir", tmp_path / "model", "--tag_set", "serve"]
    command += ["--signature_def", "serving_default", "--outdir", tmp_path]
    command += ["--inputs", f"logits={tmp_path / 'logits.npy'}"]
    root = Path(tf_warpctc.__file__).parents[1]
    result = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr

    np.testing.assert_array_equal(np.load(tmp_path / "tokens.npy"), module.serve(logits)["tokens"])
