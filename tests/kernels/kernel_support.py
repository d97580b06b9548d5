"""Calls the kernels' pybind11 module on rows of frames, in any layout, between guard zones.

No TensorFlow: the module is loaded by its path, so that the package around it is not imported.
TF_WARPCTC_KERNELS names another build of it (with sanitizers, say).
"""

import importlib.machinery
import importlib.util
import os
import pathlib
import platform
from dataclasses import dataclass

import numpy as np
import oracles

DTYPES = ("float16", "bfloat16", "float32", "float64")
LAYOUTS = ("time_major", "batch_major", "packed", "scattered")
STORAGE = {
    "float16": np.uint16,
    "bfloat16": np.uint16,
    "float32": np.float32,
    "float64": np.float64,
}

_DEFAULT = pathlib.Path(__file__).resolve().parents[2] / "tf_warpctc" / "_kernels.so"


def module_path():
    return pathlib.Path(os.environ.get("TF_WARPCTC_KERNELS") or _DEFAULT)


def load():
    """The module `_kernels`; a missing file is an error, never a skip."""
    path = module_path()
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing: run `make build`, or set TF_WARPCTC_KERNELS")
    loader = importlib.machinery.ExtensionFileLoader("_kernels", str(path))
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_file_location("_kernels", path, loader=loader)
    )
    loader.exec_module(module)
    return module


kernels = load()
LEVELS = tuple(kernels.simd_levels())

# Those that multiply and add with one rounding, which give the same bits: all but x86-64's lowest.
FUSED_LEVELS = tuple(
    level for level in LEVELS if level != "baseline" or platform.machine() != "x86_64"
)


def to_storage(values, dtype):
    """Numbers as the kernels take them: half types as the bits in a uint16, rounded to nearest."""
    with np.errstate(over="ignore"):
        if dtype == "float16":
            return np.asarray(values, np.float64).astype(np.float16).view(np.uint16)
        if dtype == "bfloat16":
            single = np.asarray(values, np.float64).astype(np.float32)
            bits = single.view(np.uint32)
            rounded = (bits + np.uint32(0x7FFF) + ((bits >> 16) & 1)) >> 16
            return np.where(np.isnan(single), 0x7FC0, rounded).astype(np.uint16)
        return np.asarray(values, np.float64).astype(STORAGE[dtype])


