"""How a set-up step speaks, runs commands, and installs a package of the system."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# What set-up installs for this tree alone; `make distclean` removes it.
TOOLS = ROOT / ".tools"


class SetupError(Exception):
    """A step cannot go on; the message is the one line that says what to do."""


def say(step, text):
    """One line of progress."""
    print(f"[set-up] {step}: {text}", flush=True)


def run(command, **kwargs):
    """Runs a command; where it fails, SetupError names it and carries its last words."""
    command = [str(part) for part in command]
    result = subprocess.run(command, check=False, **kwargs)
    if result.returncode:
        words = (result.stderr or result.stdout or b"") if kwargs.get("stderr") else b""
        if isinstance(words, bytes):
            words = words.decode(errors="replace")
        raise SetupError(f"`{' '.join(command)}` failed ({result.returncode}) {words.strip()}")
    return result


def install_system_package(step, package):
    """Installs a Debian or Ubuntu package where this user may; else says which command does.

    TF_WARPCTC_NO_APT=1 keeps root's hands off the system too.
    """
    allowed = os.geteuid() == 0 and not os.environ.get("TF_WARPCTC_NO_APT")
    if not (allowed and shutil.which("apt-get")):
        sudo = "" if os.geteuid() == 0 else "sudo "
        raise SetupError(f"{step} is missing: install it with `{sudo}apt-get install {package}`")
    say(step, f"installing the system's package {package}")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "env": environment}
    install = ["apt-get", "install", "--yes", "--no-install-recommends", package]
    try:
        run(install, **quiet)
    except SetupError:
        # Most often the package lists are absent or old.
        run(["apt-get", "update"], **quiet)
        run(install, **quiet)


def exit_with(error):
    """Ends the program with the one line of a SetupError."""
    sys.exit(f"[set-up] {error}")
