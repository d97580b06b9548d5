"""tf.nn.ctc_greedy_decoder inside tf.function."""

from benchmarks.peers.base import BasePeer
from benchmarks.peers.tensorflow_calls import TENSORFLOW, bind


class Peer(BasePeer):
    title = "tf.nn.ctc_greedy_decoder"
    distributions = TENSORFLOW

    def __init__(self, case):
        import tensorflow as tf

        arguments = tf.constant(case.logits), tf.constant(case.logit_length)

        def decode(logits, length):
            return tf.nn.ctc_greedy_decoder(logits, length, blank_index=0)

        self.calls = {"greedy": bind(decode, *arguments)}
        self._rows = case.shape.B

    def decoded(self):
        (sparse,), score = self.calls["greedy"]()
        tokens = [[] for _ in range(self._rows)]
        for (row, _), token in zip(sparse.indices.numpy(), sparse.values.numpy(), strict=True):
            tokens[row].append(int(token))
        return tokens, score.numpy()[:, 0]
