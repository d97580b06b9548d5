"""The process of one job:  python -m benchmarks.worker JOB ANSWER

JOB is JSON, with these entries:

    peer         name of a module in peers/
    points       what to do with it, in turn, a list of dicts:
        shape       [T, U, V, B]
        scale       the logits' standard deviation (1)
        dtype       of the logits ("float32")
        tasks       names of calls to time
        reference   file of the float64 answer: measure the errors
        decoding    true: compare the tokens with the oracle's
        memory      true: measure the peak memory of a training step
    budget_s, patience_s   see timing.measure
    stop_after_s           leave the points out that follow one whose call took longer

ANSWER is the file for the result, JSON too: {"versions": {...}, "points": [...]}, where each point
has "timings", "errors" and "memory" as asked for; or {"missing": why} or {"failed": why}.
"""

import json
import sys
from pathlib import Path

import numpy as np

from benchmarks import memory, peers, timing
from benchmarks.data import Case, Shape


def perform_point(peer_class, point: dict, budget_s: float, patience_s: float) -> dict:
    """One point of a job."""
    case = Case(Shape(*point["shape"]), point.get("scale", 1.0), point.get("dtype", "float32"))
    peer = peer_class(case)
    answer = {"shape": point["shape"]}
    # First, since what the first call leaves behind is part of it.
    if point.get("memory"):
        taken = memory.peak_extra_bytes(peer.calls["training"])
        answer["memory"] = {**taken, "held": peer.held_bytes}
    if point.get("tasks"):
        answer["timings"] = {
            task: timing.measure(peer.calls[task], budget_s, patience_s) for task in point["tasks"]
        }
    if point.get("reference"):
        from benchmarks import reference

        with np.load(point["reference"]) as expected:
            answer["errors"] = reference.errors(peer.result(), expected)
    if point.get("decoding"):
        from benchmarks import reference

        answer["errors"] = reference.greedy_errors(*peer.decoded(), case)
    return answer


def perform(job: dict) -> dict:
    """All points of a job; errors become part of the result."""
    peer_class = peers.load(job["peer"])
    points = []
    try:
        for point in job["points"]:
            done = perform_point(
                peer_class, point, job.get("budget_s", 0.5), job.get("patience_s", 0.0)
            )
            points.append(done)
            slowest = max((t["median_ms"] for t in done.get("timings", {}).values()), default=0)
            if slowest > 1e3 * job.get("stop_after_s", float("inf")):
                break
    except ImportError as error:
        return {"missing": str(error)}
    except Exception as error:
        # The first line says what; a library's own trace belongs on its stderr.
        text = (str(error).strip().splitlines() or [""])[0]
        return {"failed": f"{type(error).__name__}: {text[:200]}"}
    return {"versions": peer_class.versions(), "points": points}


def main(perform=perform):
    """The command line of a worker whose work is `perform`."""
    job, answer = json.loads(sys.argv[1]), Path(sys.argv[2])
    result = perform(job)
    partial = answer.with_suffix(".partial")
    partial.write_text(json.dumps(result))
    partial.replace(answer)


if __name__ == "__main__":
    main()
