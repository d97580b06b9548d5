"""Loss and gradient kernels: values, and the same bits at every fused level and thread count."""

import numpy as np
import oracles
import pytest
from kernel_support import (
    DTYPES,
    FUSED_LEVELS,
    LAYOUTS,
    LEVELS,
    expected,
    kernels,
    lay_out,
    loss_and_gradient,
    pad_labels,
    random_rows,
)
from tolerances import assert_gradient_close, assert_losses_close

UPSTREAM = [1.0, -0.5, 2.0, 0.25, 0.0, 1.5, -3.0]


def check(rows, labels, blank, dtype, **options):
    upstream = np.resize(UPSTREAM, len(rows))
    result = loss_and_gradient(rows, labels, blank, dtype, upstream=upstream, **options)
    losses, gradients = expected(rows, labels, blank, dtype)
    assert_losses_close(result.loss, losses, dtype)
    for b, gradient in enumerate(gradients):
        message = f"row {b}, T={len(rows[b])}, U={len(labels[b])}"
        assert_gradient_close(result.gradients[b], gradient, dtype, upstream[b], message)
    return result


def mixed(seed=0, num_classes=11, blank=3):
    """Wide rows before narrow ones, so that what a worker's scratch kept would show."""
    shapes = [(90, 40), (0, 0), (3, 1), (70, 33), (0, 2), (5, 0), (20, 20), (40, 7), (3, 9)]
    shapes += [(2, 1), (64, 31), (1, 1), (1, 0), (33, 16), (12, 2)]
    rows, labels = random_rows(np.random.default_rng(seed), shapes, num_classes, blank)
    labels[7] = [1] * 7  # repeats, with room
    labels[8] = [2] * 9  # repeats, without
    return rows, labels, blank


def assert_same_bits(first, second):
    np.testing.assert_array_equal(first.loss, second.loss)
    np.testing.assert_array_equal(first.gradient_values, second.gradient_values)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_matches_oracle(dtype, layout, level):
    check(*mixed(), dtype, layout=layout, level=level)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_label_length_sweep(dtype, level):
    """Every U around one, two and four vectors, with tight, even and odd numbers of frames."""
    lengths = [*range(36), 47, 48, 49, 63, 64, 65]
    shapes = [(n, u) for u in lengths for n in (u, 2 * u + 1, 2 * u + 4)]
    rows, labels = random_rows(np.random.default_rng(1), shapes, 29)
    check(rows, labels, 0, dtype, level=level)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_class_count_sweep(dtype, level):
    rng = np.random.default_rng(2)
    for num_classes in [*range(2, 71), 127, 128, 129, 1023, 1025, 3000]:
        blank = int(rng.integers(num_classes))
        rows, labels = random_rows(rng, [(5, 2), (4, 1), (3, 0)], num_classes, blank)
        check(rows, labels, blank, dtype, level=level, layout="scattered")
    check([np.full((4, 1), 2.0), np.zeros((0, 1))], [[], []], 0, dtype, level=level)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_frame_count_sweep(dtype, level):
    """Every T around the period at which mantissas are normalised, and where the halves meet."""
    shapes = [(n, u) for n in range(70) for u in (0, 1, 3) if n >= 2 * u]
    rows, labels = random_rows(np.random.default_rng(3), shapes, 6)
    check(rows, labels, 0, dtype, level=level)


