"""A job: one peer on one shape, in a process of its own.

What a process has done before changes what it costs later: glibc maps large blocks afresh until
it has seen one freed, and a heap that has grown stays. So each job starts from nothing, in one of
these malloc modes:

- "as it comes": the environment as it is.
- "faults out": glibc keeps all memory it ever had, so that no call pays for new pages.
- "memory": as it comes, with a counter of all live blocks (memory.py) beneath it. Times mean
  nothing there.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

_HIGH = str(16 << 30)

MALLOC_MODES = {
    "as it comes": {},
    "faults out": {"MALLOC_MMAP_THRESHOLD_": _HIGH, "MALLOC_TRIM_THRESHOLD_": _HIGH},
    # PaddlePaddle's allocator keeps freed blocks, and so does TensorFlow's of its oneDNN build;
    # with these they ask the heap each time.
    "memory": {"FLAGS_use_system_allocator": "true", "TF_ENABLE_ONEDNN_OPTS": "0"},
}

TIMEOUT_S = 900


def environment(mode: str, counter: Path | None = None) -> dict[str, str]:
    """The environment of a job: its malloc mode, and all cores for every threading library."""
    variables = {k: v for k, v in os.environ.items() if not k.startswith("MALLOC_")}
    cores = str(len(os.sched_getaffinity(0)))
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        variables[name] = cores
    variables.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    variables["CUDA_VISIBLE_DEVICES"] = "-1"
    if mode == "memory":
        variables["LD_PRELOAD"] = str(counter)
    return {**variables, **MALLOC_MODES[mode]}


def run(
    job: dict,
    mode: str,
    *,
    counter: Path | None = None,
    timeout_s: float = TIMEOUT_S,
    worker: str = "benchmarks.worker",
) -> dict:
    """Runs the worker on a job in a fresh process; mode "memory" needs the `counter` to preload.

    Returns:
      its result, or a dict of one entry that says why there is none: "missing" (a library that is
      not installed) or "failed" (an error, a crash, no end).
    """
    with tempfile.TemporaryDirectory(prefix="tf_warpctc_bench_") as folder:
        answer = Path(folder) / "answer.json"
        command = [sys.executable, "-m", worker, json.dumps(job), str(answer)]
        try:
            process = subprocess.run(
                command,
                cwd=ROOT,
                env=environment(mode, counter),
                capture_output=True,
                text=True,
                check=False,
                timeout=timeout_s,
            )
        except subprocess.TimeoutExpired:
            return {"failed": f"no result within {timeout_s:.0f} s"}
        if answer.exists():
            return json.loads(answer.read_text())
    if process.returncode < 0:
        name = signal.Signals(-process.returncode).name
        return {"failed": f"the process was ended by {name}"}
    last = (process.stderr.strip().splitlines() or ["no message"])[-1]
    return {"failed": f"exit status {process.returncode}: {last[:200]}"}
