"""The comparison of pipelines: same lines and weights in all, padding counted right."""

import json

import pytest

pytest.importorskip("sklearn", reason="the pipelines read scikit-learn's handwriting")

from benchmarks.pipelines import __main__ as command  # noqa: E402
from benchmarks.pipelines import worker  # noqa: E402
from benchmarks.pipelines.variants import VARIANTS  # noqa: E402


@pytest.fixture(scope="module")
def answers():
    jobs = [
        {"variant": variant, "lines": 24, "batch_size": 4, "measure": "time", "budget_s": 0.01}
        for variant in VARIANTS
    ]
    return {job["variant"]: {"lines": job["lines"], **worker.perform(job)} for job in jobs}


def test_they_do_the_same_work(answers):
    assert tuple(answers) == command.VARIANTS
    assert command.agree(list(answers.values()))
    live = {answer["frames"]["live"] for answer in answers.values()}
    assert len(live) == 1
    given = {name: answer["frames"]["given"] for name, answer in answers.items()}
    assert given["ragged"] == given["ragged, by length"] == live.pop()
    assert given["ragged"] < given["padded, by length"] < given["padded"]
    for answer in answers.values():
        assert answer["epoch"]["median_ms"] > 0


def test_the_page(answers):
    """Ratios are against the padded pipeline's."""
    made_up = []
    for name, (ms, peak) in zip(
        command.VARIANTS, [(600.0, 4e6), (300.0, 4e6), (150.0, 2e6), (150.0, 1e6)], strict=True
    ):
        common = {key: answers[name][key] for key in ("variant", "frames", "first_loss", "lines")}
        made_up += [
            {**common, "memory": {"peak": peak, "kept": 0}},
            {**common, "epoch": {"median_ms": ms}},
        ]
    machine = {"processor": "P", "cores": 2, "vectors": "none", "date": "2026-01-01"}
    results = {"machine": machine, "rounds": 1, "answers": json.loads(json.dumps(made_up))}
    page = command.markdown(results)
    assert "| ragged, by length |" in page and "| 100 | 0.25 | 1 | 0.25 |" in page
    assert "| 400 | 1.00 | 4 | 1.00 |" in page
    made_up[0]["first_loss"] *= 1.01
    assert not command.agree(made_up)
