"""The oracles agree with each other; without this, agreeing with them would mean little."""

import itertools
import math

import numpy as np
import oracles
import pytest
from cases import load_cases


def random_logits(rng, num_frames, num_classes, scale=2.0):
    return rng.normal(0.0, scale, (num_frames, num_classes))


def all_labels(num_classes, blank, longest):
    classes = [v for v in range(num_classes) if v != blank]
    for length in range(longest + 1):
        yield from itertools.product(classes, repeat=length)


@pytest.mark.parametrize(("num_frames", "num_classes"), [(1, 2), (2, 2), (3, 3), (4, 3), (5, 3)])
def test_recursion_equals_enumeration(num_frames, num_classes):
    rng = np.random.default_rng(num_frames * 10 + num_classes)
    for blank in range(num_classes):
        logits = random_logits(rng, num_frames, num_classes)
        for labels in all_labels(num_classes, blank, min(num_frames + 1, 3)):
            loss, gradient = oracles.loss_and_gradient(logits, labels, blank)
            path_loss, path_gradient = oracles.enumerate_paths(logits, labels, blank)
            np.testing.assert_allclose(loss, path_loss, rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(gradient, path_gradient, atol=1e-12)


def test_all_labellings_sum_to_one():
    """Every path spells exactly one label sequence."""
    logits = random_logits(np.random.default_rng(1), 4, 3)
    total = math.fsum(
        math.exp(-oracles.loss_and_gradient(logits, labels, 1)[0])
        for labels in all_labels(3, blank=1, longest=4)
    )
    assert total == pytest.approx(1.0, abs=1e-12)


def test_alignment_count_equals_enumeration():
    for num_frames in range(6):
        for labels in all_labels(3, blank=0, longest=4):
            count = sum(
                oracles.collapse(path, 0) == list(labels)
                for path in itertools.product(range(3), repeat=num_frames)
            )
            assert oracles.count_alignments(num_frames, labels) == count
            assert oracles.feasible(num_frames, labels) == (count > 0)


@pytest.mark.parametrize(
    ("num_frames", "labels"),
    [(0, []), (7, []), (5, [1, 2, 3]), (9, [2, 2, 2]), (150, [1, 1, 2, 3, 3] * 8), (3, [1, 2] * 3)],
)
def test_uniform_closed_form(num_frames, labels):
    loss, _ = oracles.loss_and_gradient(np.zeros((num_frames, 4)), labels, 0)
    assert loss == pytest.approx(oracles.uniform_loss(num_frames, 4, labels), rel=1e-12)


def test_single_path_closed_forms():
    logits = random_logits(np.random.default_rng(2), 6, 8)
    labels = [1, 5, 2, 7, 1, 3]  # as many labels as frames and no repeats: one path
    loss, gradient = oracles.loss_and_gradient(logits, labels, 0)
    assert loss == pytest.approx(oracles.single_path_loss(logits, labels), rel=1e-13)
    softmax = np.exp(oracles.log_softmax(logits))
    np.testing.assert_allclose(gradient, softmax - np.eye(8)[labels], atol=1e-13)
    loss, gradient = oracles.loss_and_gradient(logits, [], 3)
    assert loss == pytest.approx(oracles.single_path_loss(logits, [3] * 6), rel=1e-13)
    np.testing.assert_allclose(gradient, softmax - np.eye(8)[[3] * 6], atol=1e-13)


def test_one_label_steady_closed_form():
    frame = random_logits(np.random.default_rng(3), 1, 5)
    log_prob = oracles.log_softmax(frame)[0]
    loss, _ = oracles.loss_and_gradient(np.repeat(frame, 40, axis=0), [4], 2)
    expected = oracles.one_label_steady_loss(40, log_prob[4], log_prob[2])
    assert loss == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("labels", "blank"), [([], 0), ([1, 2], 0), ([0, 0, 1], 2), ([3, 1], -2)])
def test_gradient_equals_central_differences(labels, blank):
    logits = random_logits(np.random.default_rng(4), 6, 4)
    _, gradient = oracles.loss_and_gradient(logits, labels, blank)
    step = 1e-5
    for t, v in np.ndindex(*logits.shape):
        nudge = np.zeros_like(logits)
        nudge[t, v] = step
        high, _ = oracles.loss_and_gradient(logits + nudge, labels, blank)
        low, _ = oracles.loss_and_gradient(logits - nudge, labels, blank)
        assert gradient[t, v] == pytest.approx((high - low) / (2 * step), abs=1e-8)