def from_storage(stored, dtype):
    """The float64 values of what `to_storage` or a kernel wrote."""
    if dtype == "float16":
        return stored.view(np.float16).astype(np.float64)
    if dtype == "bfloat16":
        return (stored.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return stored.astype(np.float64)


GUARD = 37  # elements before and after all rows; odd, so that rows are not aligned either


@dataclass
class Frames:
    """Rows [T_b, V] in one flat array, and the numbers that say where each row lies."""

    values: np.ndarray  # flat, in storage type, NaN wherever no live frame is
    base: np.ndarray
    stride: int
    length: np.ndarray
    capacity: np.ndarray
    num_classes: int

    def arguments(self):
        return {
            "base": self.base,
            "stride": self.stride,
            "logit_length": self.length,
            "capacity": self.capacity,
            "num_classes": self.num_classes,
        }

    def places(self, b, frames=None):
        """Index [frames, V] of row b's elements in the flat array; all live frames by default."""
        frames = self.length[b] if frames is None else frames
        start = self.base[b] + self.stride * np.arange(frames)
        return start[:, None] + np.arange(self.num_classes)


def lay_out(rows, layout, dtype, extra=2):
    """Frames of these rows: three layouts of TensorFlow, and rows scattered with gaps."""
    num_classes = rows[0].shape[1]
    length = np.array([len(row) for row in rows], np.int64)
    batch = len(rows)
    longest = int(length.max(initial=0)) + extra
    capacity = length if layout == "packed" else np.full(batch, longest)
    if layout == "time_major":
        base, stride = np.arange(batch) * num_classes, batch * num_classes
        size = longest * stride
    elif layout == "batch_major":
        base, stride = np.arange(batch) * longest * num_classes, num_classes
        size = batch * longest * num_classes
    elif layout == "packed":
        splits = np.concatenate([[0], np.cumsum(length)])
        base, stride = splits[:-1] * num_classes, num_classes
        size = int(splits[-1]) * num_classes
    else:  # rows in reverse order, gaps between frames and between rows
        stride = num_classes + 3
        room = longest * stride + 5
        base, size = np.arange(batch)[::-1] * room, batch * room
    base = (base + GUARD).astype(np.int64)
    flat = np.full(size + 2 * GUARD, np.nan)
    frames = Frames(None, base, int(stride), length, capacity, num_classes)
    for b, row in enumerate(rows):
        flat[frames.places(b)] = row
    frames.values = to_storage(flat, dtype)
    return frames


def pad_labels(labels, extra=1):
    """[B, U] int32 with numbers that are no class past the lengths, and the lengths."""
    width = max((len(row) for row in labels), default=0) + extra
    out = np.resize(np.array([-1, 2**31 - 1, -(2**31), 1 << 20], np.int32), (len(labels), width))
    for b, row in enumerate(labels):
        out[b, : len(row)] = row
    return out, np.array([len(row) for row in labels], np.int64)


@dataclass
class Loss:
    loss: np.ndarray
    gradients: list  # [T_b, V] float64 for each row
    gradient_values: np.ndarray  # the flat array as the kernel left it
    residuals: dict


SENTINEL = {"float16": 0x5A5A, "bfloat16": 0x5A5A, "float32": 12345.0, "float64": 12345.0}


def loss_and_gradient(
    rows,
    labels,
    blank=0,
    dtype="float32",
    layout="batch_major",
    upstream=None,
    extra_labels=1,
    **options,
):
    """Both kernels on these rows; checks that nothing outside the rows' frames was written."""
    frames = lay_out(rows, layout, dtype)
    ids, label_length = pad_labels(labels, extra_labels)
    shared = dict(frames.arguments(), labels=ids, label_length=label_length, blank=blank)
    shared.update(dtype=dtype)
    execution = {key: options[key] for key in ("threads", "level") if key in options}
    result = kernels.ctc_loss(frames.values, **shared, **options)
    real = np.float64 if dtype == "float64" else np.float32
    weights = np.ones(len(rows)) if upstream is None else upstream
    gradient = np.full(frames.values.shape, SENTINEL[dtype], STORAGE[dtype])
    kernels.ctc_loss_gradient(
        frames.values,
        residuals=result,
        upstream=np.asarray(weights, real),
        gradient=gradient,
        **shared,
        **execution,
    )
    assert result["loss"].dtype == real
    outside = np.ones(gradient.shape, bool)
    for b in range(len(rows)):
        outside[frames.places(b, frames.capacity[b])] = False
        padding = frames.places(b, frames.capacity[b])[len(rows[b]) :]
        assert not from_storage(gradient[padding], dtype).any(), f"row {b}: padding has a gradient"
    assert (gradient[outside] == SENTINEL[dtype]).all(), "written outside of the rows"
    gradients = [from_storage(gradient[frames.places(b)], dtype) for b in range(len(rows))]
    return Loss(result["loss"], gradients, gradient, result)


_answers = {}  # of the oracle, by row: every level of a parametrised test asks for the same ones


def expected_row(row, labels, blank, dtype):
    """Oracle loss and gradient of one rounded row."""
    rounded = from_storage(to_storage(row, dtype), dtype)
    # The oracle's log space must be finer than what it judges.
    precision = np.longdouble if dtype == "float64" else np.float64
    key = rounded.tobytes(), rounded.shape, tuple(labels), blank, precision
    if key not in _answers:
        _answers[key] = oracles.loss_and_gradient(rounded, labels, blank, precision)
    return _answers[key]


def expected(rows, labels, blank, dtype):
    """Oracle losses [B] and gradients of the rounded rows."""
    pairs = [expected_row(x, y, blank, dtype) for x, y in zip(rows, labels, strict=True)]
    return np.array([loss for loss, _ in pairs]), [gradient for _, gradient in pairs]


def random_rows(rng, shapes, num_classes, blank=0, scale=2.0):
    """(rows, labels) of shapes [(T, U), ...]."""
    classes = [v for v in range(num_classes) if v != blank]
    rows = [rng.normal(0.0, scale, (t, num_classes)) for t, _ in shapes]
    labels = [rng.choice(classes, u).tolist() if u else [] for _, u in shapes]
    return rows, labels
