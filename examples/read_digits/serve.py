"""Reads lines with the exported model, as a server would: it has no model code but the export.

    python serve.py MODEL LINES OUTPUT

MODEL is the folder which `model.export` wrote. LINES is an .npz file with `columns`, float32
[B, W, 12]. What is read goes to OUTPUT, an .npz file with all outputs of the model: `tokens`,
`lengths`, `start_frames`, `end_frames`, and so on. Importing tf_warpctc is all that TensorFlow
needs to know its ops.
"""

import os
import sys

import numpy as np
import tensorflow as tf

import tf_warpctc


def main(model: str, lines: str, output: str) -> None:
    read = tf.saved_model.load(model).signatures["serving_default"]
    columns = np.load(lines)["columns"]
    result = {name: value.numpy() for name, value in read(columns=tf.constant(columns)).items()}
    np.savez(output, **result)
    print(
        f"process {os.getpid()} read {len(columns)} lines with TensorFlow {tf.__version__} and "
        f"tf_warpctc {tf_warpctc.__version__}"
    )


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: python serve.py MODEL LINES OUTPUT")
    main(*sys.argv[1:])
