"""Shape functions: what is static is inferred, what is statically wrong refused while tracing."""

import pytest
import tensorflow as tf

import tf_warpctc

N = None


def trace(logits, labels, label_length, logit_length, gradient=False, **options):
    """Traces ctc_loss over TensorSpecs of these shapes; the static shape of loss (or gradient)."""

    def function(logits, labels, label_length, logit_length):
        loss = tf_warpctc.ctc_loss(labels, logits, label_length, logit_length, **options)
        return tf.gradients(loss, logits)[0] if gradient else loss

    specs = [
        tf.TensorSpec(logits, tf.float32),
        tf.TensorSpec(labels, tf.int32),
        tf.TensorSpec(label_length, tf.int32),
        tf.TensorSpec(logit_length, tf.int32),
    ]
    return tf.function(function).get_concrete_function(*specs).structured_outputs.shape


@pytest.mark.parametrize(
    ("logits", "labels", "label_length", "logit_length", "rows"),
    [
        ([7, 4, 5], [4, 3], [4], [4], 4),
        ([N, 4, N], [N, N], [N], [N], 4),
        ([N, N, N], [4, N], [N], [N], 4),
        ([N, N, N], [N, N], [4], [N], 4),
        ([N, N, N], [N, N], [N], [4], 4),
        ([N, N, N], [N, N], [N], [N], N),
        (N, [N, N], [N], [4], 4),
        (N, N, N, [4], 4),
        (N, N, N, N, N),
    ],
)
def test_the_batch_is_found_in_any_argument(logits, labels, label_length, logit_length, rows):
    shape = trace(logits, labels, label_length, logit_length)
    assert shape.rank == 1 and shape.as_list() == [rows]
    if logits is not None:
        swapped = [logits[1], logits[0], logits[2]]
        shape = trace(swapped, labels, label_length, logit_length, logits_time_major=False)
        assert shape.as_list() == [rows]


@pytest.mark.parametrize("logits", [[7, 4, 5], [N, 4, N], [7, N, 5], [N, N, N]])
def test_gradient_has_the_shape_of_the_logits(logits):
    assert trace(logits, [N, N], [N], [N], gradient=True).as_list() == logits
    # A batch that is known from the labels is one that the logits have too.
    known = [logits[0], 4, logits[2]]
    assert trace(logits, [4, 3], [4], [4], gradient=True).as_list() in (logits, known)


def test_packed_rows_are_counted_from_the_splits():
    @tf.function
    def function(logits, labels):
        return tf_warpctc.ctc_loss(labels, logits, None, None)

    for rows in (4, N):
        shape = function.get_concrete_function(
            tf.RaggedTensorSpec([rows, N, 5], tf.float32, ragged_rank=1),
            tf.RaggedTensorSpec([N, N], tf.int32, ragged_rank=1),
        ).structured_outputs.shape
        assert shape.as_list() == [rows]


@pytest.mark.parametrize(
    ("logits", "labels", "label_length", "logit_length"),
    [
        ([7, 4], [4, 3], [4], [4]),
        ([7, 4, 5, 1], [4, 3], [4], [4]),
        ([N, N, N], [4], [4], [4]),
        ([N, N, N], [4, 3, 1], [4], [4]),
        ([N, N, N], [4, 3], [4, 1], [4]),
        ([N, N, N], [4, 3], [], [4]),
        ([N, N, N], [4, 3], [4], [4, 1]),
        ([N, N, N], [4, 3], [4], []),
        ([7, 4, 5], [3, 3], [N], [N]),
        ([7, 4, 5], [N, N], [5], [N]),
        ([7, 4, 5], [N, N], [N], [5]),
        ([N, N, N], [4, N], [5], [N]),
        ([N, N, N], [N, N], [4], [5]),
        ([N, N, 0], [N, N], [N], [N]),
    ],
)
def test_static_faults_are_refused_while_tracing(logits, labels, label_length, logit_length):
    with pytest.raises(ValueError, match=r"rank|[Dd]imension|[Ss]hape|rows|class|batch"):
        trace(logits, labels, label_length, logit_length)


@pytest.mark.parametrize("blank", [5, -6])
def test_blank_outside_static_classes_is_refused_while_tracing(blank):
    with pytest.raises(ValueError, match=f"blank_index.*{blank}"):
        trace([N, N, 5], [N, N], [N], [N], blank_index=blank)


def test_a_frame_count_below_the_labels_is_not_a_static_fault():
    """T < U is a legal batch: rows may be shorter than the padded width, or infeasible."""
    assert trace([2, 4, 5], [4, 30], [4], [4]).as_list() == [4]


def test_unknown_ranks_still_compute():
    @tf.function(input_signature=[tf.TensorSpec(None, tf.float32), tf.TensorSpec(None, tf.int32)])
    def function(logits, labels):
        return tf_warpctc.ctc_loss(labels, logits, [1, 1], [3, 3])

    loss = function(tf.zeros([3, 2, 4]), tf.constant([[1], [2]]))
    assert loss.shape == [2]
    with pytest.raises(tf.errors.InvalidArgumentError, match="rank|dimension|shape"):
        function(tf.zeros([3, 2]), tf.constant([[1], [2]]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="rank|dimension|shape"):
        function(tf.zeros([3, 2, 4]), tf.constant([1, 2]))


def test_eager_rank_faults():
    for logits, labels in [([3, 2], [2, 1]), ([3, 2, 4, 1], [2, 1]), ([3, 2, 4], [2])]:
        with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match="rank|shape"):
            tf_warpctc.ctc_loss(tf.ones(labels, tf.int32), tf.zeros(logits), [1, 1], [3, 3])
