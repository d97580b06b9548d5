"""Public names: they exist, say what they are for, and their examples give what they show."""

import doctest
import importlib
import inspect
import pkgutil
import types

import pytest

import tf_warpctc
import tf_warpctc.keras

PACKAGES = {
    "tf_warpctc": tf_warpctc,
    "tf_warpctc.keras": tf_warpctc.keras,
    "tf_warpctc.sequence": tf_warpctc.sequence,
}


def modules():
    """Every importable Python module of the package, private ones included."""
    names = [tf_warpctc.__name__]
    for info in pkgutil.walk_packages(tf_warpctc.__path__, "tf_warpctc."):
        if not info.name.endswith(("._warpctc_ops", "._kernels")):  # libraries, not Python
            names.append(info.name)
    return names


def public_objects():
    return [
        (f"{package}.{name}", getattr(module, name, None))
        for package, module in PACKAGES.items()
        for name in module.__all__
    ]


def public_callables():
    return [pytest.param(value, id=name) for name, value in public_objects() if callable(value)]


@pytest.mark.parametrize("module", modules())
def test_examples(module):
    result = doctest.testmod(
        importlib.import_module(module),
        optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE,
    )
    assert result.failed == 0


def test_expected_names_are_public():
    expected = {
        "tf_warpctc": {
            "ctc_loss",
            "ctc_greedy_decoder",
            "ctc_greedy_decode",
            "GreedyDecoding",
            "ctc_align",
            "build_info",
            "__version__",
        },
        "tf_warpctc.keras": {
            "CTCLoss",
            "CTCGreedyDecoder",
            "LabelErrorRate",
            "CTCEndpoint",
            "PerFrame",
            "Padded",
        },
        "tf_warpctc.sequence": {"from_lod", "to_lod", "slice_levels", "slice_in_level"},
    }
    for package, names in expected.items():
        assert names <= set(PACKAGES[package].__all__)


@pytest.mark.parametrize("package", list(PACKAGES))
def test_all_names_exist(package):
    module = PACKAGES[package]
    assert len(set(module.__all__)) == len(module.__all__)
    assert module.__doc__
    for name in module.__all__:
        assert hasattr(module, name), f"{package}.__all__ has {name}, which does not exist"
    # A package shows what it imports, a module what it defines.
    shown = {
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and not isinstance(value, types.ModuleType)
        and (hasattr(module, "__path__") or getattr(value, "__module__", package) == package)
    }
    assert shown <= set(module.__all__), "public by name but not in __all__"


@pytest.mark.parametrize("value", public_callables())
def test_docstrings_are_complete(value):
    """Summary, every parameter, and a runnable example."""
    text = inspect.getdoc(value)
    assert text and ">>> " in text
    summary = text.split("\n\n")[0]
    assert summary.endswith((".", ":")), summary
    if inspect.isfunction(value):
        for name in inspect.signature(value).parameters:
            assert f"{name}:" in text or f"{name} (" in text, f"{name} is not described"
        assert "Returns:" in text


def test_version_and_build_info():
    info = tf_warpctc.build_info()
    assert isinstance(info, dict) and info["version"] == tf_warpctc.__version__
    import tensorflow as tf

    minor = ".".join(tf.__version__.split(".")[:2])
    assert info["tensorflow_version"].startswith(minor + ".")
    assert isinstance(info["compiler"], str) and info["compiler"]
    assert isinstance(info["cuda"], bool)
