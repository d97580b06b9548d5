"""keras.losses.CTC on the TensorFlow backend, inside tf.function; batch-major, as it wants them."""

import os

from benchmarks.peers.tensorflow_calls import TENSORFLOW, TensorFlowLoss
from benchmarks.peers.tf_dense import Peer as Dense


class Peer(TensorFlowLoss):
    title = "keras.losses.CTC"
    distributions = ("keras", *TENSORFLOW)

    def __init__(self, case):
        os.environ["KERAS_BACKEND"] = "tensorflow"
        import keras
        import tensorflow as tf

        loss = keras.losses.CTC(reduction=None)
        self.set_up(
            lambda logits, labels: loss(labels, logits),
            tf.constant(case.batch_major()),
            tf.constant(case.labels),
        )

    def result(self):
        loss, gradient = super().result()
        return loss, gradient.transpose(1, 0, 2)

    @classmethod
    def too_slow(cls, shape):
        return Dense.too_slow(shape)  # the same recursion
