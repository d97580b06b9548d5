"""The command line:  python -m benchmarks [--quick] [--docs] …   (`make bench` sets it up)

Ends with status 1 if this project's own function failed or gave a wrong result; missed goals of
speed are in the table, and no failure.
"""

import argparse
import dataclasses
import json
import shutil
import sys
from pathlib import Path

from benchmarks import peers, plots, report, sweeps
from benchmarks.data import Shape
from benchmarks.plan import FULL, QUICK, Plan
from benchmarks.run import OURS, Run
from benchmarks.summary import Summary

ROOT = Path(__file__).resolve().parents[1]
OUTPUT = ROOT / "build/bench"
TABLE = "performance_table.md"


def shape(text: str) -> Shape:
    """'150/40/28/64' as a shape."""
    try:
        return Shape(*(int(part) for part in text.split("/")))
    except (TypeError, ValueError) as error:
        raise argparse.ArgumentTypeError(f"expected T/U/V/B, received {text!r}") from error


def arguments(command_line=None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--quick", action="store_true", help="a few shapes once, some minutes")
    add("--docs", action="store_true", help="also write table, numbers and plots into docs/")
    add("--shapes", type=shape, nargs="*", metavar="T/U/V/B", help="the losses' shapes")
    add("--greedy", type=shape, nargs="*", metavar="T/U/V/B", help="the decoders' shapes")
    add("--peers", nargs="*", choices=peers.LOSSES, help="the losses; ours is always there")
    add("--sweeps", nargs="*", choices=list(sweeps.AXES), help="dimensions to measure cost along")
    add("--rounds", type=int, help="fresh processes a peer, shape and malloc mode")
    add("--patience", type=float, metavar="S", help="seconds to wait for a machine at rest")
    add("--one-mode", action="store_true", help="without the runs with page faults taken out")
    add("--no-check", action="store_true", help="times alone, without errors and memory")
    add("--slow", action="store_true", help="peers also where they take minutes")
    add("--output", type=Path, default=OUTPUT, help="folder for the results")
    add("--report", action="store_true", help="write table and plots again from results.json")
    return parser.parse_args(command_line)


def chosen_plan(options: argparse.Namespace) -> Plan:
    """The full or quick plan with what the options change."""
    changes = {"slow": options.slow}
    for name, value in {
        "loss_shapes": options.shapes,
        "greedy_shapes": options.greedy,
        "sweeps": options.sweeps,
    }.items():
        if value is not None:
            changes[name] = tuple(value)
    if options.peers is not None:
        changes["losses"] = tuple(dict.fromkeys([OURS, *options.peers]))
    if options.rounds is not None:
        changes["rounds"] = options.rounds
    if options.patience is not None:
        changes["patience_s"] = options.patience
    if options.one_mode:
        changes["modes"] = FULL.modes[:1]
    if options.no_check:
        changes["check"] = False
    return dataclasses.replace(QUICK if options.quick else FULL, **changes)


def write(results: dict, folder: Path) -> list[Path]:
    """Numbers, table and plots."""
    summary = Summary(results)
    table = folder / TABLE
    table.write_text(report.markdown(summary), encoding="utf-8")
    return [folder / "results.json", table, *plots.draw(summary, folder)]


def copy_to_docs(paths: list[Path]):
    """The files where the documentation has them."""
    images = ROOT / "docs/images"
    images.mkdir(parents=True, exist_ok=True)
    for path in paths:
        name = f"performance_{path.name.removeprefix('performance_')}"
        target = images / name if path.suffix == ".png" else ROOT / "docs" / name
        shutil.copyfile(path, target)
        print(f"[bench] wrote {target.relative_to(ROOT)}")


def ours_is_right(results: dict) -> bool:
    """Whether this project's functions ran everywhere and were as accurate as they have to be."""
    summary = Summary(results)
    ours = {OURS, "ours_greedy"}
    gave_none = ours & (set(results["missing"]) | {x["peer"] for x in results["left_out"]})
    wrong = ours & set(summary.wrong_decodings())
    inaccurate = [row for row in summary.error_rows() if row.get("met") is False]
    for name in gave_none | wrong:
        print(f"[bench] {name} failed or gave wrong results: see the table", file=sys.stderr)
    for row in inaccurate:
        print(f"[bench] ours misses its accuracy: {row}", file=sys.stderr)
    return not (gave_none or wrong or inaccurate)


def main():
    """Runs, writes, reports."""
    options = arguments()
    numbers = options.output / "results.json"
    if options.report:
        results = json.loads(numbers.read_text())
    else:
        plan = chosen_plan(options)
        run = Run(plan, options.output, say=lambda text: print("[bench]", text, flush=True))
        results = run.everything()
    paths = write(results, options.output)
    print((options.output / TABLE).read_text())
    for path in paths:
        print(f"[bench] wrote {path}")
    if options.docs:
        copy_to_docs(paths)
    sys.exit(0 if ours_is_right(results) else 1)


if __name__ == "__main__":
    main()
