"""Prints a digest of the bits that the ops give; run by test_determinism.py in fresh processes.

Usage: determinism_probe.py INTRA_OP_THREADS
"""

import hashlib
import sys

import numpy as np
import support
import tensorflow as tf
from zoo import zoo

import tf_warpctc


def main():
    tf.config.threading.set_intra_op_parallelism_threads(int(sys.argv[1]))
    digest = hashlib.sha256()
    batch = zoo()
    batch.frames, batch.labels = batch.frames * 4, batch.labels * 4
    for dtype in support.DTYPES:
        for layout in ("time_major", "packed"):
            result = support.evaluate(batch, dtype, layout, upstream=batch.upstream())
            digest.update(result.loss.tobytes())
            digest.update(np.concatenate(result.gradients).tobytes())
        values, lengths = support.logit_arguments(batch, "batch_major", dtype)
        for part in tf_warpctc.ctc_greedy_decode(values, lengths):
            digest.update(part.numpy().tobytes())
    print("threads", tf.config.threading.get_intra_op_parallelism_threads())
    print("digest", digest.hexdigest())


if __name__ == "__main__":
    main()
