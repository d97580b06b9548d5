"""The benchmarks run, and judge rightly: one tiny shape with TensorFlow's peers; made-up times."""

import dataclasses
import json
import shutil
import time
import types

import numpy as np
import pytest

from benchmarks import jobs, memory, peers, plan, plots, quiet, reference, report, sweeps, worker
from benchmarks.data import Case, Shape
from benchmarks.run import OURS, Run, named
from benchmarks.summary import Summary, numbers
from tools.setup import peers as setup_peers

TINY = Shape(12, 3, 5, 2)

# What a run of the tests' environment can compare with: no other library is installed in it.
WITHIN_TENSORFLOW = [OURS, "tf_sparse", "tf_dense", "keras_loss"]


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    return str(reference.store(tmp_path_factory.mktemp("reference"), TINY))


@pytest.mark.parametrize("name", WITHIN_TENSORFLOW)
def test_losses_within_tensorflow(name, expected):
    point = {"shape": TINY, "tasks": ["training", "evaluation"], "reference": expected}
    answer = worker.perform({"peer": name, "points": [point], "budget_s": 0.01})
    (done,) = answer["points"]
    assert done["errors"]["loss"] < 1e-6 and done["errors"]["gradient"] < 1e-5
    for timing in done["timings"].values():
        assert 0 < timing["fastest_ms"] <= timing["median_ms"] and timing["calls"] >= 3
    assert answer["versions"]


@pytest.mark.parametrize("name", peers.DECODERS)
def test_decoders(name):
    task = {"shape": TINY, "tasks": ["greedy"], "decoding": True}
    (done,) = worker.perform({"peer": name, "points": [task], "budget_s": 0.01})["points"]
    assert done["errors"]["wrong_rows"] == 0


def test_a_run_from_process_to_table(tmp_path, monkeypatch):
    """Our loss to the page and the picture; a process of its own where it has to be, for memory."""
    fresh_process = jobs.run

    def run_job(job, mode, **settings):
        return fresh_process(job, mode, **settings) if mode == "memory" else worker.perform(job)

    monkeypatch.setattr(jobs, "run", run_job)
    small = dataclasses.replace(
        plan.QUICK, losses=(OURS,), decoders=(), loss_shapes=(TINY,), greedy_shapes=()
    )
    run = Run(dataclasses.replace(small, budget_s=0.02, patience_s=0.0), tmp_path, say=str)
    run.everything()
    results = json.loads((tmp_path / "results.json").read_text())
    summary = Summary(results)
    assert not results["left_out"] and not results["missing"]
    assert summary.figures["training", OURS, TINY].better > 0
    for names in peers.YARDSTICKS.values():
        for name in names:
            assert summary.yardstick(name, TINY).better > 0
    kinds = {row["kind"]: row["met"] for row in summary.error_rows()}
    assert kinds == {"float32": True, "float32 x 50": True, "float64": True}
    (row,) = summary.memory_rows()
    assert 0 < row["total"] and row["met"]
    page = report.markdown(summary)
    assert str(TINY) in page and "tf_warpctc" in page
    (picture,) = plots.draw(summary, tmp_path)
    assert picture.stat().st_size > 1000


def floors_of(logits):
    """The plain C functions on these logits; skips where nothing can compile them."""
    try:
        return peers.load("floors")(types.SimpleNamespace(logits=logits))
    except ImportError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("num_classes", [1, 2, 15, 16, 17, 28, 33, 1024, 4999, 5000])
@pytest.mark.parametrize("rows", [1, 35])
def test_the_floors_do_what_they_say(rows, num_classes):
    """A yardstick that skips work would be no floor."""
    # In [64, 128) nearly all, where float32 differences are exact: the tolerance is exp's alone.
    logits = np.random.default_rng(0).normal(96, 5, (rows, 1, num_classes)).astype(np.float32)
    peer = floors_of(logits)
    for last in (0, -1):  # the ends are where a share of the work could be lost
        logits.flat[last] = 127
        assert peer.calls["read"]() == 127
        logits.flat[last] = 96
    peer.calls["copy"]()
    np.testing.assert_array_equal(peer.output, logits)
    peer.calls["c_softmax"]()
    powers = np.exp(logits.astype(np.float64) - logits.max(-1, keepdims=True))
    expected = powers / powers.sum(-1, keepdims=True)
    np.testing.assert_allclose(peer.output, expected, rtol=3e-6)


