"""Reads data/ctc_loss_cases.json: one row a case, with its loss and gradient or the error due.

Two cases describe their logits in words to keep the file small; `_WRITTEN_OUT` spells those out.
"""

import json
import pathlib
from dataclasses import dataclass

import numpy as np

_PATH = pathlib.Path(__file__).parent / "data" / "ctc_loss_cases.json"


def _blank_heavy():
    logits = np.zeros((2000, 5))
    logits[:, 0] = 40.0
    return logits


_WRITTEN_OUT = {
    "zeros(5,3002)": lambda: np.zeros((5, 3002)),
    "zeros(2000,5) with [:,0]=40": _blank_heavy,
    "[1,2]*900": lambda: [1, 2] * 900,
}


@dataclass
class Case:
    name: str
    logits: np.ndarray  # [T, V] float64, frames past logit_length included
    labels: list  # entries past label_length included
    blank_index: int
    label_length: int
    logit_length: int
    loss: float | None
    gradient: np.ndarray | None
    expect: str | None  # class of the error due, or None
    dtype: str | None  # the only dtype the case is about, or None

    @property
    def live_frames(self):
        return self.logit_length

    @property
    def live_labels(self):
        return self.labels[: self.label_length]


def _written_out(value):
    return _WRITTEN_OUT[value]() if isinstance(value, str) else value


def _parse(record):
    logits = np.array(_written_out(record["logits"]), np.float64)
    labels = list(_written_out(record["labels"]))
    if "minus_inf_class" in record:
        logits[:, record["minus_inf_class"]] = -np.inf
    gradient = record.get("gradient")
    return Case(
        name=record["name"],
        logits=logits,
        labels=labels,
        blank_index=record["blank_index"],
        label_length=record.get("label_length", len(labels)),
        logit_length=record.get("logit_length", len(logits)),
        loss=float(record["loss"]) if "loss" in record else None,
        gradient=None if gradient is None else np.array(gradient, np.float64),
        expect=record.get("expect"),
        dtype=record.get("dtype"),
    )


def load_cases():
    """All cases of the file, in its order."""
    return [_parse(record) for record in json.loads(_PATH.read_text())["cases"]]
