"""The virtual environment and the Python packages in it.

An environment that exists (.venv, or the one VENV names) is used as it is, and what it lacks is
installed in it. Else it is made from PYTHON. If that interpreter imports a supported TensorFlow
already, the new environment sees that installation and gets no TensorFlow of its own; nothing is
ever installed outside of it.
"""

import hashlib
import json
import os
import runpy
import subprocess
from pathlib import Path

from tools.setup.report import ROOT, SetupError, install_system_package, run, say

PROBE = ROOT / "tools/probe_environment.py"
VERSIONS = ROOT / "tf_warpctc/_version.py"
REQUIREMENTS = ROOT / "tools/requirements"

# In the new environment: makes the site-packages of another virtual environment importable.
PARENT_PTH = "tf_warpctc_parent_environment.pth"

# Prints of an interpreter: its version, whether it can make environments, its own site-packages
# if it belongs to a virtual environment.
DESCRIBE = """\
import importlib.util as u, json, sys, sysconfig
venv = all(u.find_spec(name) for name in ("venv", "ensurepip"))
parent = sysconfig.get_path("purelib") if sys.prefix != sys.base_prefix else None
print(json.dumps([sys.version.split()[0], venv, parent, sysconfig.get_path("purelib")]))
"""


def describe(python):
    """(version, has venv and ensurepip, virtual environment's packages or None, packages)."""
    try:
        result = run([python, "-c", DESCRIBE], stdout=subprocess.PIPE, text=True)
    except OSError as error:
        raise SetupError(f"Python {python} does not start: {error.strerror}") from error
    return json.loads(result.stdout)


def tensorflow_of(python):
    """'tensorflow-cpu 2.21.0' if the interpreter finds a supported TensorFlow, else None."""
    command = [python, PROBE, "tensorflow-version", VERSIONS]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return result.stdout.strip() if result.returncode == 0 else None


def default_tensorflow():
    """The newest supported, in the package without CUDA."""
    return f"tensorflow-cpu~={runpy.run_path(str(VERSIONS))['SUPPORTED_TENSORFLOW'][-1]}.0"


def ensure_environment(python, venv):
    """Makes the environment where it is missing, and returns its interpreter."""
    step = "Python environment"
    inside = venv / "bin/python"
    if inside.exists():
        say(step, f"{venv} is there, with Python {describe(inside)[0]}")
        return inside
    version, can_make, parent, _ = describe(python)
    if not can_make:
        install_system_package(f"{step}: the venv module of {python}", "python3-venv")
    tensorflow = tensorflow_of(python)
    # Only the system's packages have an option; those of a virtual environment need a path file.
    seen = tensorflow is not None and parent is None
    say(step, f"making {venv} with Python {version} ({python})")
    run([python, "-m", "venv", *(["--system-site-packages"] if seen else []), venv])
    if tensorflow is not None:
        say(step, f"it uses the {tensorflow} of {python}")
    if tensorflow is not None and parent is not None:
        packages = Path(describe(inside)[3])
        (packages / PARENT_PTH).write_text(f"import site; site.addsitedir({parent!r})\n")
    return inside


def pip_install(inside, arguments):
    """pip, in the environment."""
    command = [inside, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    run([*command, *arguments])


def ensure_tensorflow(inside, asked):
    """Installs TensorFlow where there is no supported one, or where `asked` is not yet there.

    asked: a pip requirement (make's TENSORFLOW), or None to take what is there, else the default.
    """
    step = "TensorFlow"
    stamp = Path(describe(inside)[3]) / "tf_warpctc_tensorflow.stamp"
    found = tensorflow_of(inside)
    done = stamp.read_text().strip() if stamp.exists() else None
    if found is None or (asked and asked != done):
        wanted = asked or default_tensorflow()
        say(step, f"installing {wanted} (some 300 MB)")
        try:
            pip_install(inside, [wanted])
        except SetupError as error:
            version = describe(inside)[0]
            raise SetupError(
                f"{step}: pip found no {wanted} for Python {version}, or could not install it "
                "(its words are above); PYTHON=... names another interpreter"
            ) from error
        stamp.write_text(wanted + "\n")
        found = tensorflow_of(inside)
    if found is None:
        # The probe's own words say which version there is and which are supported.
        run([inside, PROBE, "tensorflow-version", VERSIONS])
    say(step, found)


def ensure_packages(inside, group):
    """Installs one of tools/requirements/, unless that very list is installed already."""
    step = f"Python packages ({group})"
    path = REQUIREMENTS / f"{group}.txt"
    names = ", ".join(path.read_text().split())
    stamp = Path(describe(inside)[3]) / f"tf_warpctc_{group}.stamp"
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text().strip() == digest:
        say(step, f"{names} are there")
        return
    say(step, f"installing {names}")
    pip_install(inside, ["--requirement", path])
    stamp.write_text(digest + "\n")


def ensure_python(python, venv, tensorflow, groups):
    """All steps of this file; returns the interpreter to build and test with."""
    inside = ensure_environment(os.fspath(python), Path(os.path.abspath(venv)))
    if groups != ["lint"]:
        ensure_tensorflow(inside, tensorflow or None)
    for group in groups:
        ensure_packages(inside, group)
    return inside
