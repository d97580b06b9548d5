"""Agreement with TensorFlow and Keras where they are right, and the same call as theirs.

Left out, because the peer is wrong or refuses there (seen with TensorFlow 2.21 and Keras 3.15):
  tf.nn.ctc_loss, dense, and keras.ops.ctc_loss: rows without a valid alignment (finite numbers
    near 707, with a gradient), -inf logits (NaN), float64 (a type error in TensorFlow), half types
    (TensorFlow's loss is of that type and overflows);
  tf.nn.ctc_loss, sparse: rows without a valid alignment (raises);
  tf.nn.ctc_greedy_decoder: empty batches and no frames (raises), negative lengths (taken as zero),
    NaN (wins if it is in class 0), half types (no kernel).
"""

import functools
import inspect

import keras
import numpy as np
import pytest
import support
import tensorflow as tf

import tf_warpctc

SEEDS = range(6)


def draw(seed, blank_index=0):
    """A feasible batch without empty labels: (batch, dense arrays with legal padding)."""
    rng = np.random.default_rng(seed)
    num_classes = int(rng.integers(3, 30))
    rows = int(rng.integers(1, 9))
    shapes = []
    for _ in range(rows):
        labels = int(rng.integers(1, 12))
        shapes.append((2 * labels + int(rng.integers(0, 20)), labels))
    batch = support.random_batch(rng, shapes, num_classes, blank_index)
    width = int(batch.label_length.max())
    legal = next(v for v in range(num_classes) if v != blank_index % num_classes)
    labels = np.full((rows, width), legal, np.int32)
    logits = np.zeros((rows, int(batch.logit_length.max()), num_classes), np.float32)
    for b in range(rows):
        labels[b, : len(batch.labels[b])] = batch.labels[b]
        logits[b, : len(batch.frames[b])] = batch.frames[b]
    lengths = batch.label_length.astype(np.int32), batch.logit_length.astype(np.int32)
    return batch, labels, logits, *lengths


def value_and_gradient(function, logits):
    logits = tf.constant(logits)
    with tf.GradientTape() as tape:
        tape.watch(logits)
        loss = function(logits)
    return loss.numpy(), tape.gradient(loss, logits).numpy()


def assert_close_to_peer(ours, peer):
    # The peers work in float32 log space, which is good to about four digits.
    np.testing.assert_allclose(ours[0], peer[0], rtol=2e-4, atol=2e-4)
    np.testing.assert_allclose(ours[1], peer[1], atol=1e-3)
    assert ours[0].dtype == peer[0].dtype and ours[1].dtype == peer[1].dtype


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("time_major", [True, False])
def test_tf_nn_ctc_loss_dense(seed, time_major):
    blank = (0, -1, 1)[seed % 3]
    _, labels, logits, label_length, logit_length = draw(seed, blank)
    if time_major:
        logits = logits.transpose(1, 0, 2)

    def call(function):
        return lambda logits: function(
            labels, logits, label_length, logit_length, time_major, blank_index=blank
        )

    ours = value_and_gradient(call(tf_warpctc.ctc_loss), logits)
    assert_close_to_peer(ours, value_and_gradient(call(tf.nn.ctc_loss), logits))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("time_major", [True, False])
def test_tf_nn_ctc_loss_sparse(seed, time_major):
    blank = (0, -1, 1)[seed % 3]
    batch, _, logits, _, logit_length = draw(seed, blank)
    sparse, _ = support.label_arguments(batch, "sparse", "int32")
    if time_major:
        logits = logits.transpose(1, 0, 2)

    def call(function):
        return lambda logits: function(
            labels=sparse,
            logits=logits,
            label_length=None,
            logit_length=logit_length,
            logits_time_major=time_major,
            blank_index=blank,
        )

    ours = value_and_gradient(call(tf_warpctc.ctc_loss), logits)
    assert_close_to_peer(ours, value_and_gradient(call(tf.nn.ctc_loss), logits))


@pytest.mark.parametrize("seed", SEEDS)
def test_keras_ops_ctc_loss(seed):
    blank = (0, -1, 1)[seed % 3]
    _, labels, logits, label_length, logit_length = draw(seed, blank)
    ours = value_and_gradient(
        lambda logits: tf_warpctc.ctc_loss(
            labels, logits, label_length, logit_length, False, blank_index=blank
        ),
        logits,
    )
    peer = value_and_gradient(
        lambda logits: keras.ops.ctc_loss(labels, logits, label_length, logit_length, blank),
        logits,
    )
    assert_close_to_peer(ours, peer)


