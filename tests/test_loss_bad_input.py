"""What bad values get: InvalidArgument that names the row, the value and the bound.

Every row of the table of bad input, for each layout and label form that can hold the fault, eagerly
and in a tf.function traced without dimensions (so that nothing is left to the shape function).
"""

import numpy as np
import pytest
import support
import tensorflow as tf

import tf_warpctc

T, B, V, U = 5, 4, 6, 3
LABELS = [[1, 2, 3], [4, 5, 1], [1, 1, 2], [5, 4, 3]]
MODES = ("eager", "unknown_shapes")

# How messages name a label: as an element of a dense array, or within its packed row.
PLACE = r"(labels\[{row}, {column}\]|label {column} of row {row}) "


def call(layout, labels, label_length, logit_length, mode="eager", blank_index=0, **options):
    """ctc_loss of uniform logits; packed frames are cut by logit_length."""
    if layout == "packed":
        splits = np.concatenate([[0], np.cumsum(logit_length)]).astype(np.int64)
        values, lengths = tf.zeros([int(splits[-1]), V]), tf.constant(splits)
    else:
        values = tf.zeros([T, B, V] if layout == "time_major" else [B, T, V])
        lengths = tf.constant(logit_length)

    def loss(values, lengths, labels, label_length):
        packed = layout == "packed"
        return tf_warpctc.ctc_loss(
            labels,
            tf.RaggedTensor.from_row_splits(values, lengths, validate=False) if packed else values,
            label_length,
            None if packed else lengths,
            logits_time_major=layout == "time_major",
            blank_index=blank_index,
            **options,
        )

    return support.in_mode(mode, loss, values, lengths, labels, label_length)


def in_form(form, rows):
    """(labels, label_length) of rows that are all full."""
    rows = np.asarray(rows)
    if form == "dense":
        return tf.constant(rows), tf.fill([B], U)
    if form == "ragged":
        return tf.RaggedTensor.from_row_lengths(rows.ravel(), [U] * B), None
    indices = [[b, u] for b in range(B) for u in range(U)]
    return tf.SparseTensor(indices, tf.constant(rows.ravel()), [B, U]), None


BAD_LABELS = [
    # value, blank_index, what the message must say after the place
    (-1, 0, "is -1, .*6"),
    (-(2**31), 0, "is -2147483648, .*6"),
    (6, 0, "is 6, .*6"),
    (2**31 - 1, 0, "is 2147483647, .*6"),
    (0, 0, "is 0, .*blank"),
    (3, 3, "is 3, .*blank"),
    (5, -1, "is 5, .*blank"),
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("form", support.LABEL_FORMS)
@pytest.mark.parametrize("layout", support.LAYOUTS)
def test_label_outside_the_classes_or_blank(layout, form, mode):
    for dtype in (np.int32, np.int64):
        for value, blank, message in BAD_LABELS:
            rows = np.where(np.array(LABELS) == blank % V, 2, LABELS)
            rows = np.where(rows == blank % V, 1, rows).astype(dtype)
            rows[2, 1] = value
            labels, label_length = in_form(form, rows)
            pattern = PLACE.format(row=2, column=1) + message
            with pytest.raises(tf.errors.InvalidArgumentError, match=pattern):
                call(layout, labels, label_length, [T] * B, mode, blank)


@pytest.mark.parametrize("value", [2**32 + 1, -(2**32) + 1, 2**63 - 1])
def test_int64_labels_are_not_cut_to_32_bits(value):
    """2**32 + 1 would be the legal label 1 after a cast."""
    for form in support.LABEL_FORMS:
        rows = np.array(LABELS, np.int64)
        rows[3, 0] = value
        labels, label_length = in_form(form, rows)
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=PLACE.format(row=3, column=0) + f"is {value}"
        ):
            call("time_major", labels, label_length, [T] * B)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("layout", support.LAYOUTS)
