"""pip's way into the build: setuptools, with the TensorFlow to build against added.

pyproject.toml can name neither the user's TensorFlow nor, a second time, the supported ones. pip
builds in an environment of its own, into which it puts what get_requires_for_build_wheel asks
for. That is

1. what the variable TENSORFLOW says (the same as make's), e.g. "tensorflow-cpu==2.20.0"; else
2. the release that is installed where pip runs, if it is supported; else
3. the newest supported tensorflow-cpu.

With `pip install --no-build-isolation .` nothing is asked for, and the build takes what it finds.
"""

import os
import runpy
import site
import sys
from importlib import metadata
from pathlib import Path

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403 - the hooks that stay as they are

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tools.probe_environment import TENSORFLOW_DISTRIBUTIONS, minor  # noqa: E402


def tensorflow_requirement():
    """The pip requirement of the TensorFlow to build against."""
    asked = os.environ.get("TENSORFLOW")
    if asked:
        return asked
    supported = runpy.run_path(str(ROOT / "tf_warpctc/_version.py"))["SUPPORTED_TENSORFLOW"]
    # In pip's own environment these are still the folders of the interpreter that runs pip.
    folders = site.getsitepackages()
    for found in metadata.distributions(path=folders):
        name = found.metadata["Name"].lower().replace("_", "-")
        if name in TENSORFLOW_DISTRIBUTIONS and minor(found.version) in supported:
            return f"{name}=={found.version}"
    return f"tensorflow-cpu~={supported[-1]}.0"


def get_requires_for_build_wheel(config_settings=None):
    """setuptools' own, and TensorFlow."""
    own = build_meta.get_requires_for_build_wheel(config_settings)
    return [*own, tensorflow_requirement()]


def get_requires_for_build_editable(config_settings=None):
    """setuptools' own, and TensorFlow."""
    own = build_meta.get_requires_for_build_editable(config_settings)
    return [*own, tensorflow_requirement()]
