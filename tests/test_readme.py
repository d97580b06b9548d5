"""The README's programs run as they are printed, one after the other, as a reader has them."""

import re
from pathlib import Path

import numpy as np

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


def test_files_it_names_exist():
    text = README.read_text()
    links = re.findall(r"\]\((?!https?:)([^)#]+)", text)
    layout = re.findall(r"^    ([a-z_]+/\S*)  ", text, re.MULTILINE)
    assert links and layout
    for path in links + layout:
        assert (README.parent / path).exists(), path
