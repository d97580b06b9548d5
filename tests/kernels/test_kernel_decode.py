"""Greedy decoding and alignment kernels against plain Python, at every level and thread count."""

import numpy as np
import oracles
import pytest
from kernel_support import (
    DTYPES,
    FUSED_LEVELS,
    LAYOUTS,
    LEVELS,
    from_storage,
    kernels,
    lay_out,
    to_storage,
)

FIELDS = ("tokens", "lengths", "score", "start_frames", "end_frames", "log_probability")
ATOL = {"float16": 2e-6, "bfloat16": 2e-6, "float32": 2e-6, "float64": 1e-12}


def decode(rows, dtype="float32", layout="batch_major", **options):
    frames = lay_out(rows, layout, dtype)
    result = kernels.ctc_greedy_decode(frames.values, dtype=dtype, **frames.arguments(), **options)
    splits = np.concatenate([[0], np.cumsum(frames.capacity)])
    return result, splits


def check(rows, dtype, layout, blank=0, merge=True, padding=-1, level=""):
    result, splits = decode(
        rows, dtype, layout, blank=blank, merge_repeated=merge, padding=padding, level=level
    )
    for b, row in enumerate(rows):
        want = oracles.greedy_row(from_storage(to_storage(row, dtype), dtype), blank, merge)
        here = {name: result[name][splits[b] : splits[b + 1]] for name in FIELDS[3:]}
        tokens = result["tokens"][splits[b] : splits[b + 1]]
        count = len(want.tokens)
        rest = len(tokens) - count
        assert result["lengths"][b] == count
        np.testing.assert_array_equal(tokens, want.tokens + [padding] * rest)
        np.testing.assert_array_equal(here["start_frames"], want.starts + [-1] * rest)
        np.testing.assert_array_equal(here["end_frames"], want.ends + [-1] * rest)
        np.testing.assert_allclose(result["score"][b], want.score, rtol=1e-6, atol=ATOL[dtype])
        np.testing.assert_allclose(
            here["log_probability"],
            want.log_probabilities + [0.0] * rest,
            rtol=1e-6,
            atol=ATOL[dtype],
        )


def rows_of(rng, num_classes):
    rows = [rng.normal(0.0, 2.0, (n, num_classes)) for n in (0, 1, 7, 40)]
    rows.append(rng.integers(0, 3, (30, num_classes)).astype(np.float64))  # ties
    rows.append(np.repeat(rng.normal(size=(6, num_classes)), 5, axis=0))  # runs
    rows.append(np.zeros((4, num_classes)))
    return rows


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_matches_oracle(dtype, layout, level):
    rows = rows_of(np.random.default_rng(0), 5)
    for blank in (0, 2, 4):
        for merge in (True, False):
            check(rows, dtype, layout, blank, merge, padding=-9, level=level)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_class_count_sweep(dtype, level):
    """The best class in every lane, among ties, for every V up to some vectors."""
    rng = np.random.default_rng(1)
    for num_classes in [*range(1, 71), 127, 129, 1025]:
        best = rng.permutation(num_classes)[:70]
        rows = [rng.normal(size=(len(best), num_classes)) + 9.0 * np.eye(num_classes)[best]]
        rows.append(rng.integers(0, 2, (20, num_classes)).astype(np.float64))
        check(rows, dtype, "scattered", num_classes // 2, level=level)


@pytest.mark.parametrize("dtype", DTYPES)
def test_same_bits_at_every_fused_level_and_thread_count(dtype):
    rng = np.random.default_rng(2)
    for num_classes in (3, 16, 29, 300):
        rows = rows_of(rng, num_classes) * 3
        for levels in (LEVELS[:1], FUSED_LEVELS):
            results = [
                decode(rows, dtype, level=level, threads=threads)[0]
                for level in levels
                for threads in (1, 2, 3, 16)
            ]
            for result in results[1:]:
                for name in FIELDS:
                    np.testing.assert_array_equal(results[0][name], result[name])


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_nan_never_wins(dtype, level):
    """One NaN in each lane in turn: the best of the others stays the best, the score is NaN."""
    rng = np.random.default_rng(3)
    for num_classes in (2, 7, 8, 19, 33):
        rows, best = [], []
        for v in range(num_classes):
            row = rng.normal(size=(3, num_classes))
            row[1, v] = np.nan
            rows.append(row)
            best.append([oracles.best_class(frame) for frame in row])
        rows.append(np.full((1, num_classes), np.nan))
        rows.append(np.full((1, num_classes), -np.inf))
        rows.append(rng.normal(size=(3, num_classes)))
        result, splits = decode(rows, dtype, level=level, blank=num_classes - 1)
        for b, row in enumerate(rows):
            path = [oracles.best_class(from_storage(to_storage(x, dtype), dtype)) for x in row]
            want = oracles.align_row(path, num_classes - 1)
            got = result["tokens"][splits[b] :][: result["lengths"][b]]
            np.testing.assert_array_equal(got, want, err_msg=f"row {b} of V={num_classes}")
        score = result["score"]
        assert np.isnan(score[: num_classes + 1]).all()
        assert np.isposinf(score[num_classes + 1]) and np.isfinite(score[num_classes + 2])


def test_align():
    rng = np.random.default_rng(4)
    for _ in range(60):
        batch, width = rng.integers(0, 6), rng.integers(0, 40)
        ids = rng.integers(-1, 4, (batch, width))
        length = rng.integers(0, width + 1, batch)
        blank, merge = int(rng.integers(-1, 4)), bool(rng.integers(2))
        for threads in (1, 3):
            result = kernels.ctc_align(ids, length, blank, merge, -7, threads)
            for b in range(batch):
                want = oracles.align_row(ids[b, : length[b]].tolist(), blank, merge)
                assert result["lengths"][b] == len(want)
                padded = want + [-7] * (width - len(want))
                np.testing.assert_array_equal(result["aligned"][b], padded)
