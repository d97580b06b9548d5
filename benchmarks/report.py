"""The markdown table of a run."""

import statistics

from benchmarks import peers, sweeps
from benchmarks.data import Shape
from benchmarks.plan import ACCURACY, memory_limit
from benchmarks.run import OURS
from benchmarks.summary import Figure, Summary

# Two modes that differ by less are shown as one number.
SAME = 0.10

YARDSTICK_TITLES = {
    "read": "read, C",
    "copy": "copy, C",
    "c_softmax": "softmax, C",
    "reduce_max": "tf.reduce_max",
    "softmax": "tf.nn.softmax",
    "call": "call of a tf.function",
}

# Ours, beside the yardsticks: task, peer, and what the table calls it.
BESIDE_YARDSTICKS = (
    ("greedy", "ours_greedy", "greedy decoding"),
    ("evaluation", OURS, "loss"),
    ("training", OURS, "loss and gradient"),
)


def title(name: str) -> str:
    """What a peer or yardstick is called."""
    return YARDSTICK_TITLES.get(name) or peers.load(name).title


def number(value: float) -> str:
    """Three significant digits, without an exponent."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def cell(figure: Figure | None) -> str:
    """'44 (23)': as it comes, and in brackets with page faults taken out where that differs."""
    if figure is None:
        return "–"
    plain, better = figure.as_it_comes, figure.by_mode.get("faults out", figure.as_it_comes)
    if abs(plain - better) <= SAME * plain:
        return number(figure.better)
    return f"{number(plain)} ({number(better)})"


def table(header: list[str], rows: list[list[str]]) -> str:
    """A markdown table, the first column to the left and the others to the right."""
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def verdict(row: dict | None) -> str:
    """Whether ours reaches its goal."""
    return "–" if row is None else "yes" if row["met"] else "**no**"


def times(summary: Summary, task: str) -> str:
    """All peers' times for one task, a row a shape; bold is the fastest."""
    names = summary.peers(task)
    rows = []
    for shape in summary.shapes(task):
        figures = [summary.figures.get((task, name, shape)) for name in names]
        fastest = min(figure.better for figure in figures if figure)
        row = [
            f"**{cell(figure)}**" if figure and figure.better == fastest else cell(figure)
            for figure in figures
        ]
        rows.append([str(shape), *row])
    return table(["T/U/V", *map(title, names)], rows)


def floors(summary: Summary) -> str:
    """What the machine and TensorFlow take for the logits alone, a row a shape, and ours."""
    rows = []
    for shape in sorted(set(summary.shapes("softmax")), key=lambda shape: shape.logits_bytes):
        figures = [summary.yardstick(task, shape) for task in YARDSTICK_TITLES]
        figures += [summary.figures.get((task, peer, shape)) for task, peer, _ in BESIDE_YARDSTICKS]
        row = [number(figure.better) if figure else "–" for figure in figures]
        rows.append([str(shape), megabytes(shape.logits_bytes), *row])
    ours = [f"ours: {name}" for _, _, name in BESIDE_YARDSTICKS]
    return table(["T/U/V", "logits, MB", *YARDSTICK_TITLES.values(), *ours], rows)


def softmaxes(summary: Summary) -> str:
    """Ours as multiples of a softmax of the same logits, a row a shape; better against better."""
    columns = [
        (task, peer, name, yardstick)
        for task, peer, name in BESIDE_YARDSTICKS
        for yardstick in ("softmax", "c_softmax")
        if task != "greedy"
    ]
    rows = []
    for shape in summary.shapes("training"):
        row = [str(shape)]
        for task, peer, _, yardstick in columns:
            ours = summary.figures.get((task, peer, shape))
            theirs = summary.yardstick(yardstick, shape)
            row.append(f"{ours.better / theirs.better:.2f}" if ours and theirs else "–")
        rows.append(row)
    header = [f"{name} / {title(yardstick)}" for _, _, name, yardstick in columns]
    return table(["T/U/V", *header], rows)


def judged(summary: Summary) -> str:
    """Ratios beside what has to be reached."""
    rows = []
    for row in summary.judged():
        target = row["target"]
        if target.at_least is not None:
            wanted, unit = f"≥ {target.at_least:g}", "× faster"
        else:
            wanted, unit = f"≤ {target.at_most:g}", "× its time"
        rows.append(
            [
                f"{target.task}, {target.shape}",
                title(row["other"]),
                cell(row["ours"]),
                cell(row["theirs"]),
                f"{row['ratio']:.2f} {unit}",
                f"{row['strict']:.2f}",
                wanted,
                verdict(row),
            ]
        )
    header = ["task, T/U/V", "against", "ours, ms", "theirs, ms", "ratio", "strict", "goal", "met"]
    return table(header, rows)


def error_text(value: float) -> str:
    """'3.1e-07', or that there is no number."""
    return f"{value:.1e}" if value == value else "NaN"


def errors(summary: Summary) -> str:
    """Largest errors, a row a shape and kind of logits: loss / gradient for each peer."""
    found = summary.error_rows()
    names = list(dict.fromkeys(row["peer"] for row in found))
    by_key = {(row["shape"], row["kind"], row["peer"]): row for row in found}
    lines = []
    for shape, kind in dict.fromkeys((row["shape"], row["kind"]) for row in found):
        line = [f"{shape}, {kind}"]
        for name in names:
            row = by_key.get((shape, kind, name))
            pair = [error_text(row[key]) for key in ("loss", "gradient")] if row else ["–"]
            line.append(" / ".join(pair))
        limits = " / ".join(f"{limit:.0e}" for limit in ACCURACY[kind])
        lines.append([*line, limits, verdict(by_key.get((shape, kind, OURS)))])
    return table(["T/U/V, logits", *map(title, names), "goal", "met"], lines)


