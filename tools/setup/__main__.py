"""Sets a bare machine up:  python3 -m tools.setup [--python P] [--venv V] [--tensorflow T] GROUP…

GROUP names lists of Python packages in tools/requirements/; `peers` is the one of which some may be
missing (tools/setup/peers.py). The build adds its own steps (tools/build.py): compiler, Python
headers, Bazel.
"""

import argparse

from tools.setup.packages import ensure_python
from tools.setup.peers import ensure_peers
from tools.setup.report import SetupError, exit_with


def main():
    """The command line, as the Makefile calls it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", default="python3", help="interpreter to make the venv from")
    parser.add_argument("--venv", default=".venv", help="virtual environment to use or to make")
    parser.add_argument("--tensorflow", default="", help="pip requirement, e.g. tensorflow==2.20.0")
    parser.add_argument("groups", nargs="+", help="build, test, demo, bench, lint, peers")
    arguments = parser.parse_args()
    groups = [group for group in arguments.groups if group != "peers"]
    try:
        inside = ensure_python(arguments.python, arguments.venv, arguments.tensorflow, groups)
        if "peers" in arguments.groups:
            ensure_peers(inside)
    except SetupError as error:
        exit_with(error)


if __name__ == "__main__":
    main()
