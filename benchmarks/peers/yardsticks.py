"""TensorFlow's simplest ops on the logits: the time that reading and writing them takes."""

from benchmarks.peers.base import BasePeer
from benchmarks.peers.tensorflow_calls import TENSORFLOW, bind


class Peer(BasePeer):
    title = "TensorFlow's ops"
    distributions = TENSORFLOW

    def __init__(self, case):
        import tensorflow as tf

        logits = tf.constant(case.logits)
        self.calls = {
            "softmax": bind(tf.nn.softmax, logits),
            "reduce_max": bind(lambda x: tf.reduce_max(x, axis=-1), logits),
            # What a call of a tf.function costs by itself.
            "call": bind(tf.identity, tf.constant(1.0)),
        }
