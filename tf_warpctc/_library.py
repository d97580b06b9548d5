"""Loads the op library, after checking that it was built for the TensorFlow that is running.

`ops` holds the generated Python functions of the ops. Importing this module registers the ops with
TensorFlow, so that a SavedModel which uses them loads. The libraries and the note of their build,
_build_config.json, lie beside this file: `make build` places them there, and a wheel brings them.
"""

import json
import types
from pathlib import Path
from typing import Any

import tensorflow as tf

from tf_warpctc._version import SUPPORTED_TENSORFLOW

_FOLDER = Path(__file__).resolve().parent


def _minor(version: str) -> str:
    """'2.21.0' → '2.21': the part within which TensorFlow's C++ interface stays the same."""
    return ".".join(version.split(".")[:2])


def _remedy() -> str:
    """What the user has to run for libraries that fit."""
    if (_FOLDER.parent / "WORKSPACE").exists():
        return f"run `make build` in {_FOLDER.parent}, with the Python environment in use now"
    return "reinstall tf_warpctc with pip, in the Python environment in use now"


def _read_build_config(folder: Path) -> dict[str, Any]:
    """The build's own note; ImportError where there is none."""
    path = folder / "_build_config.json"
    if not path.exists():
        raise ImportError(f"tf_warpctc's libraries are not built ({path} is missing): {_remedy()}.")
    return json.loads(path.read_text())


def _check_tensorflow(built_for: str, running: str) -> None:
    """ImportError unless the running TensorFlow is supported and of the minor built for."""
    if _minor(running) not in SUPPORTED_TENSORFLOW:
        raise ImportError(
            f"tf_warpctc works with TensorFlow {' or '.join(SUPPORTED_TENSORFLOW)}, "
            f"but TensorFlow {running} is running: install one of those, then {_remedy()}."
        )
    if _minor(built_for) != _minor(running):
        raise ImportError(
            f"tf_warpctc was built for TensorFlow {_minor(built_for)}, "
            f"but TensorFlow {running} is running: {_remedy()}."
        )


def _load(folder: Path) -> tuple[types.ModuleType, dict[str, Any]]:
    """The ops' module and the build's note, both from one folder."""
    config = _read_build_config(folder)
    _check_tensorflow(config["tensorflow_version"], tf.__version__)
    path = folder / "_warpctc_ops.so"
    if not path.exists():
        raise ImportError(f"tf_warpctc's op library {path} is missing: {_remedy()}.")
    try:
        return tf.load_op_library(str(path)), config
    except tf.errors.OpError as error:
        # NotFoundError for a library that does not load, others for ops that do not register.
        raise ImportError(f"{path} does not load ({error.message}): {_remedy()}.") from error


ops, _config = _load(_FOLDER)


def build_info() -> dict[str, Any]:
    """Tells how the libraries were built, and what they run with.

    Returns:
      A new dict with the entries

      - `version`: of tf_warpctc;
      - `tensorflow_version`: the TensorFlow built for, and `tensorflow_distribution`, the name of
        the package it came in;
      - `running_tensorflow_version`: the TensorFlow in this process;
      - `python_version`, `machine` and `compiler` of the build;
      - `cuda`: whether there are kernels for NVIDIA GPUs.

    Example:

    >>> import tf_warpctc
    >>> tf_warpctc.build_info()["cuda"]
    False
    """
    return {**_config, "running_tensorflow_version": tf.__version__}
