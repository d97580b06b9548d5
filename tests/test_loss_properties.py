"""Drawn batches: any shape, lengths, blank, layout and garbage in the padding."""

import hypothesis
import numpy as np
import support
from hypothesis import strategies as st


@st.composite
def batches(draw):
    """Up to five rows; labels may not fit their frames, and any row may be empty."""
    num_classes = draw(st.integers(2, 7))
    blank = draw(st.integers(0, num_classes - 1))
    seed = draw(st.integers(0, 2**32 - 1))
    scale = draw(st.sampled_from([0.0, 0.1, 1.0, 5.0, 30.0]))
    shapes = draw(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5)), min_size=1, max_size=5))
    classes = [v for v in range(num_classes) if v != blank]
    rng = np.random.default_rng(seed)
    frames = [rng.normal(0.0, scale, (t, num_classes)) for t, _ in shapes]
    labels = [draw(st.lists(st.sampled_from(classes), min_size=u, max_size=u)) for _, u in shapes]
    negative = draw(st.booleans())
    return support.Batch(frames, labels, blank - num_classes if negative else blank)


@hypothesis.given(
    batch=batches(),
    dtype=st.sampled_from(support.DTYPES),
    layout=st.sampled_from(support.LAYOUTS),
    form=st.sampled_from(support.LABEL_FORMS),
    label_dtype=st.sampled_from(["int32", "int64"]),
)
def test_any_batch(batch, dtype, layout, form, label_dtype):
    result = support.evaluate(batch, dtype, layout, form, label_dtype, "eager", batch.upstream())
    support.assert_matches_oracle(batch, result, dtype, batch.upstream())


ODD_FLOATS = [np.nan, np.inf, -np.inf, 0.0, -1e38, 1e38, 1e-38]
ODD_INTEGERS = [-1, 0, 1, 7, 2**31 - 1, -(2**31)]


@hypothesis.given(
    batch=batches(),
    frame_garbage=st.lists(st.sampled_from(ODD_FLOATS), min_size=1, max_size=6),
    label_garbage=st.lists(st.sampled_from(ODD_INTEGERS), min_size=1, max_size=6),
    extra_frames=st.integers(0, 3),
    extra_labels=st.integers(0, 3),
    time_major=st.booleans(),
)
def test_padding_changes_no_bit(
    batch, frame_garbage, label_garbage, extra_frames, extra_labels, time_major
):
    """What stands past the lengths, and how much of it, is not seen in loss or gradient."""
    plain = support.evaluate(batch, layout="packed", form="ragged")

    class Padded(support.Batch):
        def padded_frames(self, extra=0):
            out = support.Batch.padded_frames(self, extra_frames)
            for b, n in enumerate(self.logit_length):
                out[b, n:] = np.resize(frame_garbage, out[b, n:].shape)
            return out

        def padded_labels(self, dtype, extra=0):
            out = support.Batch.padded_labels(self, dtype, extra_labels)
            for b, n in enumerate(self.label_length):
                out[b, n:] = np.resize(label_garbage, out.shape[1] - n)
            return out

    padded = Padded(batch.frames, batch.labels, batch.blank_index)
    layout = "time_major" if time_major else "batch_major"
    result = support.evaluate(padded, layout=layout)
    np.testing.assert_array_equal(result.loss, plain.loss)
    for ours, same in zip(result.gradients, plain.gradients, strict=True):
        np.testing.assert_array_equal(ours, same)
    np.testing.assert_array_equal(result.padding_gradient, 0.0)


@hypothesis.given(batch=batches(), shift=st.floats(-20, 20), seed=st.integers(0, 2**32 - 1))
def test_invariances(batch, shift, seed):
    """Shifting a frame's logits changes nothing; renaming the classes renames the gradient."""
    loss = support.evaluate(batch, "float64").loss
    shifted = support.Batch([x + shift for x in batch.frames], batch.labels, batch.blank_index)
    np.testing.assert_allclose(
        support.evaluate(shifted, "float64").loss, loss, rtol=1e-9, atol=1e-9
    )
    order = np.random.default_rng(seed).permutation(batch.num_classes)  # new class of old class
    blank = int(order[batch.blank_index % batch.num_classes])
    frames = [x[:, np.argsort(order)] for x in batch.frames]
    labels = [[int(order[label]) for label in row] for row in batch.labels]
    renamed = support.evaluate(support.Batch(frames, labels, blank), "float64")
    np.testing.assert_allclose(renamed.loss, loss, rtol=1e-12, atol=1e-12)
    plain = support.evaluate(batch, "float64").gradients
    for got, expected in zip(renamed.gradients, plain, strict=True):
        np.testing.assert_allclose(got[:, order], expected, atol=1e-12)
