"""optax.ctc_loss under jax.jit, with its gradient: XLA's compiler on the CPU."""

import os

import numpy as np

from benchmarks.peers.base import BasePeer


class Peer(BasePeer):
    title = "optax, jit"
    distributions = ("optax", "jax", "jaxlib")

    def __init__(self, case):
        os.environ["JAX_PLATFORMS"] = "cpu"
        import jax
        import jax.numpy as jnp
        import optax

        shape = case.shape
        arrays = (
            jnp.asarray(case.batch_major()),
            jnp.zeros((shape.B, shape.T), jnp.float32),
            jnp.asarray(case.labels),
            jnp.zeros((shape.B, shape.U), jnp.float32),
        )

        def losses(logits, logit_paddings, labels, label_paddings):
            return optax.ctc_loss(logits, logit_paddings, labels, label_paddings, blank_id=0)

        def total(*arrays):
            loss = losses(*arrays)
            return loss.sum(), loss

        gradient = jax.jit(jax.value_and_grad(total, has_aux=True))
        forward = jax.jit(losses)
        self.calls = {
            "training": lambda: jax.block_until_ready(gradient(*arrays)),
            "evaluation": lambda: jax.block_until_ready(forward(*arrays)),
        }

    def result(self):
        (_, loss), gradient = self.calls["training"]()
        return np.asarray(loss), np.asarray(gradient).transpose(1, 0, 2)
