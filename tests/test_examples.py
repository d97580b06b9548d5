"""The examples run, briefly, as a reader starts them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

pytest.importorskip("sklearn", reason="the examples' handwriting is scikit-learn's")


def run(*arguments):
    """What the program prints; it must end well."""
    done = subprocess.run(
        [sys.executable, ROOT / "examples/read_digits" / arguments[0], *arguments[1:]],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_ragged():
    for options in ([], ["--by-length"]):
        said = run("ragged.py", "--quick", *options)
        assert re.search(r"of 1056 held-out digits misread", said)


def test_from_training_to_serving(tmp_path):
    said = run("run.py", "--quick", "--output", str(tmp_path))
    assert "The two agree on all 400 lines" in said
    assert (tmp_path / "read_digits.png").stat().st_size > 10_000