def test_label_length_out_of_range(layout, mode):
    for row, value in [(0, -1), (3, 4), (1, 2**31 - 1), (2, -(2**31))]:
        for dtype in (np.int32, np.int64):
            lengths = np.full(B, U, dtype)
            lengths[row] = value
            bound = "but labels has width 3" if value > 0 else "expected a length of 0 or more"
            pattern = rf"label_length\[{row}\] is {value}[,:] {bound}"
            with pytest.raises(tf.errors.InvalidArgumentError, match=pattern):
                call(layout, tf.constant(LABELS), tf.constant(lengths), [T] * B, mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("layout", ["time_major", "batch_major"])
def test_logit_length_out_of_range(layout, mode):
    for row, value in [(0, -1), (3, 6), (1, 2**31 - 1), (2, -(2**31))]:
        for dtype in (np.int32, np.int64):
            lengths = np.full(B, T, dtype)
            lengths[row] = value
            bound = "but logits has 5 frames" if value > 0 else "expected a length of 0 or more"
            pattern = rf"logit_length\[{row}\] is {value}[,:] {bound}"
            with pytest.raises(tf.errors.InvalidArgumentError, match=pattern):
                call(layout, tf.constant(LABELS), tf.fill([B], U), lengths, mode)


@pytest.mark.parametrize("value", [2**32 + 2, -(2**32) + 2])
def test_int64_lengths_are_not_cut_to_32_bits(value):
    lengths = np.full(B, 2, np.int64)
    lengths[1] = value
    with pytest.raises(tf.errors.InvalidArgumentError, match=rf"label_length\[1\] is {value}"):
        call("time_major", tf.constant(LABELS), tf.constant(lengths), [T] * B)
    with pytest.raises(tf.errors.InvalidArgumentError, match=rf"logit_length\[1\] is {value}"):
        call("time_major", tf.constant(LABELS), tf.fill([B], 2), lengths)


def test_first_bad_row_is_the_one_named():
    """Checks come before any work and in order, so that the message is the same every time."""
    rows = np.full((B, U), 9, np.int32)
    for _ in range(5):
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"labels\[0, 0\] is 9"):
            call("time_major", tf.constant(rows), tf.fill([B], U), [T] * B)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "splits",
    [
        [0, 5, 3, 9, 10],  # falls
        [1, 3, 5, 7, 10],  # does not start at zero
        [0, 3, 5, 7, 11],  # past the last frame
        [0, 3, 5, 7, 2**40],
        [-1, 3, 5, 7, 10],
        [0, 3, -5, 7, 10],
        [0, 3, 5, 7, 9],  # leaves a frame over
        [0, 2**63 - 1, -(2**63), -1, 10],  # rises only where differences wrap around
    ],
)
def test_bad_row_splits_of_logits(splits, mode):
    """A RaggedTensor built without validation may hold anything; the op looks for itself."""

    def loss(values, splits):
        logits = tf.RaggedTensor.from_row_splits(values, splits, validate=False)
        return tf_warpctc.ctc_loss([[1], [1], [1], [1]], logits, [1] * 4, None)

    with pytest.raises(tf.errors.InvalidArgumentError, match="split"):
        support.in_mode(mode, loss, tf.zeros([10, V]), tf.constant(splits, tf.int64))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "splits",
    [
        [0, 2, 1, 3, 4],
        [1, 2, 3, 3, 4],
        [0, 1, 2, 3, 5],
        [0, -1, 2, 3, 4],
        [0, 1, 2, 3, 2**40],
        [0, 2**63 - 1, -(2**63), -1, 4],
    ],
)
def test_bad_row_splits_of_labels(splits, mode):
    def loss(values, splits):
        labels = tf.RaggedTensor.from_row_splits(values, splits, validate=False)
        return tf_warpctc.ctc_loss(labels, tf.zeros([T, B, V]), None, [T] * B)

    with pytest.raises(tf.errors.InvalidArgumentError):
        support.in_mode(mode, loss, tf.constant([1, 2, 3, 4]), tf.constant(splits, tf.int64))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "indices", [[[0, 0], [4, 0]], [[0, 0], [-1, 0]], [[0, 0], [1, 3]], [[0, 0], [2**40, 0]]]
)
def test_bad_indices_of_sparse_labels(indices, mode):
    def loss(indices):
        labels = tf.SparseTensor(indices, tf.constant([1, 2]), [B, U])
        return tf_warpctc.ctc_loss(labels, tf.zeros([T, B, V]), None, [T] * B)

    with pytest.raises(tf.errors.InvalidArgumentError):
        support.in_mode(mode, loss, tf.constant(indices, tf.int64))


