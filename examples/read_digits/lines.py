"""Lines of handwriting, made from scikit-learn's scans of single digits.

`sklearn.datasets.load_digits` bundles 1,797 scans of handwritten digits, 8 x 8 pixels each. A line
is 3 to 9 of them side by side, with the spacing, the height and the noise drawn at random:
neighbours may stand apart, touch, or overlap. The scans are split into training, validation and
test before any line is made, so that a held-out line shows no scan which the model has met.

A line is stored as columns, float32 [width, HEIGHT], ink 1 on paper 0: time runs along the line, as
it does in speech. Lines in a batch are padded on the right with columns of PADDING, a value which
no pixel takes.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_digits

HEIGHT = 12  # pixels: the 8 of a scan, and 4 for the digits to move up and down in
PADDING = -1.0  # fills the columns past the end of a line
LABEL_PADDING = -1  # fills the entries past the end of a label

DIGITS_PER_LINE = (3, 9)  # both ends included, as in the ranges below
GAP = (-1, 5)  # pixels between the ink of two neighbours; below 0 they overlap
MARGIN = (1, 4)  # pixels before the first digit and after the last
NOISE = 0.07  # standard deviation of the Gaussian noise on every pixel

# Left edges of neighbours are at least this many pixels apart. A frame of the model is two columns,
# and CTC needs two frames for a repeated digit (a blank, then the digit), so every line has enough
# frames for its label.
MIN_PITCH = 5


class Scans(NamedTuple):
    """Single digits: `ink` float32 [N, 8, 8] in 0..1, and `digit` int [N]."""

    ink: np.ndarray
    digit: np.ndarray


class Lines(NamedTuple):
    """A padded batch: `columns` float32 [B, W, HEIGHT], `labels` int32 [B, U] of digits."""

    columns: np.ndarray
    labels: np.ndarray


def split_scans(seed: int) -> tuple[Scans, Scans, Scans]:
    """Returns the scans for training (1,200), validation (197) and test (400), none in two."""
    digits = load_digits()
    order = np.random.default_rng(seed).permutation(len(digits.target))
    parts = np.split(order, [1200, 1397])
    ink = (digits.images / 16.0).astype(np.float32)  # load_digits counts ink from 0 to 16
    return tuple(Scans(ink[part], digits.target[part]) for part in parts)


def make_line(
    scans: Scans, rng: np.random.Generator, digits: tuple[int, int] = DIGITS_PER_LINE
) -> tuple[np.ndarray, np.ndarray]:
    """Sets randomly chosen scans side by side: (columns [width, HEIGHT], label [`digits`])."""
    chosen = rng.choice(len(scans.digit), rng.integers(*digits, endpoint=True))

    strips, lefts, left = [], [], int(rng.integers(*MARGIN, endpoint=True))
    for scan in scans.ink[chosen]:
        inked = np.flatnonzero(scan.any(axis=0))
        strip = scan[:, inked[0] : inked[-1] + 1].T
        strips.append(strip)
        lefts.append(left)
        left += max(len(strip) + int(rng.integers(*GAP, endpoint=True)), MIN_PITCH)
    end = lefts[-1] + len(strips[-1])

    columns = np.zeros([end + rng.integers(*MARGIN, endpoint=True), HEIGHT], np.float32)
    for strip, left in zip(strips, lefts, strict=True):
        top = rng.integers(0, HEIGHT - 8, endpoint=True)
        place = columns[left : left + len(strip), top : top + 8]
        np.maximum(place, strip, out=place)
    columns += rng.normal(0, NOISE, columns.shape)
    return columns.clip(0, 1), scans.digit[chosen].astype(np.int32)


def stream_lines(
    scans: Scans, count: int, seed: int, digits: tuple[int, int] = DIGITS_PER_LINE
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yields `count` new lines; the same seed gives the same lines."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        yield make_line(scans, rng, digits)


def make_lines(scans: Scans, count: int, seed: int) -> Lines:
    """Makes `count` lines and pads them to the widest, their labels to the longest."""
    columns, labels = zip(*stream_lines(scans, count, seed), strict=True)
    return Lines(pad(columns, PADDING), pad(labels, LABEL_PADDING))


def pad(rows: tuple[np.ndarray, ...], value: float) -> np.ndarray:
    """Stacks arrays which differ in their first dimension, filled up with `value` at the end."""
    width = max(len(row) for row in rows)
    out = np.full([len(rows), width, *rows[0].shape[1:]], value, rows[0].dtype)
    for padded, row in zip(out, rows, strict=True):
        padded[: len(row)] = row
    return out


def unpad(labels: np.ndarray) -> list[list[int]]:
    """Returns the digits of each row of a padded label (or of decoded tokens)."""
    return [[int(digit) for digit in row if digit != LABEL_PADDING] for row in labels]
