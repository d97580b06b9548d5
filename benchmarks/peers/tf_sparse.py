"""tf.compat.v1.nn.ctc_loss: TensorFlow's own CPU kernel, for sparse labels and the last blank.

The classes are turned by one at set-up, so that the blank is the last.
"""

import numpy as np

from benchmarks.peers.tensorflow_calls import TensorFlowLoss


class Peer(TensorFlowLoss):
    title = "tf.compat.v1.nn.ctc_loss"

    def __init__(self, case):
        import tensorflow as tf

        rows, width = case.labels.shape
        indices = np.stack(np.indices((rows, width)), axis=-1).reshape(-1, 2).astype(np.int64)
        self.set_up(
            lambda logits, labels, logit_length: tf.compat.v1.nn.ctc_loss(
                labels, logits, logit_length
            ),
            tf.constant(np.roll(case.logits, -1, axis=2)),
            tf.SparseTensor(indices, case.labels.ravel() - 1, (rows, width)),
            tf.constant(case.logit_length),
        )

    def result(self):
        loss, gradient = super().result()
        return loss, np.roll(gradient, 1, axis=2)
