"""The command line:  python -m benchmarks.pipelines [--quick] [--docs] …

`make bench-pipelines` sets up what it needs. Times and memory of a training epoch in each variant,
every one in processes of its own. Ends with status 1 if one failed, or if the variants do not
agree on the loss before training.
"""

import argparse
import json
import shutil
import statistics
import sys
from pathlib import Path

from benchmarks import jobs, machine, memory
from benchmarks.report import megabytes, number, table

ROOT = Path(__file__).resolve().parents[2]
OUTPUT = ROOT / "build/bench"
NAME = "performance_pipelines.md"

# In the order of the table; variants.py has them.
VARIANTS = ("padded", "padded, by length", "ragged", "ragged, by length")

LINES, BATCH = 640, 16


def ask(variant: str, measure: str, options, counter: Path) -> dict:
    """One job's answer."""
    job = {
        "variant": variant,
        "lines": LINES // 4 if options.quick else LINES,
        "batch_size": BATCH,
        "measure": measure,
        "budget_s": 1.0 if options.quick else 4.0,
        "patience_s": options.patience,
    }
    mode = "memory" if measure == "memory" else "as it comes"
    answer = jobs.run(job, mode, counter=counter, worker="benchmarks.pipelines.worker")
    for problem in ("missing", "failed"):
        if problem in answer:
            sys.exit(f"[bench] {variant}, {measure}: {problem}: {answer[problem]}")
    return {"lines": job["lines"], **answer}


def measure_all(options) -> list[dict]:
    """All answers; the rounds of timing are interleaved."""
    options.output.mkdir(parents=True, exist_ok=True)
    counter = memory.build(options.output)
    answers = [ask(variant, "memory", options, counter) for variant in VARIANTS]
    for number_of_round in range(1 if options.quick else options.rounds):
        print(f"[bench] pipelines, round {number_of_round + 1}", flush=True)
        answers += [ask(variant, "time", options, counter) for variant in VARIANTS]
    return answers


def rows(answers: list[dict]) -> dict[str, dict]:
    """By variant: ms a step, bytes, and shares of frames; medians over rounds."""
    found = {}
    for variant in VARIANTS:
        own = [answer for answer in answers if answer["variant"] == variant]
        epochs = [answer["epoch"]["median_ms"] for answer in own if "epoch" in answer]
        frames, lines = own[0]["frames"], own[0]["lines"]
        found[variant] = {
            "step_ms": statistics.median(epochs) * BATCH / lines,
            "peak": next(answer["memory"]["peak"] for answer in own if "memory" in answer),
            "frames": frames["given"] * BATCH / lines,
            "live": frames["live"] / frames["given"],
            "first_loss": own[0]["first_loss"],
        }
    return found


def markdown(results: dict) -> str:
    """The page."""
    found = rows(results["answers"])
    padded = found["padded"]
    lines = [
        [
            variant,
            f"{row['frames']:,.0f}",
            f"{row['live']:.0%}",
            number(row["step_ms"]),
            f"{row['step_ms'] / padded['step_ms']:.2f}",
            megabytes(row["peak"]),
            f"{row['peak'] / padded['peak']:.2f}",
        ]
        for variant, row in found.items()
    ]
    header = ["batches", "frames", "live", "ms", "of padded", "peak MB", "of padded"]
    about = results["machine"]
    return (
        "\n\n".join(
            [
                "# Pipelines without padding, as measured",
                "Written by `make bench-pipelines`. Lines of 1 to 60 handwritten digits, from the "
                "data set to the optimizer's update, by `fit`, as in "
                f"examples/read_digits/ragged.py: for each {BATCH} lines the frames that the "
                "layers compute, the share of them that is no padding, and the time; and the most "
                'memory that an epoch holds beyond what the process held before it. "By length" '
                "puts lines of like length into one batch.",
                f"{about['processor']}, {about['cores']} cores, {about['vectors']}; "
                f"{about['date']}; median of {results['rounds']} round(s).",
                table(header, lines),
            ]
        )
        + "\n"
    )


def agree(answers: list[dict]) -> bool:
    """Whether all variants see the same lines and weights: their loss before training is one."""
    losses = [answer["first_loss"] for answer in answers]
    return max(losses) - min(losses) <= 1e-4 * max(losses)


def main():
    """Measures, writes, reports."""
    parser = argparse.ArgumentParser(prog="benchmarks.pipelines", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer lines, one round")
    parser.add_argument("--docs", action="store_true", help="also write the table into docs/")
    parser.add_argument("--rounds", type=int, default=3, help="processes that time a variant")
    parser.add_argument("--patience", type=float, default=20.0, metavar="S", help="for a rest")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="folder for the results")
    options = parser.parse_args()
    answers = measure_all(options)
    rounds = 1 if options.quick else options.rounds
    results = {"machine": machine.describe(), "rounds": rounds, "answers": answers}
    (options.output / "pipelines.json").write_text(json.dumps(results, indent=1) + "\n")
    page = options.output / NAME
    page.write_text(markdown(results), encoding="utf-8")
    print(page.read_text())
    if options.docs:
        shutil.copyfile(page, ROOT / "docs" / NAME)
    if not agree(answers):
        sys.exit("[bench] the pipelines start from different losses")


if __name__ == "__main__":
    main()
