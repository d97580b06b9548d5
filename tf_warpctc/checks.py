"""An error from values: at once in eager mode, from an assertion in a graph."""

from typing import Any

import numpy as np
import tensorflow as tf

# How many entries of a wrong tensor an error shows.
_SHOWN = 8


def require(condition: Any, message: str, *data: Any) -> list:
    """Raises InvalidArgumentError with `message` and `data` unless `condition` (scalar) holds.

    Returns:
      What `tf.control_dependencies` takes, so that in a graph the checked values aren't used first.
    """
    if not tf.executing_eagerly():
        return [tf.debugging.Assert(condition, [message, *data], summarize=_SHOWN)]
    if not condition:
        shown = (np.array2string(np.asarray(value), threshold=_SHOWN) for value in data)
        raise tf.errors.InvalidArgumentError(None, None, " ".join([message, *shown]))
    return []