def megabytes(count: float) -> str:
    """MB of 10^6 bytes."""
    return number(count / 1e6)


def memory(summary: Summary) -> str:
    """Peak memory of a training step beyond the gradient, a row a shape."""
    found = summary.memory_rows()
    names = list(dict.fromkeys(row["peer"] for row in found))
    by_key = {(row["shape"], row["peer"]): row for row in found}
    lines = []
    for shape in dict.fromkeys(row["shape"] for row in found):
        rows = [by_key.get((shape, name)) for name in names]
        ours = by_key.get((shape, OURS))
        lines.append(
            [str(shape), megabytes(shape.logits_bytes)]
            + [megabytes(row["beyond"]) if row else "–" for row in rows]
            + [f"{ours['beyond'] / shape.cells:.1f}" if ours else "–"]
            + [
                megabytes(memory_limit(shape)),
                ("yes" if ours["met"] else "**no**") if ours else "–",
            ]
        )
    header = ["T/U/V", "logits", *map(title, names), "ours, bytes a cell", "goal", "met"]
    return table(header, lines)


def growth(summary: Summary) -> str:
    """How a training step's cost grows along each dimension."""
    rows = []
    for axis, chosen in sweeps.AXES.items():
        found = summary.sweep(axis).get(OURS)
        if not found or len(found) < 3:
            continue
        values, ms = [p["value"] for p in found], [p["ms"] for p in found]
        fixed = ", ".join(f"{k} {v}" for k, v in chosen.base._asdict().items() if k != axis)
        slope = f"{sweeps.growth(values, ms):.2f}"
        rows.append(
            [f"{axis} from {values[0]:,} to {values[-1]:,}", fixed, number(ms[0]), number(ms[-1])]
            + [slope]
        )
    return table(["dimension", "fixed", "first, ms", "last, ms", "exponent (1 is linear)"], rows)


def absent(summary: Summary) -> str:
    """Every peer that is not in a table, and why."""
    lines = [f"- {title(k)}: not installed: {v}" for k, v in summary.results["missing"].items()]
    for record in summary.results["left_out"]:
        shape = Shape(*record["shape"])
        what = "" if record["what"] == "everything" else f" ({record['what']})"
        lines.append(f"- {title(record['peer'])} on {shape}{what}: {record['reason']}")
    return "\n".join(lines) or "Every peer ran on every shape."


def conditions(summary: Summary) -> str:
    """Machine, versions, and how steady it was."""
    found = summary.results["machine"]
    versions = ", ".join(f"{k} {v}" for k, v in sorted(summary.results["versions"].items()))
    lines = [
        f"{found['processor']}, {found['cores']} cores, {found['vectors']}, "
        f"{found['memory_gb']:g} GB; {found['system']}, {found['libc']}, "
        f"Python {found['python']}; {found['date']}.",
        f"{versions}.",
    ]
    steady = f"Median of {summary.results['rounds']} round(s)"
    if summary.spreads:
        ranked = sorted(summary.spreads)
        p90 = ranked[min(len(ranked) - 1, int(0.9 * len(ranked)))]
        steady += (
            f"; spread between rounds: median {statistics.median(ranked):.0%}, "
            f"90th percentile {p90:.0%}"
        )
    if summary.disturbed:
        steady += (
            "; processor time that went to others while a sample ran: median "
            f"{statistics.median(summary.disturbed):.0%}, at most {max(summary.disturbed):.0%}"
        )
    return "\n".join([*lines, steady + "."])


def markdown(summary: Summary) -> str:
    """The whole page."""
    wrong = summary.wrong_decodings()
    decodings = "All tokens agree with the oracle." if not wrong else f"Wrong tokens: {wrong}."
    parts = [
        "# Performance, as measured",
        "Written by `make bench`. T frames, U labels, V classes, B rows, float32 logits, all "
        "cores. Each time is of a fresh process, once as it comes and once with page faults taken "
        "out (glibc told to keep its memory), which is in brackets where it differs by a tenth. "
        "Bold is the fastest.",
        conditions(summary),
    ]
    if summary.shapes("training"):
        parts += ["## Loss and gradient, ms", times(summary, "training")]
        parts += ["## Loss alone, ms", times(summary, "evaluation")]
    if summary.shapes("greedy"):
        parts += ["## Greedy decoding, ms", times(summary, "greedy"), decodings]
    if summary.shapes("softmax"):
        parts += [
            "## What the machine allows, ms",
            "The better figure of each, on the same logits in the same run.",
            floors(summary),
        ]
        if summary.shapes("training"):
            parts += ["Ours over a softmax of the same logits:", softmaxes(summary)]
    if summary.judged():
        parts += [
            "## Against the fastest peer, and against reading and writing the logits",
            "`ratio` is of the better figures of both sides, and is what counts; `strict` is ours "
            "as it comes against their better.",
            judged(summary),
        ]
    if summary.results["checks"]:
        parts += [
            "## Largest errors against float64",
            "Loss (relative) / gradient (absolute). `x 50`: the logits times 50.",
            errors(summary),
            "## Peak memory of a training step beyond the gradient, MB",
            "Live heap, counted to the byte. Buffers that the caller of warp-ctc keeps are in it. "
            "The goal is 8 bytes a lattice cell (B·T·(2U+1)), 16 bytes a B·(V+T), and 1 MB.",
            memory(summary),
        ]
    if summary.results["sweeps"]:
        parts += ["## Cost against each dimension", growth(summary)]
    parts += ["## Not in the tables", absent(summary)]
    return "\n\n".join(parts) + "\n"