def random_frames(seed, dtype=np.float32):
    """Small whole numbers, so that ties are common; and lengths with a zero among them."""
    rng = np.random.default_rng(seed)
    rows, num_frames, num_classes = rng.integers(1, 7), rng.integers(1, 30), rng.integers(1, 9)
    inputs = rng.integers(-2, 3, (num_frames, rows, num_classes)).astype(dtype)
    lengths = rng.integers(0, num_frames + 1, rows).astype(np.int32)
    lengths[0] = 0 if seed % 4 == 0 else lengths[0]
    return inputs, lengths


def assert_same_decoding(ours, peer):
    assert type(ours) is type(peer) and len(ours) == len(peer) == 2
    assert type(ours[0]) is type(peer[0]) and len(ours[0]) == len(peer[0]) == 1

    def parts(decoded, score):
        return [decoded[0].indices, decoded[0].values, decoded[0].dense_shape, score]

    for a, b in zip(parts(*ours), parts(*peer), strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("merge_repeated", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("mode", ["eager", "function"])
def test_tf_nn_ctc_greedy_decoder(mode, dtype, merge_repeated):
    for seed in range(25 if mode == "eager" else 4):
        inputs, lengths = random_frames(seed)
        num_classes = inputs.shape[2]
        inputs, lengths = tf.constant(inputs, dtype), tf.constant(lengths)
        for blank in {None, 0, num_classes - 1, -1, -num_classes, num_classes // 2}:
            options = {"merge_repeated": merge_repeated}
            if blank is not None:
                options["blank_index"] = blank
            ours, peer = [
                support.in_mode(mode, functools.partial(decoder, **options), inputs, lengths)
                for decoder in (tf_warpctc.ctc_greedy_decoder, tf.nn.ctc_greedy_decoder)
            ]
            assert_same_decoding(ours, peer)


def test_greedy_decoder_is_traced_to_the_same_static_shapes():
    def outputs(function, *specs):
        (decoded,), score = tf.function(function).get_concrete_function(*specs).structured_outputs
        parts = [decoded.indices, decoded.values, decoded.dense_shape, score]
        return [(part.shape.as_list(), part.dtype) for part in parts]

    for shape, length in [([None, 4, 5], [None]), ([7, None, 5], [4]), ([3, 4, 5], [4])]:
        specs = tf.TensorSpec(shape, tf.float32), tf.TensorSpec(length, tf.int32)
        ours = outputs(tf_warpctc.ctc_greedy_decoder, *specs)
        assert ours == outputs(tf.nn.ctc_greedy_decoder, *specs)


@pytest.mark.parametrize("merge_repeated", [True, False])
def test_keras_ops_ctc_decode_greedy(merge_repeated):
    for seed in range(10):
        inputs, lengths = random_frames(seed)
        inputs = inputs.transpose(1, 0, 2)
        for blank in (0, inputs.shape[2] - 1):
            decoded, score = keras.ops.ctc_decode(
                inputs, lengths, "greedy", merge_repeated=merge_repeated, mask_index=blank
            )
            ours = tf_warpctc.ctc_greedy_decode(
                inputs, lengths, blank, merge_repeated=merge_repeated
            )
            np.testing.assert_array_equal(ours.tokens, decoded[0])
            np.testing.assert_array_equal(ours.score, np.array(score)[:, 0])


def test_same_signatures():
    """Drop-in: the peer's parameters come first, with their names, order and defaults."""

    def leading(ours, peer):
        ours, peer = inspect.signature(ours).parameters, inspect.signature(peer).parameters
        shared = [name for name in ours if name in peer]
        assert shared == list(peer)
        return ours, peer

    ours, peer = leading(tf_warpctc.ctc_loss, tf.nn.ctc_loss)
    different = {name for name in peer if ours[name].default != peer[name].default}
    assert different == {"blank_index"}  # None means 0 to the peer for dense labels
    ours, peer = leading(tf_warpctc.ctc_greedy_decoder, tf.nn.ctc_greedy_decoder)
    assert all(ours[name].default == peer[name].default for name in peer)
    assert list(ours) == list(peer)