@pytest.mark.parametrize("dtype", DTYPES)
def test_same_bits_at_every_fused_level(dtype):
    rng = np.random.default_rng(4)
    problems = [mixed(), mixed(5, 130, 129)]
    for scale in (0.01, 10.0, 1000.0):
        shapes = [(n, int(rng.integers(0, n // 2 + 1))) for n in rng.integers(0, 80, 20)]
        problems.append((*random_rows(rng, shapes, 31, 30, scale), 30))
    for rows, labels, blank in problems:
        first, *others = [
            loss_and_gradient(rows, labels, blank, dtype, level=level) for level in FUSED_LEVELS
        ]
        for other in others:
            assert_same_bits(first, other)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_same_bits_with_any_number_of_threads(dtype, level):
    rows, labels, blank = mixed()
    rows, labels = rows * 3, labels * 3
    first = loss_and_gradient(rows, labels, blank, dtype, level=level)
    for threads in (1, 2, 3, 8, 200):
        for _ in range(3):
            other = loss_and_gradient(rows, labels, blank, dtype, level=level, threads=threads)
            assert_same_bits(first, other)


@pytest.mark.parametrize("dtype", DTYPES)
def test_same_bits_in_any_layout_and_row_order(dtype):
    """What a worker's scratch held before, and where a row lies, leave no trace."""
    rows, labels, blank = mixed()
    first = loss_and_gradient(rows, labels, blank, dtype)
    for layout in LAYOUTS:
        other = loss_and_gradient(rows, labels, blank, dtype, layout)
        np.testing.assert_array_equal(first.loss, other.loss)
        for a, b in zip(first.gradients, other.gradients, strict=True):
            np.testing.assert_array_equal(a, b)
    order = np.random.default_rng(6).permutation(len(rows))
    shuffled = loss_and_gradient([rows[b] for b in order], [labels[b] for b in order], blank, dtype)
    for place, b in enumerate(order):
        assert shuffled.loss[place] == first.loss[b]
        np.testing.assert_array_equal(shuffled.gradients[place], first.gradients[b])


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_label_padding_changes_no_bit(dtype, level):
    """Wide labels make the kernels save fewer lattice rows and compute the others again.

    How many depends on the padded width alone; every T around every interval must come out alike.
    """
    shapes = [(n, min(n // 2, 5)) for n in [*range(70), 127, 128, 129, 200]]
    shapes += [(n, n // 3) for n in (50, 96, 131)]
    rows, labels = random_rows(np.random.default_rng(11), shapes, 9)
    narrow = check(rows, labels, 0, dtype, level=level, extra_labels=0)
    upstream = np.resize(UPSTREAM, len(rows))
    for extra in (20, 63, 64, 100, 200, 400, 700, 1100):
        wide = loss_and_gradient(
            rows, labels, 0, dtype, upstream=upstream, level=level, extra_labels=extra, threads=2
        )
        assert_same_bits(narrow, wide)


@pytest.mark.parametrize("level", LEVELS)
def test_loss_alone_is_the_same(level):
    rows, labels, blank = mixed()
    frames = lay_out(rows, "packed", "float32")
    ids, label_length = pad_labels(labels)
    arguments = dict(frames.arguments(), labels=ids, label_length=label_length, blank=blank)
    full = kernels.ctc_loss(frames.values, level=level, **arguments)
    alone = kernels.ctc_loss(frames.values, level=level, residuals=False, **arguments)
    np.testing.assert_array_equal(full["loss"], alone["loss"])
    assert set(alone) == {"loss"}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_zero_infinity(dtype, level):
    rows, labels, blank = mixed()
    plain = loss_and_gradient(rows, labels, blank, dtype, level=level)
    assert np.isposinf(plain.loss).tolist() == [
        not oracles.feasible(len(x), y) for x, y in zip(rows, labels, strict=True)
    ]
    zero = loss_and_gradient(rows, labels, blank, dtype, level=level, zero_infinity=True)
    np.testing.assert_array_equal(zero.loss, np.where(np.isinf(plain.loss), 0, plain.loss))
    np.testing.assert_array_equal(zero.gradient_values, plain.gradient_values)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_nan_stays_in_its_row(dtype, level):
    """NaN in every place of a vector and at either end of the row."""
    rng = np.random.default_rng(7)
    rows, labels = random_rows(rng, [(9, 2)] * 40, 19)
    clean = loss_and_gradient(rows, labels, 0, dtype, level=level)
    bad = {b: (int(rng.integers(9)), b // 2) for b in range(0, 38, 2)}
    for b, (t, v) in bad.items():
        rows[b][t, v] = np.nan
    dirty = loss_and_gradient(rows, labels, 0, dtype, level=level, layout="time_major")
    for b in range(40):
        if b in bad:
            assert np.isnan(dirty.loss[b]) and np.isnan(dirty.gradients[b]).all(), bad[b]
        else:
            assert dirty.loss[b] == clean.loss[b]
            np.testing.assert_array_equal(dirty.gradients[b], clean.gradients[b])


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_infinite_and_huge_logits(dtype, level):
    rng = np.random.default_rng(8)
    rows, labels = random_rows(rng, [(12, 3)] * 6 + [(30, 9)] * 4, 9)
    rows[0][:, 8] = -np.inf
    rows[1][::2, labels[1][0]] = -np.inf
    rows[2][:, labels[2][1]] = -np.inf  # infeasible
    rows[3][:, 0] = -np.inf  # no blank
    rows[4][5, :8] = -np.inf
    rows[5] *= 50.0
    for b in range(6, 10):
        rows[b] *= 1e3
    check(rows, labels, 0, dtype, level=level)


@pytest.mark.parametrize("level", LEVELS)
def test_long_row(level):
    """More than 1024 states and 1500 frames: float32 keeps its digits."""
    rows, labels = random_rows(np.random.default_rng(9), [(1500, 520), (1499, 3)], 28)
    check(rows, labels, 0, "float32", level=level)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_steady_rows(dtype, level):
    """Every frame alike: mantissas grow or shrink by the same factor in every step."""
    rows, labels = [], []
    for gap in (0.0, 0.1, 0.3, 0.36, 0.6, 0.69, 5.0):
        for num_frames, num_labels in ((300, 40), (299, 0), (130, 100), (65, 1)):
            frame = np.zeros(5)
            frame[4] = gap  # the largest logit is one of a class that no path visits
            rows.append(np.tile(frame, (num_frames, 1)))
            labels.append(np.resize([1, 2, 3], num_labels).tolist())
    check(rows, labels, 0, dtype, level=level)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("num_classes", [28, 100])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_logits_far_from_zero(dtype, num_classes, level):
    """What all logits have in common cancels, and costs no digit of their differences."""
    rng = np.random.default_rng(11)
    rows, labels = [], []
    for offset in (1e3, 1e5, 2.0**21, 2.0**22, 2.0**23, 1e9):
        shapes = [(60, 10), (41, 20)]
        more, more_labels = random_rows(rng, shapes, num_classes, scale=20.0)
        rows += [row + sign * offset for row in more for sign in (1, -1)]
        labels += [label for label in more_labels for _ in range(2)]
    check(rows, labels, 0, dtype, level=level)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("num_classes", [4, 28, 300])
def test_confident_rows(num_classes, level):
    """Losses near zero keep their digits and their sign, whatever the number of classes."""
    rng = np.random.default_rng(10)
    path = [0] * 3 + [1, 1, 0, 2, 2, 2, 0] + [0] * 140
    margins = np.linspace(2.0, 40.0, 40)
    noise = [0.3 * rng.normal(size=(len(path), num_classes)) for _ in margins]
    rows = [m * np.eye(num_classes)[path] + n for m, n in zip(margins, noise, strict=True)]
    for dtype in ("float32", "float64"):
        check(rows, [[1, 2]] * len(rows), 0, dtype, level=level)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_rows_without_frames_at_either_end(layout):
    """Nothing of a row without frames is in memory, first, last and alone."""
    for dtype in DTYPES:
        for lengths in ([0], [0, 0], [0, 5, 0], [5, 0]):
            for label in ([], [1]):
                rows = [np.ones((n, 3)) for n in lengths]
                check(rows, [label] * len(rows), 0, dtype, layout=layout)


def test_empty_batch():
    for level in LEVELS:
        result = kernels.ctc_loss(
            np.zeros(0, np.float32), [], 4, [], [], 4, np.zeros((0, 3), np.int32), [], level=level
        )
        assert result["loss"].shape == (0,)
