"""Independent answers for CTC: what every test compares the library with.

Nothing here is shared with the library, not even an idea of how to compute. Four kinds of answer:

* `loss_and_gradient`: the forward-backward recursion of Graves et al. 2006 (equations 6 to 16) in
  float64 and log space, one row at a time, with plain NumPy.
* `enumerate_paths`: every one of the V**T paths, for tiny T and V. No recursion at all.
* closed forms: cases whose loss is known from a formula.
* `greedy_row` and `align_row`: best-path decoding in plain Python, frame by frame.

test_oracles.py tests them against each other. Letters: T frames, V classes with the blank,
U labels, S = 2U+1 lattice states (blank, label, blank, ..., label, blank).
"""

import itertools
import math
from typing import NamedTuple

import numpy as np

NEG_INF = -np.inf


def log_softmax(logits, precision=np.float64):
    """Log softmax over the last axis; -inf logits give -inf, a frame of only -inf gives NaN."""
    logits = np.asarray(logits, precision)
    if logits.shape[-1] == 0:
        return logits
    with np.errstate(invalid="ignore", over="ignore"):
        shifted = logits - logits.max(-1, keepdims=True)
        return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def repeats(labels):
    """How many labels equal their left neighbour; each needs a blank between, so one more frame."""
    return sum(a == b for a, b in itertools.pairwise(labels))


def feasible(num_frames, labels):
    """Whether `num_frames` frames can spell `labels` at all."""
    return num_frames >= len(labels) + repeats(labels)


def _log_add(*terms):
    out = terms[0]
    for term in terms[1:]:
        out = np.logaddexp(out, term)
    return out


def _shift(states, by):
    """states[s - by] at place s, -inf where that is outside; `by` may be negative."""
    out = np.full_like(states, NEG_INF)
    if by >= 0:
        out[by:] = states[: len(states) - by]
    else:
        out[:by] = states[-by:]
    return out


def loss_and_gradient(logits, labels, blank=0, precision=np.float64):
    """The CTC loss of one row and its gradient for the logits.

    Args:
      logits: [T, V] numbers, only the live frames.
      labels: the U class ids of the row, none equal to the blank.
      blank: index of the blank; negative counts from V.
      precision: type to compute in. A log alpha of -1e4 in float64 has steps of 2e-12, which a row
        of thousands of frames adds up; np.longdouble (where it is longer) does not.

    Returns:
      (loss, gradient [T, V]), float64. Infeasible rows give (inf, zeros); a NaN in a frame gives
      (nan, all nan), and so does a frame without any finite logit.
    """
    logits = np.asarray(logits, np.float64)
    num_frames, num_classes = logits.shape
    labels = [int(label) for label in labels]
    blank = blank % num_classes
    assert all(0 <= label < num_classes and label != blank for label in labels)
    if np.isnan(logits).any():
        return np.nan, np.full_like(logits, np.nan)
    log_prob = log_softmax(logits, precision)
    if np.isnan(log_prob).any():  # a frame of -inf alone is no distribution, nor is one with +inf
        return np.nan, np.full_like(logits, np.nan)
    states = np.full(2 * len(labels) + 1, blank)
    states[1::2] = labels
    # A state may be entered from two to its left only if it is a label that differs from that one.
    skip = np.full(len(states), NEG_INF, precision)
    skip[2:][(states[2:] != blank) & (states[2:] != states[:-2])] = 0.0
    if num_frames == 0:
        return (np.inf if labels else 0.0), np.zeros_like(logits)

    alpha = np.full((num_frames, len(states)), NEG_INF, precision)
    beta = np.full((num_frames, len(states)), NEG_INF, precision)
    alpha[0, :2] = log_prob[0, states[:2]]
    for t in range(1, num_frames):  # equation 6
        before = alpha[t - 1]
        reach = _log_add(before, _shift(before, 1), _shift(before, 2) + skip)
        alpha[t] = reach + log_prob[t, states]
    # beta excludes the frame's own emission, so alpha + beta is the occupancy without a division.
    beta[-1, -2:] = 0.0
    for t in range(num_frames - 2, -1, -1):  # equation 9
        after = beta[t + 1] + log_prob[t + 1, states]
        beta[t] = _log_add(after, _shift(after, -1), _shift(after + skip, -2))

    log_likelihood = np.logaddexp.reduce(alpha[-1, -2:])
    if log_likelihood == NEG_INF:
        return np.inf, np.zeros_like(logits)
    occupancy = alpha + beta
    # Every frame's occupancies sum to the likelihood; dividing by the frame's own sum keeps the
    # rounding of a long recursion out of the gradient.
    occupancy = np.exp(occupancy - np.logaddexp.reduce(occupancy, axis=1, keepdims=True))
    gradient = np.exp(log_prob)  # equation 16
    for s, label in enumerate(states):
        gradient[:, label] -= occupancy[:, s]
    return max(0.0, -float(log_likelihood)), gradient.astype(np.float64)


