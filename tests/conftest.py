"""Settings for every test: where the package is, markers, and how hypothesis draws.

Nothing here may import TensorFlow: tests/kernels runs without it.
"""

import os
import pathlib
import sys

import hypothesis

ROOT = pathlib.Path(__file__).resolve().parent.parent

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")

# The source tree imports as it is, once the libraries are built into it. A wheel is tested by
# asking for the installed package instead.
if not os.environ.get("TF_WARPCTC_TEST_INSTALLED"):
    sys.path.insert(0, str(ROOT))

# Timing differs too much between machines for a deadline; drawn cases are the same in every run,
# so a failure is never a matter of luck. TF_WARPCTC_HYPOTHESIS=search looks for new ones.
hypothesis.settings.register_profile(
    "fixed", deadline=None, max_examples=60, derandomize=True, database=None
)
hypothesis.settings.register_profile("search", deadline=None, max_examples=2000)
hypothesis.settings.load_profile(os.environ.get("TF_WARPCTC_HYPOTHESIS", "fixed"))