def test_batch_sizes_that_differ_only_at_run_time():
    for rows, label_rows, length_rows, frame_rows in [
        (4, 3, 4, 4),
        (4, 4, 3, 4),
        (4, 4, 4, 3),
        (4, 4, 5, 4),
        (4, 4, 4, 5),
        (1, 4, 4, 4),
    ]:

        def loss(logits, labels, label_length, logit_length):
            return tf_warpctc.ctc_loss(labels, logits, label_length, logit_length)

        with pytest.raises(tf.errors.InvalidArgumentError, match="batch|rows|size|length"):
            support.in_mode(
                "unknown_shapes",
                loss,
                tf.zeros([T, rows, V]),
                tf.ones([label_rows, U], tf.int32),
                tf.fill([length_rows], 1),
                tf.fill([frame_rows], T),
            )


@pytest.mark.parametrize("blank", [6, -7, 2**31 - 1])
def test_blank_outside_the_classes(blank):
    for mode, error in (
        ("eager", (ValueError, tf.errors.InvalidArgumentError)),
        ("unknown_shapes", tf.errors.InvalidArgumentError),
    ):
        with pytest.raises(error, match=f"blank_index.*{blank}"):
            call("time_major", tf.constant(LABELS), tf.fill([B], U), [T] * B, mode, blank)


def test_no_class_at_all():
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match="class|blank"):
        tf_warpctc.ctc_loss(tf.zeros([2, 0], tf.int32), tf.zeros([3, 2, 0]), [0, 0], [3, 3])


def test_bad_arguments_name_themselves():
    logits, lengths = tf.zeros([T, B, V]), [T] * B
    ragged = tf.ragged.constant(LABELS)
    packed = tf.RaggedTensor.from_tensor(tf.zeros([B, T, V]), ragged_rank=1)
    wrong = (TypeError, ValueError, tf.errors.InvalidArgumentError)
    with pytest.raises(wrong, match="label_length"):
        tf_warpctc.ctc_loss(ragged, logits, [U] * B, lengths)
    with pytest.raises(wrong, match="label_length"):
        tf_warpctc.ctc_loss(tf.sparse.from_dense(LABELS), logits, [U] * B, lengths)
    with pytest.raises(wrong, match="logit_length"):
        tf_warpctc.ctc_loss(LABELS, packed, [U] * B, lengths)
    with pytest.raises(wrong, match="labels.*float"):
        tf_warpctc.ctc_loss(tf.zeros([B, U]), logits, [U] * B, lengths)
    with pytest.raises(wrong, match="logits.*int32"):
        tf_warpctc.ctc_loss(LABELS, tf.zeros([T, B, V], tf.int32), [U] * B, lengths)
    with pytest.raises(wrong, match="label_length.*float"):
        tf_warpctc.ctc_loss(LABELS, logits, tf.zeros([B]), lengths)
    with pytest.raises(ValueError, match="on_infeasible.*sometimes"):
        tf_warpctc.ctc_loss(LABELS, logits, [U] * B, lengths, on_infeasible="sometimes")


def test_padding_is_never_judged():
    """Entries past the length may be anything, and a zero length hides the whole row."""
    rows = np.array([[1, -5, 10**9], [0, 0, 0], [6, 6, 6], [2, 3, -(2**31)]], np.int32)
    loss = call("time_major", tf.constant(rows), tf.constant([1, 0, 0, 2]), [T] * B)
    expected = call("time_major", tf.constant([[1, 1, 1], [1, 1, 1], [1, 1, 1], [2, 3, 1]]),
                    tf.constant([1, 0, 0, 2]), [T] * B)  # fmt: skip
    np.testing.assert_array_equal(loss, expected)
