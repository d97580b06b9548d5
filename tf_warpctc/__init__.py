"""CTC for TensorFlow: the loss, its gradient, and greedy decoding, as native ops.

- `ctc_loss`: a drop-in for `tf.nn.ctc_loss`.
- `ctc_greedy_decoder`: a drop-in for `tf.nn.ctc_greedy_decoder`.
- `ctc_greedy_decode`: greedy decoding with lengths, frame spans and probabilities.
- `ctc_align`: merging repeats and dropping blanks in rows of ids.
- `sequence`: bridges between LoD, lengths, padding and RaggedTensor.
- `build_info`: what the libraries were built for.

Keras losses, layers and metrics are in `tf_warpctc.keras`. Importing this package registers its ops
with TensorFlow, which is all that a program needs to load a SavedModel that uses them.
"""

from tf_warpctc import sequence
from tf_warpctc._library import build_info
from tf_warpctc._version import __version__
from tf_warpctc.align import ctc_align
from tf_warpctc.greedy import GreedyDecoding, ctc_greedy_decode, ctc_greedy_decoder
from tf_warpctc.loss import ctc_loss

__all__ = [
    "GreedyDecoding",
    "__version__",
    "build_info",
    "ctc_align",
    "ctc_greedy_decode",
    "ctc_greedy_decoder",
    "ctc_loss",
    "sequence",
]
