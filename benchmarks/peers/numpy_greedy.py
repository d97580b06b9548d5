"""np.argmax and a loop in Python that merges repeats and drops blanks: what people write by hand.

It computes no score.
"""

import numpy as np

from benchmarks.peers.base import BasePeer


class Peer(BasePeer):
    title = "np.argmax and a loop"
    distributions = ("numpy",)

    def __init__(self, case):
        def decode():
            rows = []
            for path in np.argmax(case.logits, axis=2).T.tolist():
                row, previous = [], 0
                for token in path:
                    if token != previous and token != 0:
                        row.append(token)
                    previous = token
                rows.append(row)
            return rows

        self.calls = {"greedy": decode}

    def decoded(self):
        return self.calls["greedy"](), None
