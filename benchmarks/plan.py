"""Which shapes are run, how often, and what each result is held against."""

from dataclasses import dataclass, field

from benchmarks.data import Shape
from benchmarks.peers import DECODERS, LOSSES


@dataclass
class Plan:
    """One run of the benchmarks.

    Attributes:
      losses, decoders: names of peers (peers/__init__.py).
      loss_shapes, greedy_shapes: what they are run on.
      modes: malloc modes (jobs.py).
      small_shapes_in_one_mode: whether logits under SMALL_BYTES are timed in the first mode alone.
      rounds: how often each peer is timed in a fresh process.
      budget_s: how long one sample of calls takes.
      patience_s: how long a sample waits for the machine to be at rest, and
      total_patience_s: all samples together, after which they are taken as they come.
      check: whether errors and memory are measured too.
      slow: whether peers run where they take minutes.
      sweeps: axes to measure cost along (sweeps.py).
    """

    losses: tuple[str, ...] = LOSSES
    decoders: tuple[str, ...] = DECODERS
    loss_shapes: tuple[Shape, ...] = ()
    greedy_shapes: tuple[Shape, ...] = ()
    modes: tuple[str, ...] = ("as it comes", "faults out")
    small_shapes_in_one_mode: bool = False
    rounds: int = 3
    budget_s: float = 0.6
    patience_s: float = 20.0
    total_patience_s: float = 900.0
    check: bool = True
    slow: bool = False
    sweeps: tuple[str, ...] = field(default=("B", "T", "V", "U"))

    def modes_of(self, shape: Shape) -> tuple[str, ...]:
        """The malloc modes that a shape is timed in."""
        small = self.small_shapes_in_one_mode and shape.logits_bytes < SMALL_BYTES
        return self.modes[:1] if small else self.modes


# glibc maps blocks over 128 KiB, but no longer once it has seen one of that size freed, up to
# 32 MiB. So the modes differ little where no block comes near that.
SMALL_BYTES = 4 << 20

LETTERS = tuple(Shape(150, 40, 28, B) for B in (1, 16, 64, 128))
WORDS = tuple(Shape(150, 20, 5000, B) for B in (1, 16, 64))
LINES = Shape(1000, 100, 1024, 16)
PAGES = Shape(3000, 800, 64, 4)

FULL = Plan(
    loss_shapes=(*LETTERS, *WORDS, LINES, PAGES),
    greedy_shapes=(LETTERS[2], WORDS[1], WORDS[2], LINES),
)
QUICK = Plan(
    loss_shapes=(LETTERS[2], WORDS[1]),
    greedy_shapes=(WORDS[1],),
    small_shapes_in_one_mode=True,
    rounds=1,
    budget_s=0.3,
    patience_s=5.0,
    total_patience_s=60.0,
    sweeps=(),
)


@dataclass(frozen=True)
class Target:
    """A ratio that has to be reached on one shape.

    `at_least`: the other's time over ours; `at_most`: ours over the other's. Exactly one is set.
    """

    task: str  # of ours: "training", "evaluation", "greedy"
    other: str  # "fastest peer", the name of a peer, or a call of the yardsticks
    shape: Shape
    at_least: float | None = None
    at_most: float | None = None

    def ratio(self, ours: float, other: float) -> float:
        """The number that is judged, from two times."""
        return other / ours if self.at_least is not None else ours / other

    def met(self, ratio: float) -> bool:
        """Whether a ratio reaches the target."""
        return ratio >= self.at_least if self.at_least is not None else ratio <= self.at_most


FASTEST = "fastest peer"

TARGETS = (
    *(
        Target("training", FASTEST, shape, at_least=ratio)
        for shape, ratio in [
            *zip(LETTERS, (2, 5, 10, 10), strict=True),
            *zip(WORDS[1:], (4, 4), strict=True),
            (LINES, 12),
            (PAGES, 10),
        ]
    ),
    *(Target("training", "softmax", shape, at_most=2) for shape in WORDS[1:]),
    *(Target("evaluation", "softmax", shape, at_most=1) for shape in WORDS),
    *(Target("greedy", "reduce_max", shape, at_most=1.5) for shape in (*WORDS[1:], LINES)),
    *(Target("greedy", "tf_greedy", shape, at_least=4) for shape in WORDS[1:]),
    *(Target("greedy", "numpy_greedy", shape, at_least=1) for shape in (*WORDS[1:], LINES)),
)

# Largest errors that ours may have: (loss relative, gradient absolute), by what the logits are.
ACCURACY = {
    "float32": (1e-6, 2e-6),
    "float32 x 50": (1e-5, 1e-5),
    "float64": (1e-12, 1e-12),
}


def memory_limit(shape: Shape) -> int:
    """Bytes beyond the gradient that a training step of ours may take: B T S numbers and O(B V).

    A number of the lattice is a mantissa and an exponent, 8 bytes. To B V comes what each frame
    and row needs, and a fixed allowance for the threads' scratch and TensorFlow's own objects.
    """
    fixed = 1 << 20
    return 8 * shape.cells + 16 * shape.B * (shape.V + shape.T) + fixed
