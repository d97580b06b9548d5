"""tf_warpctc.ctc_loss, the public function, inside tf.function."""

from benchmarks.peers.tensorflow_calls import TensorFlowLoss


class Peer(TensorFlowLoss):
    title = "tf_warpctc"

    def __init__(self, case):
        import tensorflow as tf

        import tf_warpctc

        self.set_up(
            lambda logits, labels, label_length, logit_length: tf_warpctc.ctc_loss(
                labels, logits, label_length, logit_length, blank_index=0
            ),
            *map(tf.constant, (case.logits, case.labels, case.label_length, case.logit_length)),
        )
