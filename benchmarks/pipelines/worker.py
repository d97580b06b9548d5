"""The process of one job:  python -m benchmarks.pipelines.worker JOB ANSWER

JOB is JSON: variant (a name in variants.py), lines, batch_size, measure ("time" or "memory"), and
budget_s and patience_s as in timing.measure. ANSWER is the file for the result.
"""

import keras
import tensorflow as tf

from benchmarks import memory, timing, worker
from benchmarks.pipelines.variants import VARIANTS, training_lines
from tf_warpctc.keras import CTCLoss

BLANK = 10


def count_frames(batches: tf.data.Dataset) -> dict[str, int]:
    """Frames that the layers are given in an epoch, and how many of them are live."""
    given = live = 0
    for frames, targets in batches:
        if isinstance(frames, tf.RaggedTensor):
            given += int(frames.flat_values.shape[0])
            live += int(frames.flat_values.shape[0])
        else:
            given += int(frames.shape[0] * frames.shape[1])
            live += int(tf.reduce_sum(targets.logit_length))
    return {"given": given, "live": live}


def perform(job: dict) -> dict:
    """Epochs of `fit` on one variant: their time, or their memory."""
    variant = VARIANTS[job["variant"]]
    keras.utils.set_random_seed(1)
    batches = variant.batches(training_lines(job["lines"]), job["batch_size"]).prefetch(2)
    model = variant.model()
    model.compile(keras.optimizers.Adam(1e-4), CTCLoss(blank_index=BLANK), jit_compile=False)
    answer = {
        "variant": job["variant"],
        "first_loss": float(model.evaluate(batches, verbose=0)),
        "frames": count_frames(batches),
    }

    def epoch():
        model.fit(batches, epochs=1, verbose=0, shuffle=False)

    if job["measure"] == "memory":
        return {**answer, "memory": memory.peak_extra_bytes(epoch)}
    measured = timing.measure(epoch, job.get("budget_s", 0.5), job.get("patience_s", 0.0))
    return {**answer, "epoch": measured}


if __name__ == "__main__":
    worker.main(perform)
