"""What CTCLoss takes: every form of y_true, with every source of frame lengths."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras_support import Batch, with_mask

from tf_warpctc.keras import CTCLoss, CTCTargets

# y_true without frame lengths, which then come from the mask.
MASKED_FORMS = {
    "padded with -1": lambda batch: batch.padded(-1),
    "padded with the blank": lambda batch: batch.padded(batch.blank % batch.logits.shape[-1]),
    "padded with both": lambda batch: np.pad(
        batch.padded(batch.blank % batch.logits.shape[-1]), [(0, 0), (0, 2)], constant_values=-1
    ),
    "int32": lambda batch: tf.constant(batch.padded(-1), tf.int32),
    "int8": lambda batch: batch.padded(-1).astype(np.int8),
    "float32": lambda batch: batch.padded(-1).astype(np.float32),
    "list": lambda batch: batch.padded(-1).tolist(),
    "ragged": lambda batch: batch.ragged(),
    "sparse": lambda batch: batch.ragged().to_sparse(),
    "dict, no logit_length": lambda batch: {
        "labels": batch.labels,
        "label_length": batch.label_length,
    },
    "tuple of two": lambda batch: (batch.labels, batch.label_length),
}
EXPLICIT_FORMS = {
    "dict": lambda b: {
        "labels": b.labels,
        "label_length": b.label_length,
        "logit_length": b.logit_length,
    },
    "tuple": lambda b: (b.labels, b.label_length, b.logit_length),
    "CTCTargets": lambda b: CTCTargets(b.labels, b.label_length, b.logit_length),
    "lengths as columns": lambda b: (
        b.labels,
        b.label_length[:, None].astype(np.float32),
        tf.constant(b.logit_length[:, None], tf.int32),
    ),
    "padded, logit_length": lambda b: {"labels": b.padded(-1), "logit_length": b.logit_length},
    "ragged, logit_length": lambda b: (b.ragged(), None, b.logit_length),
    "sparse, logit_length": lambda b: CTCTargets(
        b.ragged().to_sparse(), logit_length=b.logit_length
    ),
}


def row_losses(y_true, y_pred, **options):
    return CTCLoss(reduction="none", **options)(y_true, y_pred).numpy()


class TestForms:
    @pytest.mark.parametrize("blank", [0, 2, -1])
    @pytest.mark.parametrize("form", MASKED_FORMS)
    def test_lengths_of_the_mask(self, form, blank):
        batch = Batch(blank=blank)
        y_true = MASKED_FORMS[form](batch)
        losses = row_losses(y_true, with_mask(batch.logits, batch.mask), blank_index=blank)
        np.testing.assert_allclose(losses, batch.losses(), rtol=1e-5)

    @pytest.mark.parametrize("form", MASKED_FORMS)
    def test_all_frames_without_a_mask(self, form):
        batch = Batch()
        losses = row_losses(MASKED_FORMS[form](batch), batch.logits)
        np.testing.assert_allclose(losses, batch.losses(all_frames=True), rtol=1e-5)

    @pytest.mark.parametrize("masked", [False, True])
    @pytest.mark.parametrize("form", EXPLICIT_FORMS)
    def test_explicit_lengths_go_before_the_mask(self, form, masked):
        batch = Batch()
        mask = np.ones(batch.mask.shape, bool) if masked else None
        losses = row_losses(EXPLICIT_FORMS[form](batch), with_mask(batch.logits, mask))
        np.testing.assert_allclose(losses, batch.losses(), rtol=1e-5)

    def test_ragged_logits(self):
        batch = Batch()
        logits = tf.RaggedTensor.from_tensor(batch.logits, lengths=batch.logit_length)
        np.testing.assert_allclose(row_losses(batch.ragged(), logits), batch.losses(), rtol=1e-5)

    def test_inside_a_function_of_unknown_shapes(self):
        batch = Batch(blank=-1)
        loss = CTCLoss(blank_index=-1, reduction=None)

        @tf.function(
            input_signature=[tf.TensorSpec(None, tf.int64), tf.TensorSpec(None, tf.float32)]
            + [tf.TensorSpec(None, tf.bool)]
        )
        def call(y_true, logits, mask):
            logits._keras_mask = mask
            return loss(y_true, logits)

        losses = call(batch.padded(-1), batch.logits, batch.mask)
        np.testing.assert_allclose(losses, batch.losses(), rtol=1e-5)

    def test_padding_takes_no_part_of_a_row_with_more_labels_after_it(self):
        """-1 before the last label isn't padding, and no class either."""
        logits = np.zeros((1, 5, 4), np.float32)
        with pytest.raises(tf.errors.InvalidArgumentError):
            CTCLoss()(np.array([[1, -1, 2]]), logits)


class TestMask:
    def test_b_equal_to_t(self):
        """Keras' own weighting with the mask is silently wrong where [B] meets [B,B]."""
        batch = Batch(rows=8, frames=8)
        losses = batch.losses()
        y_pred = with_mask(batch.logits, batch.mask)
        np.testing.assert_allclose(row_losses(batch.padded(-1), y_pred), losses, rtol=1e-5)
        mean = CTCLoss()(batch.padded(-1), y_pred).numpy()
        assert mean == pytest.approx(losses.mean(), rel=1e-5)

    def test_a_row_without_live_frames(self):
        batch = Batch()
        mask = batch.mask
        mask[1] = False
        losses = row_losses(np.full((4, 1), -1), with_mask(batch.logits, mask))
        assert losses[1] == 0
        assert (losses[[0, 2, 3]] > 0).all()

    @pytest.mark.parametrize("name", ["hole", "left padding"])
    @pytest.mark.parametrize("mode", ["eager", "function"])
    def test_masks_which_are_no_prefix_raise(self, name, mode):
        batch = Batch()
        mask = np.ones(batch.mask.shape, bool)
        if name == "hole":
            mask[2, 4] = False
        else:
            mask[2, 0] = False

        def call():
            return CTCLoss()(batch.padded(-1), with_mask(batch.logits, mask))

        with pytest.raises(tf.errors.InvalidArgumentError, match=r"right padding.*\[2\]"):
            (tf.function(call) if mode == "function" else call)()

    def test_mask_of_other_frames_raises(self):
        batch = Batch()
        y_pred = with_mask(batch.logits[:, ::2], batch.mask)
        with pytest.raises(ValueError, match=r"shape \[B,T\] = \(4, 5\).*\(4, 9\)"):
            CTCLoss()(batch.padded(-1), y_pred)

    def test_mask_of_other_frames_raises_at_run_time(self):
        batch = Batch()

        @tf.function(input_signature=[tf.TensorSpec([None, None, 5], tf.float32)])
        def call(logits):
            logits._keras_mask = tf.constant(batch.mask)
            return CTCLoss()(batch.padded(-1), logits)

        with pytest.raises(tf.errors.InvalidArgumentError, match="change the mask too"):
            call(batch.logits[:, ::2])


class TestTargets:
    def test_batches_of_a_dataset(self):
        batch = Batch(rows=6)
        targets = CTCTargets(batch.ragged(), logit_length=batch.logit_length)
        dataset = tf.data.Dataset.from_tensor_slices((batch.logits, targets)).batch(4)
        losses = [row_losses(y_true, logits) for logits, y_true in dataset]
        assert [len(row) for row in losses] == [4, 2]
        np.testing.assert_allclose(np.concatenate(losses), batch.losses(), rtol=1e-5)

    def test_is_one_object_for_keras(self):
        targets = CTCTargets([[1, 2]], [2])
        assert keras.tree.flatten(targets) == [targets]
