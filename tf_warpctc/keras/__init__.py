"""Keras 3 classes for CTC on the TensorFlow backend.

| name | use |
|---|---|
| `CTCLoss` | `model.compile(loss=CTCLoss())`, or called in a training loop |
| `LabelErrorRate` | `model.compile(metrics=[LabelErrorRate()])`: edit distance over label length |
| `CTCGreedyDecoder` | a layer from logits to tokens, for `predict` and `export` |
| `CTCTargets` | labels with explicit lengths as one target, for `tf.data` |
| `CTCModel` | a functional model whose `y` may be a dict of labels and lengths, for arrays too |
| `CTCTargetsMixin` | the same for model classes of one's own |
| `PerFrame` | a layer that applies another to the frames of a ragged tensor, without padding |
| `Padded` | the same for layers that need rows padded, with their mask |
| `CTCEndpoint` | a layer that adds the loss in functional models which take labels as inputs |

Logits are batch-major here, [B,T,V], as everywhere in Keras, or ragged, [B,(T),V]. All classes are
registered under the package "tf_warpctc", so that a saved model loads once this module is imported.
"""

import keras

if keras.backend.backend() != "tensorflow":
    raise ImportError(
        "tf_warpctc.keras needs Keras on the TensorFlow backend, but keras.backend.backend() is "
        f"{keras.backend.backend()!r}. Set the environment variable KERAS_BACKEND=tensorflow "
        "before Keras is first imported."
    )

from tf_warpctc.keras.layers import CTCEndpoint, CTCGreedyDecoder
from tf_warpctc.keras.losses import CTCLoss
from tf_warpctc.keras.metrics import LabelErrorRate
from tf_warpctc.keras.models import CTCModel, CTCTargetsMixin
from tf_warpctc.keras.ragged import Padded, PerFrame
from tf_warpctc.keras.targets import CTCTargets

__all__ = [
    "CTCEndpoint",
    "CTCGreedyDecoder",
    "CTCLoss",
    "CTCModel",
    "CTCTargets",
    "CTCTargetsMixin",
    "LabelErrorRate",
    "Padded",
    "PerFrame",
]