def test_gradient_rows_sum_to_zero():
    """Adding a number to every logit of a frame changes nothing."""
    logits = random_logits(np.random.default_rng(5), 30, 9)
    _, gradient = oracles.loss_and_gradient(logits, [1, 1, 4, 8, 8, 2], 0)
    np.testing.assert_allclose(gradient.sum(-1), 0.0, atol=1e-12)


def test_edges():
    assert oracles.loss_and_gradient(np.zeros((0, 3)), [], 0)[0] == 0.0
    assert oracles.loss_and_gradient(np.zeros((0, 3)), [1], 0)[0] == math.inf
    assert oracles.loss_and_gradient(np.zeros((4, 1)), [], 0)[0] == 0.0
    loss, gradient = oracles.loss_and_gradient(np.zeros((2, 3)), [1, 1], 0)
    assert loss == math.inf and not gradient.any()
    nan_logits = np.zeros((2, 3))
    nan_logits[1, 2] = np.nan
    assert math.isnan(oracles.loss_and_gradient(nan_logits, [1], 0)[0])
    impossible = np.zeros((3, 3))
    impossible[:, 1] = -np.inf
    assert oracles.loss_and_gradient(impossible, [1], 0)[0] == math.inf
    assert oracles.loss_and_gradient(impossible, [2], 0)[0] < math.inf


def test_agrees_with_the_recorded_cases():
    """The case file came from elsewhere; its numbers must be what the oracle says."""
    checked = 0
    for case in load_cases():
        if case.expect is None:
            loss, gradient = oracles.loss_and_gradient(
                case.logits[: case.live_frames], case.live_labels, case.blank_index
            )
            assert loss == pytest.approx(case.loss, rel=1e-12), case.name
            if case.gradient is not None:
                np.testing.assert_allclose(
                    gradient, case.gradient[: case.live_frames], atol=1e-12, err_msg=case.name
                )
            checked += 1
    assert checked >= 14


def test_greedy_by_hand():
    #               blank=0, spells: a a _ a b b, read by eye
    path = [1, 1, 0, 1, 2, 2]
    logits = np.eye(3)[path] * 3.0
    row = oracles.greedy_row(logits, blank=0)
    log_prob = 3.0 - math.log(math.exp(3.0) + 2.0)
    assert row.tokens == [1, 1, 2]
    assert (row.starts, row.ends) == ([0, 3, 4], [2, 4, 6])
    assert row.score == -18.0
    np.testing.assert_allclose(row.log_probabilities, np.array([2, 1, 2]) * log_prob)
    assert oracles.greedy_row(logits, 0, merge_repeated=False).tokens == [1, 1, 1, 2, 2]
    assert oracles.greedy_row(logits, -1).tokens == [1, 0, 1]
    assert oracles.greedy_row(np.zeros((3, 4)), blank=3).tokens == [0]  # ties: the lowest index


def test_best_class_orders_nan_and_inf():
    nan, inf = math.nan, math.inf
    assert oracles.best_class([nan, 1.0, 2.0]) == 2
    assert oracles.best_class([3.0, nan, 2.0]) == 0
    assert oracles.best_class([nan, -inf, -5.0]) == 2
    assert oracles.best_class([-inf, -inf]) == 0
    assert oracles.best_class([nan, nan]) == 0
    assert oracles.best_class([1.0, inf, inf]) == 1


def test_align_equals_greedy_on_the_path():
    rng = np.random.default_rng(6)
    for _ in range(50):
        path = rng.integers(0, 4, rng.integers(0, 12)).tolist()
        for blank, merge in itertools.product(range(4), (True, False)):
            logits = np.eye(4)[path] if path else np.zeros((0, 4))
            expected = oracles.greedy_row(logits, blank, merge).tokens
            assert oracles.align_row(path, blank, merge) == expected
            if merge:
                assert oracles.collapse(path, blank) == expected


def test_case_file_is_complete():
    names = [case.name for case in load_cases()]
    assert len(names) == len(set(names)) == 20
