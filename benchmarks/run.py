"""Runs all jobs of a plan in turn, one at a time, and collects what they answer.

The rounds are interleaved: a round visits every peer in both malloc modes before the next begins,
each time from another peer on, so that a slow minute of the machine falls on all alike.
"""

import json
import math
import time
from functools import partial
from pathlib import Path

from benchmarks import jobs, machine, memory, peers, reference, sweeps
from benchmarks.data import Shape
from benchmarks.plan import Plan

# A peer whose step takes longer is timed in the first round alone.
SLOW_MS = 2000.0

OURS = "ours"

GREEDY_TASKS = {"ours_greedy": ("greedy", "greedy, sparse", "greedy, spans")}


def named(value):
    """The same with "nan" and "inf" for what JSON has no number for."""
    if isinstance(value, dict):
        return {key: named(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [named(each) for each in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


class Run:
    """The state of one run; `results` is what results.json holds.

    results["timings"], ["checks"] and ["sweeps"] are lists of records, each with its peer and
    shape; ["missing"] has the reason for a peer whose library is not there, ["left_out"] records
    with the reason for a shape on which a peer was not run, or failed.
    """

    def __init__(self, plan: Plan, folder: Path, say=print):
        self.plan, self.folder, self.say = plan, folder, say
        self.patience_left_s = plan.total_patience_s
        folder.mkdir(parents=True, exist_ok=True)
        self.counter = memory.build(folder) if plan.check else None
        self.results = {
            "machine": machine.describe(),
            "rounds": plan.rounds,
            "versions": {},
            "timings": [],
            "checks": [],
            "sweeps": [],
            "missing": {},
            "left_out": [],
        }

    def everything(self) -> dict:
        """All of the plan; returns the results, which are in the file after every shape."""
        started = time.monotonic()
        for step in self.steps():
            step()
            self.results["minutes"] = round((time.monotonic() - started) / 60, 1)
            text = json.dumps(named(self.results), indent=1, allow_nan=False) + "\n"
            (self.folder / "results.json").write_text(text, encoding="utf-8")
        return self.results

    def steps(self):
        """What there is to do, as calls."""
        for shape in self.plan.loss_shapes:
            yield partial(self.leave_out_slow, shape)
            if self.plan.check:
                yield partial(self.check_losses, shape)
            yield partial(self.time_losses, shape)
        for shape in self.plan.greedy_shapes:
            yield partial(self.time_decoders, shape)
        for axis in self.plan.sweeps:
            yield partial(self.sweep, axis)

    def ask(self, name: str, points: list, mode: str, **settings) -> list | None:
        """The answers of one job, or None; why there are none is noted."""
        started = time.monotonic()
        job = {
            "peer": name,
            "points": points,
            "budget_s": self.plan.budget_s,
            "patience_s": min(self.plan.patience_s, self.patience_left_s),
            **settings,
        }
        answer = jobs.run(job, mode, counter=self.counter)
        seconds = time.monotonic() - started
        shape = Shape(*points[0]["shape"])
        title = peers.load(name).title
        if "missing" in answer:
            self.results["missing"][name] = answer["missing"]
            self.say(f"  {title}: not installed: {answer['missing']}")
            return None
        if "failed" in answer:
            what = "errors and memory" if mode == "memory" else "times"
            self.leave_out(name, shape, answer["failed"], what)
            return None
        self.results["versions"].update(answer["versions"])
        for point in answer["points"]:
            waited = sum(timing["waited_s"] for timing in point.get("timings", {}).values())
            self.patience_left_s = max(0.0, self.patience_left_s - waited)
        self.say(f"  {title}, {shape}, {mode}: {described(answer['points'][0])} ({seconds:.0f} s)")
        return answer["points"]

    def leave_out(self, name: str, shape: Shape, reason: str, what: str = "everything"):
        """Notes that a peer gives no result on a shape."""
        record = {"peer": name, "shape": shape, "reason": reason, "what": what}
        if record not in self.results["left_out"]:
            self.results["left_out"].append(record)
        self.say(f"  {peers.load(name).title}, {shape}: left out: {reason}")

    def usable(self, name: str, shape: Shape) -> bool:
        """Whether a peer is installed, not too slow for this shape, and did not fail when timed."""
        return name not in self.results["missing"] and not any(
            x["peer"] == name and x["shape"] == shape and x["what"] != "errors and memory"
            for x in self.results["left_out"]
        )

    def leave_out_slow(self, shape: Shape):
        """Leaves those out that say they take too long."""
        for name in () if self.plan.slow else self.plan.losses:
            reason = peers.load(name).too_slow(shape)
            if reason and self.usable(name, shape):
                self.leave_out(name, shape, reason)

    def check_losses(self, shape: Shape):
        """Errors and memory of every peer on one shape."""
        self.say(f"{shape}: errors and memory")
        files = {scale: str(reference.store(self.folder, shape, scale)) for scale in (1.0, 50.0)}
        for name in self.plan.losses:
            if not self.usable(name, shape):
                continue
            points = [
                {"shape": shape, "reference": files[1.0], "memory": True},
                {"shape": shape, "reference": files[50.0], "scale": 50.0},
            ]
            if name == OURS:
                points.append({"shape": shape, "reference": files[1.0], "dtype": "float64"})
            kinds = ("float32", "float32 x 50", "float64")
            for kind, answer in zip(kinds, self.ask(name, points, "memory") or (), strict=False):
                self.results["checks"].append({"peer": name, "kind": kind, **answer})

    def time_losses(self, shape: Shape):
        """All rounds of all losses, and of the yardsticks, on one shape."""
        tasks = {name: ("training", "evaluation") for name in self.plan.losses}
        self.time(shape, tasks | peers.YARDSTICKS)

    def time_decoders(self, shape: Shape):
        """All rounds of all decoders on one shape; the first also compares the tokens."""
        tasks = {name: GREEDY_TASKS.get(name, ("greedy",)) for name in self.plan.decoders}
        self.time(shape, tasks | peers.YARDSTICKS)

    def time(self, shape: Shape, tasks: dict):
        """Times these tasks by peer, in all rounds and modes."""
        slow, names = set(), list(tasks)
        for number in range(self.plan.rounds):
            self.say(f"{shape}: round {number + 1} of {self.plan.rounds}")
            first = number % len(names)
            for mode in self.plan.modes_of(shape):
                for name in names[first:] + names[:first]:
                    if not self.usable(name, shape) or (name in slow and number > 0):
                        continue
                    point = {"shape": shape, "tasks": tasks[name]}
                    if name in self.plan.decoders and number == 0:
                        point["decoding"] = True
                    for answer in self.ask(name, [point], mode) or ():
                        record = {"peer": name, "mode": mode, "round": number, **answer}
                        self.results["timings"].append(record)
                        times = [t["median_ms"] for t in answer["timings"].values()]
                        if max(times) > SLOW_MS:
                            slow.add(name)

    def sweep(self, axis: str):
        """Cost, and along T the errors, against one dimension."""
        self.say(f"cost against {axis}")
        points = sweeps.points(axis)
        if sweeps.AXES[axis].errors:
            for point in points:
                point["reference"] = str(reference.store(self.folder, Shape(*point["shape"])))
        for name in sweeps.PEERS:
            if name in self.results["missing"] or name not in self.plan.losses:
                continue
            settings = {"budget_s": sweeps.BUDGET_S, "stop_after_s": sweeps.STOP_AFTER_S}
            for answer in self.ask(name, points, sweeps.MODE, **settings) or ():
                self.results["sweeps"].append({"peer": name, "axis": axis, **answer})


def described(answer: dict) -> str:
    """A point's answer in a few words, for the progress line."""
    words = [f"{task} {t['median_ms']:.3g} ms" for task, t in answer.get("timings", {}).items()]
    errors = answer.get("errors", {})
    words += [f"{key} error {errors[key]:.1e}" for key in ("loss", "gradient") if key in errors]
    if errors.get("wrong_rows"):
        words.append(f"{errors['wrong_rows']} rows wrong")
    return ", ".join(words)
