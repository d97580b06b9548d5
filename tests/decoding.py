"""Runs the library's greedy decoding in every layout and mode and compares with the oracle."""

import numpy as np
import oracles
import support
import tensorflow as tf
from tolerances import LOSS_RTOL

import tf_warpctc

LOG_PROBABILITY_ATOL = {"float16": 2e-6, "bfloat16": 2e-6, "float32": 2e-6, "float64": 1e-12}


def decode(frames, layout, logits_dtype, mode="eager", **options):
    """GreedyDecoding of rows [T_b, V], padded with NaN or packed."""
    labels = [[] for _ in frames]
    values, lengths = support.logit_arguments(support.Batch(frames, labels), layout, logits_dtype)

    def run(values, lengths):
        if layout == "packed":
            logits = tf.RaggedTensor.from_row_splits(values, lengths, validate=False)
            return tf_warpctc.ctc_greedy_decode(logits, **options)
        return tf_warpctc.ctc_greedy_decode(
            values, lengths, logits_time_major=layout == "time_major", **options
        )

    return support.in_mode(mode, run, values, lengths)


def padded(rows, width, value, dtype):
    out = np.full((len(rows), width), value, dtype)
    for b, row in enumerate(rows):
        out[b, : len(row)] = row
    return out


def with_padding(decoding, padding=-1):
    """A ragged decoding's fields as a padded one has them."""
    if not isinstance(decoding.tokens, tf.RaggedTensor):
        return decoding
    behind = {"tokens": padding, "start_frames": -1, "end_frames": -1, "log_probability": 0}
    fields = {}
    for name, value in behind.items():
        field = getattr(decoding, name)
        np.testing.assert_array_equal(field.row_lengths(), decoding.lengths)
        fields[name] = field.to_tensor(tf.cast(value, field.dtype))
    return decoding._replace(**fields)


def assert_matches_oracle(decoding, frames, dtype, blank, merge=True, padding=-1, token_dtype=None):
    """Every field of a GreedyDecoding of these rows, and of its sparse and ragged faces."""
    rows = [oracles.greedy_row(support.round_to(x, dtype), blank, merge) for x in frames]
    token_dtype = token_dtype or tf.int64
    if not isinstance(decoding.tokens, tf.RaggedTensor):
        assert decoding.tokens.shape[1] >= max((len(x) for x in frames), default=0)
    decoding = with_padding(decoding, padding)
    width = decoding.tokens.shape[1]
    real = tf.float64 if dtype == "float64" else tf.float32
    assert decoding.tokens.dtype == token_dtype
    assert decoding.score.dtype == decoding.log_probability.dtype == real
    for field in (decoding.lengths, decoding.start_frames, decoding.end_frames):
        assert field.dtype in (tf.int32, tf.int64)

    tokens = [row.tokens for row in rows]
    np.testing.assert_array_equal(decoding.tokens, padded(tokens, width, padding, np.int64))
    np.testing.assert_array_equal(decoding.lengths, [len(t) for t in tokens])
    starts, ends = [row.starts for row in rows], [row.ends for row in rows]
    np.testing.assert_array_equal(decoding.start_frames, padded(starts, width, -1, np.int64))
    np.testing.assert_array_equal(decoding.end_frames, padded(ends, width, -1, np.int64))
    rtol = LOSS_RTOL[dtype]
    np.testing.assert_allclose(
        decoding.score, [row.score for row in rows], rtol=rtol, atol=LOG_PROBABILITY_ATOL[dtype]
    )
    np.testing.assert_allclose(
        decoding.log_probability,
        padded([row.log_probabilities for row in rows], width, 0.0, np.float64),
        rtol=rtol,
        atol=LOG_PROBABILITY_ATOL[dtype],
    )


def assert_faces_agree(decoding, frames, dtype, blank, merge=True):
    """.to_sparse() and .to_ragged() hold the same tokens; eager only."""
    rows = [oracles.greedy_row(support.round_to(x, dtype), blank, merge).tokens for x in frames]
    ragged = decoding.to_ragged()
    assert ragged.ragged_rank == 1
    assert ragged.to_list() == rows
    sparse = decoding.to_sparse()
    assert sparse.values.dtype == tf.int64
    indices = [[b, i] for b, row in enumerate(rows) for i in range(len(row))]
    np.testing.assert_array_equal(sparse.indices, np.reshape(indices, (-1, 2)))
    np.testing.assert_array_equal(sparse.values, [token for row in rows for token in row])
    longest = max((len(row) for row in rows), default=0)
    np.testing.assert_array_equal(sparse.dense_shape, [len(rows), longest])
