"""The picture: held-out lines with what was read and where, and the learning curves beside them."""

from pathlib import Path

import numpy as np
from edits import align
from lines import HEIGHT, PADDING, unpad
from matplotlib import rc_context
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import FuncFormatter, MaxNLocator
from model import FRAME_WIDTH

INK, TEXT, FAINT = "#1c2733", "#46525e", "#9aa4ae"
PAPER = "#f4f2ed"
READ, WRONG = "#1f7a8c", "#cf3f2e"
HANDWRITING = LinearSegmentedColormap.from_list("handwriting", [PAPER, INK])

# The page on which the lines are set, in pixels of the lines.
PAGE_WIDTH, PAGE_ROWS = 132, 5
ROW = HEIGHT + 10  # a line, the digits under it, and space
LINE_GAP = 7  # between two lines in a row

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
    "ytick.minor.size": 0,
    "legend.frameon": False,
    "legend.fontsize": 9,
}


def draw(path: Path, columns, labels, decoded, history, error_rate: float) -> None:
    """Writes the picture.

    Args:
        path: the PNG to write.
        columns: the held-out lines, float [B, W, HEIGHT].
        labels: their digits, a list of lists.
        decoded: dict with `tokens`, `start_frames`, `end_frames` of the recogniser.
        history: dict of lists, as Keras' `fit` returns it.
        error_rate: label error rate of the held-out lines, 0.01 for 1 %.
    """
    with rc_context(STYLE):
        figure = Figure(figsize=(9, 5.2), dpi=200)
        left, upper, lower = (
            figure.add_axes(box)  # left edge, bottom, width, height
            for box in [
                (0.02, 0.02, 0.62, 0.9),
                (0.73, 0.58, 0.255, 0.34),
                (0.73, 0.1, 0.255, 0.34),
            ]
        )
        draw_lines(left, columns, labels, decoded)
        draw_curves(upper, history, "label_error_rate", "Label error rate", error_rate)
        draw_curves(lower, history, "loss", "CTC loss per line")
        lower.set_xlabel("epoch")
        upper.yaxis.set_major_formatter(FuncFormatter(lambda rate, _: f"{100 * rate:g} %"))
        lower.yaxis.set_major_formatter(FuncFormatter(lambda loss, _: f"{loss:g}"))
        figure.savefig(path)


def draw_lines(axes, columns, labels, decoded) -> None:
    """Draws the first lines that fill the page, to one scale; two misread ones are among them."""
    tokens = unpad(decoded["tokens"])
    wrong = [row for row, read in enumerate(tokens) if read != labels[row]]
    right = [row for row, read in enumerate(tokens) if read == labels[row]]
    widths = (columns[:, :, 0] != PADDING).sum(axis=1)

    for row, left, top in place_lines(wrong[:2] + right, widths):
        axes.imshow(
            columns[row, : widths[row]].T,
            cmap=HANDWRITING,
            vmin=0,
            vmax=1,
            extent=(left, left + widths[row], top + HEIGHT, top),
        )
        spans = np.stack([decoded["start_frames"][row], decoded["end_frames"][row]], axis=1)
        spans = left + np.minimum(FRAME_WIDTH * spans, widths[row])
        draw_reading(axes, left, top, spans, labels[row], tokens[row])

    axes.set_xlim(0, PAGE_WIDTH)
    axes.set_ylim(PAGE_ROWS * ROW + 4, -0.5)
    axes.set_anchor("NW")
    axes.axis("off")
    axes.set_title("Held-out handwriting, and what the model reads")
    axes.legend(
        handles=[
            Patch(color=READ, label="read in these frames"),
            Patch(color=WRONG, label="misread (the label in brackets)"),
        ],
        loc="lower left",
        bbox_to_anchor=(0, 0),
        ncols=2,
        handlelength=0.9,
        handleheight=0.9,
        borderpad=0,
        borderaxespad=0,
        columnspacing=1.8,
    )


def place_lines(rows: list[int], widths) -> list[tuple[int, int, float]]:
    """Sets lines on the page, from its last row up, each where it first fits: (row, left, top)."""
    ends, placed = [0] * PAGE_ROWS, []
    for row in rows:
        for place in reversed(range(PAGE_ROWS)):
            if ends[place] + widths[row] <= PAGE_WIDTH:
                placed.append((row, ends[place], place * ROW))
                ends[place] += widths[row] + LINE_GAP
                break
    return placed


def draw_reading(axes, left: float, top: float, spans, label: list[int], read: list[int]) -> None:
    """Marks the pixels where each digit was read, and writes the digit under them."""
    below, end = top + HEIGHT, left
    for i, j in align(label, read):
        right = i is not None and j is not None and label[i] == read[j]
        colour = READ if right else WRONG
        if j is None:  # nothing was read: the mark goes after the digit before it
            middle = end + 2
        else:
            start, end = spans[j]
            middle = (start + end) / 2
            size = (end - start, HEIGHT)
            axes.add_patch(Rectangle((start, top), *size, color=colour, alpha=0.25, linewidth=0))
            axes.add_patch(Rectangle((start, below), size[0], 1, color=colour, linewidth=0))
        text = "–" if j is None else str(read[j])
        kwargs = {"y": below + 5, "color": colour, "va": "baseline", "ha": "center"}
        axes.text(middle, s=text, size=13, weight="bold", **kwargs)
        if not right:
            text = "(–)" if i is None else f"({label[i]})"
            axes.text(middle, below + 7.6, text, size=9, color=colour, va="baseline", ha="center")


def draw_curves(axes, history, key: str, title: str, held_out: float | None = None) -> None:
    """Draws one number by epoch, in training and in validation, on a logarithmic scale."""
    epochs = np.arange(1, len(history[key]) + 1)
    for values, colour, name in [
        (history[key], FAINT, "training"),
        (history["val_" + key], READ, "validation"),
    ]:
        axes.plot(epochs, values, color=colour, linewidth=2, label=name)
    if held_out is not None:
        axes.plot(epochs[-1], held_out, "o", color=INK, label=f"held out: {100 * held_out:.1f} %")
    axes.set_yscale("log")
    axes.set_xlim(1, epochs[-1] + 0.3)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(axis="y", color=FAINT, alpha=0.25, linewidth=0.7)
    axes.set_title(title)
    if held_out is not None:
        axes.legend(handlelength=1.2, borderaxespad=0)
