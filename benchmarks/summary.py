"""From the records of a run to what the table says: medians, ratios, and targets met or missed."""

import statistics
from collections import defaultdict
from typing import NamedTuple

from benchmarks import plan
from benchmarks.data import Shape
from benchmarks.peers import YARDSTICKS
from benchmarks.run import OURS

AS_IT_COMES = "as it comes"


def numbers(errors: dict) -> dict[str, float]:
    """Errors as floats: JSON has "nan" and "inf" as words."""
    return {key: float(value) for key, value in errors.items()}


class Figure(NamedTuple):
    """One peer's time for one task on one shape, in ms: a median over rounds in each mode."""

    by_mode: dict[str, float]

    @property
    def better(self) -> float:
        """The lower of the two modes: what a peer is counted with."""
        return min(self.by_mode.values())

    @property
    def as_it_comes(self) -> float:
        """Without any setting of malloc."""
        return self.by_mode.get(AS_IT_COMES, self.better)


class Summary:
    """All figures of a run.

    Attributes:
      results: the run's records (run.py).
      figures: `Figure` by (task, peer, shape).
      spreads: (largest - smallest) / median over rounds, of every figure with more than one.
    """

    def __init__(self, results: dict):
        self.results = results
        times = defaultdict(lambda: defaultdict(list))
        for record in results["timings"]:
            for task, timing in record["timings"].items():
                key = task, record["peer"], Shape(*record["shape"])
                times[key][record["mode"]].append(timing["median_ms"])
        self.figures = {
            key: Figure({mode: statistics.median(values) for mode, values in modes.items()})
            for key, modes in times.items()
        }
        self.spreads = [
            (max(values) - min(values)) / statistics.median(values)
            for modes in times.values()
            for values in modes.values()
            if len(values) > 1
        ]
        timings = [t for record in results["timings"] for t in record["timings"].values()]
        self.disturbed = [t["foreign_share"] for t in timings]

    def shapes(self, task: str) -> list[Shape]:
        """The shapes on which a task was timed, in the order of the run."""
        return list(dict.fromkeys(shape for t, _, shape in self.figures if t == task))

    def peers(self, task: str) -> list[str]:
        """Who was timed with a task, yardsticks apart."""
        found = dict.fromkeys(peer for t, peer, _ in self.figures if t == task)
        return [peer for peer in found if peer not in YARDSTICKS]

    def fastest_peer(self, task: str, shape: Shape) -> tuple[str, Figure] | None:
        """The peer of the lowest better figure, ours apart; None where no peer was timed."""
        found = [
            (figure.better, peer, figure)
            for (t, peer, s), figure in self.figures.items()
            if t == task and s == shape and peer not in (OURS, "ours_greedy", *YARDSTICKS)
        ]
        return min(found)[1:] if found else None

    def other(self, target: plan.Target) -> tuple[str, Figure] | None:
        """Whom a target is against."""
        if target.other == plan.FASTEST:
            return self.fastest_peer(target.task, target.shape)
        figure = self.yardstick(target.other, target.shape) or self.figures.get(
            (target.task, target.other, target.shape)
        )
        return (target.other, figure) if figure else None

    def yardstick(self, task: str, shape: Shape) -> Figure | None:
        """The time of a yardstick's task, whichever has it."""
        found = (self.figures.get((task, peer, shape)) for peer in YARDSTICKS)
        return next(filter(None, found), None)

    def judged(self) -> list[dict]:
        """Every target whose two times this run has.

        Returns:
          dicts of `target`, `other` (a peer or yardstick), `ours` and `theirs` (figures), `ratio`
          (better against better) and `strict` (ours as it comes against their better), `met`.
        """
        rows = []
        for target in plan.TARGETS:
            name = "ours_greedy" if target.task == "greedy" else OURS
            ours = self.figures.get((target.task, name, target.shape))
            found = self.other(target)
            if ours is None or found is None:
                continue
            other, theirs = found
            ratio = target.ratio(ours.better, theirs.better)
            rows.append(
                {
                    "target": target,
                    "other": other,
                    "ours": ours,
                    "theirs": theirs,
                    "ratio": ratio,
                    "strict": target.ratio(ours.as_it_comes, theirs.better),
                    "met": target.met(ratio),
                }
            )
        return rows

    def error_rows(self) -> list[dict]:
        """The checks' errors: dicts of peer, shape, kind, loss, gradient, and for ours `met`."""
        rows = []
        for check in self.results["checks"]:
            row = {key: check[key] for key in ("peer", "kind")} | numbers(check["errors"])
            row["shape"] = Shape(*check["shape"])
            if check["peer"] == OURS:
                loss_limit, gradient_limit = plan.ACCURACY[check["kind"]]
                row["met"] = row["loss"] <= loss_limit and row["gradient"] <= gradient_limit
            rows.append(row)
        return rows

    def memory_rows(self) -> list[dict]:
        """Peak memory: dicts of peer, shape, `total` and `beyond` the gradient, for ours `met`."""
        rows = []
        for check in self.results["checks"]:
            if "memory" not in check:
                continue
            shape = Shape(*check["shape"])
            total = check["memory"]["peak"] + check["memory"]["held"]
            row = {"peer": check["peer"], "shape": shape, "total": total}
            row["beyond"] = total - shape.logits_bytes
            if check["peer"] == OURS:
                row["met"] = row["beyond"] <= plan.memory_limit(shape)
            rows.append(row)
        return rows

    def wrong_decodings(self) -> list[str]:
        """Decoders whose tokens differ from the oracle's on some row."""
        return sorted(
            {r["peer"] for r in self.results["timings"] if r.get("errors", {}).get("wrong_rows")}
        )

    def sweep(self, axis: str) -> dict[str, list[dict]]:
        """The points along one axis by peer: dicts of value, ms, and errors where measured."""
        found = defaultdict(list)
        for record in self.results["sweeps"]:
            if record["axis"] == axis:
                point = {"value": Shape(*record["shape"])._asdict()[axis]}
                point["ms"] = record["timings"]["training"]["median_ms"]
                found[record["peer"]].append(point | numbers(record.get("errors", {})))
        return dict(found)
