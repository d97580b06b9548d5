"""Bazelisk, and a Bazel for it to start.

Bazelisk is the `bazelisk` on PATH, else npm's package, else the release on GitHub. It downloads
the Bazel that .bazelversion names where the network lets it; elsewhere Debian's and Ubuntu's own
Bazel serves (package bazel-bootstrap, Bazel 4.2), which Bazelisk starts when USE_BAZEL_VERSION is
its absolute path. The outcome is one script, .tools/bin/bazel.
"""

import os
import platform
import shlex
import shutil
import stat
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

from tools.setup.report import ROOT, TOOLS, SetupError, install_system_package, run, say

BAZELISK_VERSION = "1.28.1"
LAUNCHER = TOOLS / "bin" / "bazel"
SYSTEM_BAZEL = Path("/usr/bin/bazel-4")

# Enough for a server that answers; a network that lets nothing through must not hold set-up up.
PROBE_SECONDS = 5


def reachable(url):
    """True if the address answers a HEAD request at once."""
    request = urllib.request.Request(url, method="HEAD")
    try:
        with urllib.request.urlopen(request, timeout=PROBE_SECONDS):
            return True
    except (urllib.error.URLError, OSError):
        return False


def architecture():
    """(Bazelisk's, Bazel's) name of this machine's processor."""
    names = {"x86_64": ("amd64", "x86_64"), "aarch64": ("arm64", "arm64")}
    machine = platform.machine()
    if machine not in names:
        raise SetupError(f"Bazel is built for x86_64 and aarch64, and this machine is {machine}")
    return names[machine]


def bazelisk_from_npm():
    """Installs Bazelisk's npm package under .tools, and returns its program, or None."""
    program = TOOLS / f"node_modules/@bazel/bazelisk/bazelisk-linux_{architecture()[0]}"
    if not program.exists() and shutil.which("npm"):
        say("Bazelisk", f"installing npm's @bazel/bazelisk {BAZELISK_VERSION} in {TOOLS}")
        TOOLS.mkdir(exist_ok=True)
        quiet = ["--silent", "--no-audit", "--no-fund", "--no-save"]
        package = f"@bazel/bazelisk@{BAZELISK_VERSION}"
        try:
            run(["npm", "install", *quiet, "--prefix", TOOLS, package], stderr=subprocess.PIPE)
        except SetupError as error:
            say("Bazelisk", str(error))
    return program if program.exists() else None


def bazelisk_from_github():
    """Downloads Bazelisk's released program into .tools, and returns it, or None."""
    program = TOOLS / "bin" / f"bazelisk-{BAZELISK_VERSION}"
    url = (
        f"https://github.com/bazelbuild/bazelisk/releases/download/v{BAZELISK_VERSION}/"
        f"bazelisk-linux-{architecture()[0]}"
    )
    if not program.exists() and reachable(url):
        say("Bazelisk", f"downloading {url}")
        program.parent.mkdir(parents=True, exist_ok=True)
        partial = program.with_suffix(".partial")
        urllib.request.urlretrieve(url, partial)
        partial.chmod(partial.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
        partial.replace(program)
    return program if program.exists() else None


def find_bazelisk():
    """Path of Bazelisk, installed where it has to be."""
    on_path = shutil.which("bazelisk")
    found = Path(on_path) if on_path else bazelisk_from_npm() or bazelisk_from_github()
    if found is None and not shutil.which("npm"):
        say("Bazelisk", "there is no npm, and GitHub cannot be reached")
        install_system_package("npm (for Bazelisk)", "npm")
        found = bazelisk_from_npm()
    if found is None:
        raise SetupError("Bazelisk is missing, and npm cannot install it: put a bazelisk on PATH")
    return found


def choose_bazel():
    """What USE_BAZEL_VERSION has to be: '' leaves the choice to Bazelisk."""
    step = "Bazel"
    if os.environ.get("USE_BAZEL_VERSION"):
        say(step, "USE_BAZEL_VERSION of the environment chooses")
        return ""
    version = (ROOT / ".bazelversion").read_text().strip()
    mirror = os.environ.get("BAZELISK_BASE_URL")
    release = f"https://releases.bazel.build/{version}/release/bazel-{version}-linux-"
    if mirror or reachable(release + architecture()[1]):
        say(step, f"{version}, which Bazelisk downloads from {mirror or 'releases.bazel.build'}")
        return ""
    if not SYSTEM_BAZEL.exists():
        say(step, "Bazel's releases cannot be reached")
        install_system_package(step, "bazel-bootstrap")
    say(step, f"{SYSTEM_BAZEL}, the system's own, as Bazel's releases cannot be reached")
    return str(SYSTEM_BAZEL)


def startup_options():
    """Bazel keeps its outputs below the home folder; where there is none, in this tree."""
    home_is_there = os.access(Path.home(), os.W_OK)
    return [] if home_is_there else [f"--output_user_root={TOOLS / 'bazel-output'}"]


def launched_version():
    """What .tools/bin/bazel says to --version, or None where it does not start."""
    if not LAUNCHER.exists():
        return None
    result = subprocess.run([LAUNCHER, "--version"], capture_output=True, text=True, check=False)
    return result.stdout.strip() if result.returncode == 0 else None


def ensure_bazel():
    """Writes .tools/bin/bazel where it is missing or does not start, and returns its path."""
    step = "Bazel"
    shown = LAUNCHER.relative_to(ROOT)
    version = launched_version()
    if version is None:
        bazelisk = find_bazelisk()
        say("Bazelisk", str(bazelisk))
        chosen = choose_bazel()
        lines = ["#!/bin/sh", "# Written by tools/setup/bazel.py; a USE_BAZEL_VERSION that is set"]
        lines.append("# goes before the one chosen here.")
        if chosen:
            lines.append(f'USE_BAZEL_VERSION="${{USE_BAZEL_VERSION:-{chosen}}}"')
            lines.append("export USE_BAZEL_VERSION")
        lines.append(f'exec {shlex.join([str(bazelisk), *startup_options()])} "$@"')
        LAUNCHER.parent.mkdir(parents=True, exist_ok=True)
        LAUNCHER.write_text("\n".join(lines) + "\n")
        LAUNCHER.chmod(0o755)
        version = launched_version()
    if version is None:
        run([LAUNCHER, "--version"])
    say(step, f"{shown} starts {version}")
    return LAUNCHER
