"""The pictures of a run: speed beside the peers, cost against each dimension, errors against T."""

from pathlib import Path

from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from benchmarks import sweeps
from benchmarks.report import title
from benchmarks.run import OURS
from benchmarks.summary import Summary

INK, TEXT, FAINT = "#1c2733", "#46525e", "#9aa4ae"
OURS_COLOUR = "#1f7a8c"

# The peers: told apart by marker and shade, so that ours stands out.
PEER_LOOKS = {
    "warpctc_library": ("#cf3f2e", "s"),
    "pytorch": ("#d98c3f", "D"),
    "optax_jit": ("#6b5b95", "^"),
    "paddle_loss": ("#b0577f", "v"),
    "tf_sparse": ("#5f7f4f", "P"),
    "tf_dense": ("#9aa4ae", "X"),
    "keras_loss": ("#6f7b86", "*"),
}

STYLE = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so the picture is the same everywhere
    "font.size": 9,
    "text.color": TEXT,
    "axes.edgecolor": FAINT,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlepad": 9,
    "axes.labelcolor": TEXT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": TEXT,
    "ytick.labelcolor": TEXT,
    "legend.frameon": False,
    "legend.fontsize": 9,
}


def look(peer: str) -> dict:
    """How a peer is drawn."""
    if peer == OURS:
        return {"color": OURS_COLOUR, "marker": "o", "label": title(peer), "zorder": 3}
    colour, marker = PEER_LOOKS[peer]
    return {"color": colour, "marker": marker, "label": title(peer)}


def plain(value: float, _=None) -> str:
    """'20,000', '0.5': tick labels without powers of ten."""
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"


def draw_speed(summary: Summary, path: Path):
    """A row a shape, a mark a peer: ms of a training step, better figures."""
    shapes = summary.shapes("training")
    figure = Figure(figsize=(9, 1.5 + 0.42 * len(shapes)), dpi=200, layout="constrained")
    axes = figure.subplots()
    for peer in summary.peers("training"):
        keys = [("training", peer, shape) for shape in shapes]
        found = [(y, summary.figures[k].better) for y, k in enumerate(keys) if k in summary.figures]
        size = 9 if peer == OURS else 6
        rows, ms = zip(*found, strict=True)
        axes.plot(ms, rows, linestyle="none", markersize=size, **look(peer))
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(plain))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_yticks(range(len(shapes)), [str(shape) for shape in shapes])
    axes.set_ylim(len(shapes) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="both", color=FAINT, alpha=0.25, linewidth=0.7)
    axes.set_xlabel("ms")
    axes.set_title("Loss and gradient of a batch: T/U/V, B rows")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), handletextpad=0.3)
    figure.savefig(path)


def prepare(axes, axis: str):
    """A logarithmic panel against one dimension."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(plain))
    for ticks in (axes.xaxis, axes.yaxis):
        ticks.set_minor_locator(NullLocator())
    axes.grid(color=FAINT, alpha=0.25, linewidth=0.7)
    axes.set_xlabel(axis)


def draw_cost(summary: Summary, path: Path):
    """A panel a dimension: ms of a training step, and a line of linear growth under ours."""
    figure = Figure(figsize=(9, 6.4), dpi=200, layout="constrained")
    panels = figure.subplots(2, 2).flat
    names = {"B": "rows", "T": "frames", "V": "classes", "U": "labels"}
    for axes, (axis, chosen) in zip(panels, sweeps.AXES.items(), strict=True):
        found = summary.sweep(axis)
        prepare(axes, f"{axis}, {names[axis]}")
        for peer, points in found.items():
            x, ms = [p["value"] for p in points], [p["ms"] for p in points]
            axes.plot(x, ms, linewidth=2 if peer == OURS else 1.2, markersize=4, **look(peer))
        if OURS in found:
            last = found[OURS][-1]
            x = [p["value"] for p in found[OURS]]
            linear = [last["ms"] * value / last["value"] for value in x]
            style = {"color": FAINT, "linestyle": (0, (2, 2)), "linewidth": 1}
            axes.plot(x, linear, label="linear growth", zorder=1, **style)
            bottom = min(p["ms"] for points in found.values() for p in points)
            axes.set_ylim(bottom=bottom / 2)
        axes.yaxis.set_major_formatter(FuncFormatter(plain))
        fixed = ", ".join(f"{k} {v:,}" for k, v in chosen.base._asdict().items() if k != axis)
        axes.set_title(f"ms against {axis}")
        axes.text(0.98, 0.03, fixed, transform=axes.transAxes, ha="right", size=8)
        lines = axes.get_legend_handles_labels()
    figure.legend(*lines, loc="outside lower center", ncols=5, handlelength=1.4)
    figure.savefig(path)


def draw_errors(summary: Summary, path: Path):
    """Errors of loss and gradient against the number of frames."""
    figure = Figure(figsize=(9, 3.4), dpi=200, layout="constrained")
    panels = figure.subplots(1, 2)
    titles = {"loss": "Loss, relative error", "gradient": "Gradient, largest absolute error"}
    for axes, (key, text) in zip(panels, titles.items(), strict=True):
        prepare(axes, "T, frames")
        for peer, points in summary.sweep("T").items():
            x, error = [p["value"] for p in points], [p[key] for p in points]
            axes.plot(x, error, linewidth=2 if peer == OURS else 1.2, markersize=4, **look(peer))
        axes.set_title(text)
    panels[1].legend(loc="center left", bbox_to_anchor=(1, 0.5), handlelength=1.4)
    figure.savefig(path)


def draw(summary: Summary, folder: Path) -> list[Path]:
    """Draws what the run has numbers for; returns the files."""
    wanted = [("speed.png", draw_speed, bool(summary.shapes("training")))]
    has_sweeps = bool(summary.results["sweeps"])
    wanted += [("cost.png", draw_cost, has_sweeps)]
    wanted += [("errors.png", draw_errors, bool(summary.sweep("T")))]
    paths = []
    with rc_context(STYLE):
        for name, function, available in wanted:
            if available:
                function(summary, folder / name)
                paths.append(folder / name)
    return paths