def collapse(path, blank):
    """What a path of class ids spells: repeats merged, then blanks dropped."""
    return [label for label, _ in itertools.groupby(path) if label != blank]


def enumerate_paths(logits, labels, blank=0):
    """Loss and gradient from all V**T paths, for tiny T and V; same contract as above."""
    logits = np.asarray(logits, np.float64)
    num_frames, num_classes = logits.shape
    blank = blank % num_classes
    probabilities = np.exp(log_softmax(logits))
    total = 0.0
    visits = np.zeros_like(logits)  # probability of spelling the labels with class v at frame t
    for path in itertools.product(range(num_classes), repeat=num_frames):
        if collapse(path, blank) == list(labels):
            probability = math.prod(probabilities[t, v] for t, v in enumerate(path))
            total += probability
            for t, v in enumerate(path):
                visits[t, v] += probability
    if total == 0.0:
        return np.inf, np.zeros_like(logits)
    return -math.log(total), probabilities - visits / total


def count_alignments(num_frames, labels):
    """How many paths of `num_frames` frames spell `labels`: C(T + U - R, 2U), R adjacent repeats.

    A path is a choice of where each label starts and ends: T frames cut at 2U places, where R of
    the gaps between labels must hold a blank at least.
    """
    free = num_frames + len(labels) - repeats(labels)
    return math.comb(free, 2 * len(labels)) if free >= 0 else 0


def uniform_loss(num_frames, num_classes, labels):
    """The loss when every class has the same logit, from counting alone (exact in integers)."""
    count = count_alignments(num_frames, labels)
    return num_frames * math.log(num_classes) - math.log(count) if count else math.inf


def single_path_loss(logits, path):
    """-sum log p along one path: the loss if no other path spells the same labels."""
    log_prob = log_softmax(logits)
    return -math.fsum(log_prob[t, v] for t, v in enumerate(path))


def one_label_steady_loss(num_frames, log_p_label, log_p_blank):
    """The loss of a one-label row whose frames all give the same probabilities.

    A run of m label frames fits in T - m + 1 places, the others are blanks.
    """
    return -float(
        np.logaddexp.reduce(
            [
                math.log(num_frames - m + 1) + m * log_p_label + (num_frames - m) * log_p_blank
                for m in range(1, num_frames + 1)
            ]
        )
    )


class GreedyRow(NamedTuple):
    """One row of best-path decoding; lists are as long as the number of tokens."""

    tokens: list
    score: float  # -sum of the frames' highest logits
    starts: list
    ends: list  # one past the last frame merged into the token
    log_probabilities: list  # sum over the token's frames of its log softmax


def best_class(frame):
    """Index of the highest number, the lowest index of equals; NaN never wins; 0 if none can."""
    best, best_value = 0, -math.inf
    for v, value in enumerate(frame):
        if value > best_value:  # false for NaN
            best, best_value = v, value
    return best


def greedy_row(logits, blank=0, merge_repeated=True):
    """Best-path decoding of one row of live frames [T, V]."""
    logits = np.asarray(logits, np.float64)
    blank = blank % logits.shape[1]
    tokens, starts, ends, log_probabilities = [], [], [], []
    score = 0.0
    previous = None
    for t, frame in enumerate(logits):
        best = best_class(frame)
        score -= math.nan if np.isnan(frame).any() else frame[best]
        log_prob = log_softmax(frame)[best]
        if best != blank and merge_repeated and best == previous:
            ends[-1] = t + 1
            log_probabilities[-1] += log_prob
        elif best != blank:
            tokens.append(best)
            starts.append(t)
            ends.append(t + 1)
            log_probabilities.append(log_prob)
        previous = best
    return GreedyRow(tokens, score, starts, ends, log_probabilities)


def align_row(tokens, blank=0, merge_repeated=True):
    """Merge and drop on ids."""
    out, previous = [], None
    for token in tokens:
        if token != blank and not (merge_repeated and token == previous):
            out.append(token)
        previous = token
    return out
