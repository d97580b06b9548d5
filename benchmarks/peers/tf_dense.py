"""tf.nn.ctc_loss with dense labels: the forward-backward recursion as TensorFlow ops."""

from benchmarks.peers.tensorflow_calls import TensorFlowLoss


class Peer(TensorFlowLoss):
    title = "tf.nn.ctc_loss, dense"

    def __init__(self, case):
        import tensorflow as tf

        self.set_up(
            lambda logits, labels, label_length, logit_length: tf.nn.ctc_loss(
                labels, logits, label_length, logit_length, blank_index=0
            ),
            *map(tf.constant, (case.logits, case.labels, case.label_length, case.logit_length)),
        )

    @classmethod
    def too_slow(cls, shape):
        # Its transitions are matrices of S x S numbers.
        if shape.U >= 400:
            return "a step takes more than a minute and 17 GB at 3000/800/64, B 4"
        return None
