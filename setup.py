"""The wheel: Python sources, and the libraries which Bazel builds for the TensorFlow at hand.

What is static is in pyproject.toml. Here is what depends on the environment that builds: the
libraries themselves, and the TensorFlow they need. tools/wheel_backend.py says which TensorFlow
that is when pip builds in an environment of its own.
"""

import runpy
import shutil
import sys
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))

from tools.build import build  # noqa: E402
from tools.probe_environment import installed_tensorflow, minor  # noqa: E402
from tools.setup.report import SetupError, exit_with  # noqa: E402

SUPPORTED = runpy.run_path(str(ROOT / "tf_warpctc/_version.py"))["SUPPORTED_TENSORFLOW"]


def tensorflow_requirement():
    """The minor version built for, under the name that it is installed as.

    `tensorflow` and `tensorflow-cpu` install the same files, and pip lets one overwrite the other.
    So a wheel asks for the one it was built with: whoever builds against `tensorflow` gets a wheel
    that stays with it.
    """
    found = installed_tensorflow()
    # setuptools also runs this to ask what to install before it builds: no TensorFlow yet.
    name, version = found[:2] if found else ("tensorflow-cpu", SUPPORTED[-1])
    return f"{name}~={minor(version)}.0"


class BuildWithLibraries(build_py):
    """Adds the libraries: to the wheel's folder, or for `pip install -e` to the source tree."""

    def run(self):
        if self.editable_mode:
            package = ROOT / "tf_warpctc"
        else:
            # Else modules that were since removed from the sources would stay in the wheel.
            shutil.rmtree(self.build_lib, ignore_errors=True)
            package = Path(self.build_lib) / "tf_warpctc"
        super().run()
        try:
            build(sys.executable, package=package)
        except SetupError as error:
            exit_with(error)


class PlatformDistribution(Distribution):
    """Tagged for one Python and one platform, as _kernels.so is."""

    def has_ext_modules(self):
        return True


setup(
    cmdclass={"build_py": BuildWithLibraries},
    distclass=PlatformDistribution,
    install_requires=[tensorflow_requirement()],
)
