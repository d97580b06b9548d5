"""The libraries that the benchmarks compare with, in an environment of their own.

That environment sees the project's and adds to it, so that no peer's requirements change what the
project is built and tested with. A peer that cannot be installed is no failure: the benchmarks say
that it is missing. tools/requirements/peers.txt has them, a line each.

PyTorch is asked for by the version of its build for CPUs (+cpu), which the ordinary index does not
have: that one's build brings several gigabytes of CUDA. Where pip finds none as it is set up, it
looks in PyTorch's own index too.
"""

from pathlib import Path

from tools.setup.packages import REQUIREMENTS, describe, pip_install
from tools.setup.report import SetupError, say

PYTORCH_INDEX = ("--extra-index-url", "https://download.pytorch.org/whl/cpu")


def attempts(requirement):
    """pip's arguments, to be tried in turn."""
    yield [requirement]
    if requirement.endswith("+cpu"):
        yield [*PYTORCH_INDEX, requirement]


def install(inside, requirement):
    """Installs one peer, and returns None or why it is not there."""
    reason = None
    for arguments in attempts(requirement):
        try:
            pip_install(inside, arguments)
            return None
        except SetupError as error:
            reason = str(error)
    return reason


def ensure_peers(inside):
    """Installs what is missing; what cannot be installed is said, and tried again next time."""
    packages = Path(describe(inside)[3])
    for requirement in (REQUIREMENTS / "peers.txt").read_text().split():
        step = f"Peer {requirement}"
        name = requirement.split("==")[0]
        stamp = packages / f"tf_warpctc_peer_{name}.stamp"
        if stamp.exists() and stamp.read_text().strip() == requirement:
            say(step, "is there")
            continue
        say(step, "installing")
        reason = install(inside, requirement)
        if reason is None:
            stamp.write_text(requirement + "\n")
        else:
            say(step, f"cannot be installed, and is left out: {reason}")