def test_the_c_softmax_of_classes_far_apart():
    logits = np.array([[[0, -80, -1e30, -np.inf] * 7]], np.float32)
    peer = floors_of(logits)
    peer.calls["c_softmax"]()
    np.testing.assert_allclose(
        peer.output[0, 0, :4], np.array([1, np.exp(-80), 0, 0]) / 7, 3e-6, 1e-37
    )


def test_loading_the_floors_leaves_denormals_alone():
    """-ffast-math at the link would have them rounded to zero in the whole process."""
    floors_of(np.zeros((1, 1, 4), np.float32))
    assert np.float64(2.3e-308) * np.float64(0.01) > 0


def test_floors_without_a_compiler_are_missing(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    answer = worker.perform({"peer": "floors", "points": [{"shape": TINY}]})
    assert answer == {"missing": "no C compiler for floors.c"}


def test_a_missing_library_and_a_failure_are_told_apart(monkeypatch):
    class Missing:
        def __init__(self, case):
            import no_such_library  # noqa: F401

    class Failing:
        def __init__(self, case):
            raise ValueError("two\nlines")

    job = {"peer": "any", "points": [{"shape": TINY}]}
    monkeypatch.setattr(peers, "load", lambda name: Missing)
    assert worker.perform(job) == {"missing": "No module named 'no_such_library'"}
    monkeypatch.setattr(peers, "load", lambda name: Failing)
    assert worker.perform(job) == {"failed": "ValueError: two"}


def test_a_crash_and_an_endless_job_are_failures():
    answer = jobs.run({"peer": "no_such_peer", "points": []}, "as it comes")
    assert "no_such_peer" in answer["failed"]
    job = {"peer": "numpy_greedy", "points": []}
    assert "no result" in jobs.run(job, "as it comes", timeout_s=0.01)["failed"]


def test_malloc_modes_reach_the_process(tmp_path):
    assert "MALLOC_MMAP_THRESHOLD_" in jobs.environment("faults out")
    assert "MALLOC_MMAP_THRESHOLD_" not in jobs.environment("as it comes")
    counter = memory.build(tmp_path)
    assert jobs.environment("memory", counter)["LD_PRELOAD"] == str(counter)


def test_errors_see_a_wrong_number(expected):
    with np.load(expected) as right:
        loss, gradient = right["loss"], right["gradient"]
        assert reference.errors((loss, gradient), right) == {"loss": 0.0, "gradient": 0.0}
        wrong = gradient.copy()
        wrong[3, 1, 2] += 0.25
        assert reference.errors((loss * 1.5, wrong), right)["loss"] == pytest.approx(0.5)
        assert reference.errors((loss, wrong), right)["gradient"] == pytest.approx(0.25)
        wrong[0, 0, 0] = np.nan
        assert np.isnan(reference.errors((loss, wrong), right)["gradient"])
    case = Case(TINY)
    assert reference.greedy_errors([[1], [2]], None, case)["wrong_rows"] == 2


def test_what_json_has_no_number_for_comes_through():
    made_of = [float("nan"), float("inf"), 1.5]
    text = json.dumps(named({"errors": made_of}), allow_nan=False)
    values = json.loads(text)["errors"]
    loaded = numbers(dict(enumerate(values)))
    np.testing.assert_array_equal(list(loaded.values()), made_of)


def test_foreign_work_is_seen():
    """Half a second's work of this process is not foreign; shares are between 0 and 1."""
    before = quiet.Snapshot(total=100.0, busy=50.0, own=10.0)
    after = quiet.Snapshot(total=102.0, busy=51.5, own=11.0)
    assert after.foreign_share_since(before) == pytest.approx(0.25)
    started = time.monotonic()
    assert quiet.wait(0.2) <= time.monotonic() - started


def made_up(ours, peer, other_mode=None):
    """Results with one target's shape: ms of ours and of a peer, as it comes and without faults."""
    shape = plan.LETTERS[2]
    records = []
    for name, ms in ((OURS, ours), ("pytorch", peer), ("optax_jit", 2 * peer)):
        for mode, factor in (("as it comes", 1.0), ("faults out", other_mode or 1.0)):
            timing = {"median_ms": ms * factor, "foreign_share": 0.0}
            record = {"peer": name, "mode": mode, "shape": shape, "round": 0}
            records.append(record | {"timings": {"training": timing}})
    return Summary({"timings": records, "checks": [], "sweeps": []})


def test_the_report_shows_what_the_machine_allows():
    first, second = plan.LETTERS[2], plan.WORDS[1]  # greedy decoding is timed on the second alone
    times = {
        "yardsticks": {"softmax": 4.0, "reduce_max": 2.0, "call": 0.03},
        "floors": {"read": 1.0, "copy": 1.5, "c_softmax": 3.0},
        OURS: {"training": 6.0, "evaluation": 5.0},
        "ours_greedy": {"greedy": 2.5},
    }
    records = [
        {"peer": name, "mode": "as it comes", "shape": shape, "round": 0}
        | {"timings": {task: {"median_ms": ms, "foreign_share": 0.0} for task, ms in ms_of.items()}}
        for shape in (first, second)
        for name, ms_of in times.items()
        if (name, shape) != ("ours_greedy", first)
    ]
    summary = Summary({"timings": records, "checks": [], "sweeps": []})
    _, _, *rows = report.floors(summary).splitlines()
    measured = "1 | 1.5 | 3 | 2 | 4 | 0.03"
    assert rows == [
        f"| {first} | 1.08 | {measured} | – | 5 | 6 |",
        f"| {second} | 48 | {measured} | 2.5 | 5 | 6 |",
    ]
    header, _, *rows = report.softmaxes(summary).splitlines()
    assert header.count("tf.nn.softmax") == header.count("softmax, C") == 2
    assert rows == [f"| {shape} | 1.25 | 1.67 | 1.50 | 2.00 |" for shape in (first, second)]
    # Without a compiler the C columns are empty, and the rest stands.
    records = [record for record in records if record["peer"] != "floors"]
    summary = Summary({"timings": records, "checks": [], "sweeps": []})
    assert f"| {first} | 1.08 | – | – | – | 2 | 4 | 0.03 | – | 5 | 6 |" in report.floors(summary)
    assert f"| {first} | 1.25 | – | 1.50 | – |" in report.softmaxes(summary)


@pytest.mark.parametrize(("ours", "met"), [(1.0, True), (1.01, False)])
def test_targets_are_judged_on_the_better_figures(ours, met):
    (row,) = made_up(ours, 10.0).judged()
    assert row["other"] == "pytorch" and row["met"] is met
    assert row["ratio"] == pytest.approx(10 / ours)
    (row,) = made_up(ours, 10.0, other_mode=0.5).judged()
    assert row["ratio"] == pytest.approx(10 / ours)
    assert row["strict"] == pytest.approx(5 / ours)


def test_every_target_has_a_shape_that_is_run():
    for target in plan.TARGETS:
        shapes = plan.FULL.greedy_shapes if target.task == "greedy" else plan.FULL.loss_shapes
        assert target.shape in shapes
        assert (target.at_least is None) != (target.at_most is None)


def test_growth_is_the_exponent():
    values = [1, 10, 100, 1000]
    assert sweeps.growth(values, [3 * v for v in values]) == pytest.approx(1.0)
    assert sweeps.growth(values, [v**2 for v in values]) == pytest.approx(2.0)


def test_peers_load_without_their_libraries():
    for name in (*peers.LOSSES, *peers.DECODERS, *peers.YARDSTICKS):
        assert peers.load(name).title


def test_a_peer_that_cannot_be_installed_is_no_failure(monkeypatch):
    tried = []

    def pip_install(inside, arguments):
        tried.append(arguments)
        raise setup_peers.SetupError("no such version")

    monkeypatch.setattr(setup_peers, "pip_install", pip_install)
    assert setup_peers.install("python", "optax==1") == "no such version"
    assert tried == [["optax==1"]]
    # Without its +cpu, PyTorch would come with CUDA: the version is never loosened.
    assert setup_peers.install("python", "torch==2+cpu") == "no such version"
    assert [arguments[-1] for arguments in tried[1:]] == ["torch==2+cpu", "torch==2+cpu"]
