"""tf_warpctc's greedy decoding inside tf.function, time-major.

"greedy" gives what TensorFlow's decoder gives: tokens with their number, padded, and the score.
"greedy, sparse" is the drop-in for tf.nn.ctc_greedy_decoder; "greedy, spans" adds each token's
frames and log-probability.
"""

from benchmarks.peers.base import BasePeer
from benchmarks.peers.tensorflow_calls import TENSORFLOW, bind


class Peer(BasePeer):
    title = "tf_warpctc"
    distributions = TENSORFLOW

    def __init__(self, case):
        import tensorflow as tf

        import tf_warpctc

        arguments = tf.constant(case.logits), tf.constant(case.logit_length)

        def everything(logits, length):
            return tf_warpctc.ctc_greedy_decode(logits, length, 0, logits_time_major=True)

        def tokens(logits, length):
            decoding = everything(logits, length)
            return decoding.tokens, decoding.lengths, decoding.score

        def sparse(logits, length):
            return tf_warpctc.ctc_greedy_decoder(logits, length, blank_index=0)

        self.calls = {
            "greedy": bind(tokens, *arguments),
            "greedy, sparse": bind(sparse, *arguments),
            "greedy, spans": bind(everything, *arguments),
        }

    def decoded(self):
        tokens, lengths, score = (x.numpy() for x in self.calls["greedy"]())
        return [row[:n].tolist() for row, n in zip(tokens, lengths, strict=True)], score
