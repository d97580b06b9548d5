"""What a peer looks like to the rest: a class `Peer` in a module of this folder.

Importing the module imports no library; making the object does, and sets everything up that a
training loop would do once. So the main process can ask any peer for its name, and a library that
is missing fails in a process of its own.
"""

from collections.abc import Callable
from importlib import metadata

import numpy as np

from benchmarks.data import Case, Shape


class BasePeer:
    """One way to compute a loss, a decoding or a yardstick, ready to run on one case.

    Attributes:
      title: what the table calls it.
      distributions: the Python packages whose versions belong to the result.
      calls: what it can do, by task. Each does all its work before it returns, on all cores:

        - "training": the loss of each row and its gradient for the raw logits;
        - "evaluation": the loss alone;
        - "greedy": tokens of each row by best-path decoding, and their score if it has one;
        - others are yardsticks or variants, named by the peer.

      held_bytes: buffers that are kept from call to call, which belong to its memory.
    """

    title: str
    distributions: tuple[str, ...] = ()
    calls: dict[str, Callable[[], object]]
    held_bytes: int = 0

    def __init__(self, case: Case):
        raise NotImplementedError

    def result(self) -> tuple[np.ndarray, np.ndarray]:
        """(loss [B], gradient [T, B, V]) of the case, class 0 the blank."""
        raise NotImplementedError

    def decoded(self) -> tuple[list, np.ndarray | None]:
        """(tokens of each row, score [B] or None) of the case, class 0 the blank."""
        raise NotImplementedError

    @classmethod
    def too_slow(cls, shape: Shape) -> str | None:
        """Why this shape is left out unless --slow asks for it, or None."""
        return None

    @classmethod
    def versions(cls) -> dict[str, str]:
        """Versions of its distributions, of those that are installed."""
        found = {}
        for name in cls.distributions:
            try:
                found[name] = metadata.version(name)
            except metadata.PackageNotFoundError:
                continue
        return found
