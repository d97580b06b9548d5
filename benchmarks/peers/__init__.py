"""The peers, a module each. See base.py for what such a module holds."""

import importlib

# In the order in which the table shows them; the first is this project's.
LOSSES = (
    "ours",
    "warpctc_library",
    "pytorch",
    "optax_jit",
    "paddle_loss",
    "tf_sparse",
    "tf_dense",
    "keras_loss",
)
DECODERS = ("ours_greedy", "tf_greedy", "numpy_greedy")

# What reading and writing the same tensor costs, by the tasks of each: TensorFlow's simplest ops,
# and plain C.
YARDSTICKS = {
    "yardsticks": ("softmax", "reduce_max", "call"),
    "floors": ("read", "copy", "c_softmax"),
}


def load(name: str):
    """The class `Peer` of a module of this folder."""
    return importlib.import_module(f"benchmarks.peers.{name}").Peer
