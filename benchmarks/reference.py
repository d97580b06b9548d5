"""The float64 answer for some rows of a case, and how far a peer is from it.

The forward-backward recursion is the tests' own (tests/oracles.py), in NumPy's long double where
that is longer than float64, since log space loses digits with every frame.
"""

import sys
from pathlib import Path

import numpy as np

from benchmarks.data import Case, Shape

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))

import oracles  # noqa: E402

# Of a batch, this many rows are checked: the first, the last and those between, evenly spaced.
MAX_ROWS = 3


def rows_of(shape: Shape):
    """Which rows are checked."""
    return np.unique(np.linspace(0, shape.B - 1, min(shape.B, MAX_ROWS)).round().astype(int))


def compute(shape: Shape, scale: float = 1.0):
    """dict of rows [R], loss [R] and gradient [T, R, V] in float64, for float32 logits."""
    case = Case(shape, scale)
    rows = rows_of(shape)
    answers = [
        oracles.loss_and_gradient(case.logits[:, b], case.labels[b], precision=np.longdouble)
        for b in rows
    ]
    return {
        "rows": rows,
        "loss": np.array([loss for loss, _ in answers]),
        "gradient": np.stack([gradient for _, gradient in answers], axis=1),
    }


def store(folder: Path, shape: Shape, scale: float = 1.0) -> Path:
    """Writes a reference for the workers to read, and returns its path."""
    path = folder / f"reference_{shape.key}_x{scale:g}.npz"
    np.savez(path, **compute(shape, scale))
    return path


def errors(result, reference) -> dict:
    """Largest errors of a peer's (loss [B], gradient [T, B, V]) over the reference's rows.

    Returns:
      dict of `loss`, relative to the loss, and `gradient`, absolute; NaN where the peer gave any.
    """
    loss, gradient = (np.asarray(x) for x in result)
    rows, expected = reference["rows"], reference["loss"]
    assert gradient.shape[0::2] == reference["gradient"].shape[0::2], gradient.shape
    # maximum of nothing but numbers: NaN, unlike in a comparison, stays NaN.
    with np.errstate(invalid="ignore"):
        loss_error = np.abs(loss[rows].astype(np.float64) - expected) / np.abs(expected)
        gradient_error = np.abs(gradient[:, rows].astype(np.float64) - reference["gradient"])
    return {"loss": float(loss_error.max()), "gradient": float(gradient_error.max())}


def greedy_errors(tokens, score, case: Case) -> dict:
    """How many of the checked rows' tokens are wrong (0 or 1 a row), and the score's error."""
    wrong, worst = 0, 0.0
    for b in rows_of(case.shape):
        expected = oracles.greedy_row(case.logits[:, b])
        wrong += list(tokens[b]) != expected.tokens
        if score is not None:
            worst = max(worst, abs(float(score[b]) - expected.score) / abs(expected.score))
    return {"wrong_rows": int(wrong), "score": None if score is None else worst}
