"""What the peers inside TensorFlow share: a loss function becomes two tf.functions, jit off.

All tensors are arguments, so that nothing can be folded into a constant.
"""

from collections.abc import Callable

import numpy as np

from benchmarks.peers.base import BasePeer

TENSORFLOW = ("tensorflow", "tensorflow-cpu")


def bind(function: Callable, *arguments) -> Callable[[], object]:
    """The function as a tf.function, called with these tensors."""
    import tensorflow as tf

    compiled = tf.function(function, jit_compile=False, autograph=False)
    return lambda: compiled(*arguments)


class TensorFlowLoss(BasePeer):
    """A loss within TensorFlow, of which a peer gives the function and its tensors."""

    distributions = TENSORFLOW

    def set_up(self, losses: Callable, logits, *others):
        """Makes the calls of losses(logits, *others) → [B]."""
        import tensorflow as tf

        def training(logits, *others):
            with tf.GradientTape() as tape:
                tape.watch(logits)
                values = losses(logits, *others)
            return values, tape.gradient(values, logits)

        self.calls = {
            "training": bind(training, logits, *others),
            "evaluation": bind(losses, logits, *others),
        }

    def result(self):
        loss, gradient = self.calls["training"]()
        return np.asarray(loss), np.asarray(gradient)
