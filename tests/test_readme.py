"""The README's programs run as they are printed, one after the other, as a reader has them, and
what it and the other pages refer to exists.
"""

import re
from pathlib import Path

import numpy as np
import pytest

README = Path(__file__).resolve().parents[1] / "README.md"


def test_snippets_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    snippets = re.findall(r"^```python\n(.*?)^```$", README.read_text(), re.DOTALL | re.MULTILINE)
    assert len(snippets) >= 5
    names = {}
    for number, snippet in enumerate(snippets, 1):
        exec(compile(snippet, f"README.md, snippet {number}", "exec"), names)

    assert names["gradient"].shape == (2, 50, 11)
    np.testing.assert_array_equal(names["gradient"][1, 42:], 0)  # past the row's length
    np.testing.assert_array_equal(names["tokens"], names["decoded"].tokens)


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "CONTRIBUTING.md",
        "docs/performance.md",
        "docs/performance_pipelines.md",
        "examples/read_digits/README.md",
    ],
)
def test_links_lead_somewhere(page):
    path = README.parent / page
    links = re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text())
    for link in links:
        assert (path.parent / link).exists(), link


def test_folders_it_names_exist():
    layout = re.findall(r"^    ([a-z_]+/\S*)  ", README.read_text(), re.MULTILINE)
    assert layout
    for path in layout:
        assert (README.parent / path).exists(), path
