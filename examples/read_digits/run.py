"""The whole demo in one command: train, score, export, read in a second process, draw.

    python examples/read_digits/run.py

Everything it writes goes to build/demo. It exits with 1 if more than 3 % of the held-out labels are
misread, or if the two processes disagree on anything.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

# These come before the imports which they are for.
# ruff: noqa: E402
sys.path.append(str(ROOT))  # where tf_warpctc is, unless one is installed
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # errors only, so that the demo can be read

import keras
import numpy as np
from edits import count_edits
from lines import make_lines, split_scans, unpad
from model import build_model, with_decoder
from plot import draw
from train import Plan, train

import tf_warpctc

SEED = 20
MAX_ERROR_RATE = 0.03
COMMITTED_PICTURE = ROOT / "docs" / "images" / "read_digits.png"


def main() -> int:
    options = parse_options()
    plan = Plan(epochs=3, lines_per_epoch=960) if options.quick else Plan()
    options.output.mkdir(parents=True, exist_ok=True)
    keras.utils.set_random_seed(SEED)
    started = time.perf_counter()

    heading("Training, on new lines every epoch")
    training, validation, held_out = split_scans(SEED)
    model = build_model()
    history = train(model, training, make_lines(validation, 200, SEED + 1), plan, SEED + 3)

    heading("Reading 400 lines of digits held out of training")
    columns, padded_labels = make_lines(held_out, 400, SEED + 2)
    labels = unpad(padded_labels)
    scores = model.evaluate(columns, padded_labels, verbose=0, return_dict=True)
    recogniser = with_decoder(model)
    decoded = recogniser.predict(columns, batch_size=len(columns), verbose=0)
    read = unpad(decoded["tokens"])
    rate = check_metric(scores["label_error_rate"], labels, read)

    heading("Exporting, and reading the same lines in a second process")
    served = serve(recogniser, columns, options.output)
    print_side_by_side(labels, read, unpad(served["tokens"]))
    check_agreement(decoded, served)

    picture = options.output / "read_digits.png"
    draw(picture, columns, labels, decoded, history, rate)
    if options.update_docs:
        COMMITTED_PICTURE.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(picture, COMMITTED_PICTURE)

    heading("Summary")
    print(f"label error rate   {rate:.2%} of {sum(map(len, labels))} digits in {len(labels)} lines")
    print(f"picture            {display(picture)}")
    print(f"exported model     {display(options.output / 'model')}")
    print(f"time               {time.perf_counter() - started:.0f} s")
    if rate > MAX_ERROR_RATE and not options.quick:
        print(f"The label error rate is above {MAX_ERROR_RATE:.0%}.", file=sys.stderr)
        return 1
    return 0


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Trains, exports and serves a reader of digits.")
    parser.add_argument(
        "--output", type=Path, default=ROOT / "build" / "demo", help="folder for what is written"
    )
    parser.add_argument(
        "--quick", action="store_true", help="90 steps of training, and no bound on the error rate"
    )
    parser.add_argument(
        "--update-docs", action="store_true", help=f"also write {display(COMMITTED_PICTURE)}"
    )
    return parser.parse_args()


def check_metric(metric: float, labels: list[list[int]], read: list[list[int]]) -> float:
    """Returns the label error rate, counted from the digits; LabelErrorRate must say the same."""
    rate = sum(map(count_edits, labels, read)) / sum(map(len, labels))
    if abs(metric - rate) > 1e-6:
        sys.exit(f"LabelErrorRate is {metric}, but the digits which were read have {rate}.")
    return rate


def serve(recogniser: keras.Model, columns: np.ndarray, folder: Path) -> dict[str, np.ndarray]:
    """Exports the recogniser, and returns what a process that has only the export makes of it."""
    model, lines, result = folder / "model", folder / "lines.npz", folder / "served.npz"
    shutil.rmtree(model, ignore_errors=True)
    recogniser.export(model, verbose=False)
    np.savez(lines, columns=columns)
    library = str(Path(tf_warpctc.__file__).parents[1])  # the folder of the package used here
    path = os.pathsep.join(filter(None, [library, os.environ.get("PYTHONPATH")]))
    subprocess.run(
        [sys.executable, HERE / "serve.py", model, lines, result],
        check=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    with np.load(result) as arrays:
        return dict(arrays)


def print_side_by_side(labels, read, served, count: int = 8) -> None:
    print(f"{'label':<12}{'this process':<15}second process")
    for row in zip(labels[:count], read[:count], served[:count], strict=True):
        label, here, there = ("".join(map(str, digits)) for digits in row)
        print(f"{label:<12}{here:<15}{there}")


def check_agreement(decoded: dict[str, np.ndarray], served: dict[str, np.ndarray]) -> None:
    """Ends the run unless every output of the two processes is the same, bit for bit."""
    if decoded.keys() != served.keys():
        sys.exit(f"The outputs are {sorted(decoded)} here, and {sorted(served)} served.")
    for name, value in decoded.items():
        if not np.array_equal(value, served[name]):
            sys.exit(f"The two processes disagree on {name}: {value} here, {served[name]} served.")
    print(f"The two agree on all {len(decoded['tokens'])} lines: {', '.join(sorted(decoded))}.")


def heading(text: str) -> None:
    print(f"\n== {text}", flush=True)


def display(path: Path) -> Path:
    """The path as seen from the top of the source tree, where it lies in it."""
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else path


if __name__ == "__main__":
    sys.exit(main())
