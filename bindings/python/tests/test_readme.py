"""The examples of the README run as they stand."""

import re
from pathlib import Path

import pytest

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")

pytest.importorskip("adbc_driver_manager")
pytest.importorskip("pandas")
pytest.importorskip("duckdb")
pytest.importorskip("polars")


def recipes():
    """The Python examples below the heading of recipes, by the library that each is for."""
    chapter = README.split("## Recipes\n", 1)[1].split("\n## ", 1)[0]
    return dict(re.findall(r"### (.+?)\n.*?```python\n(.*?)```", chapter, flags=re.DOTALL))


@pytest.mark.parametrize("library", recipes())
def test_a_recipe(library, client, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(recipes()[library], library, "exec"), {"client": client})


def test_each_library_has_its_recipe():
    assert list(recipes()) == ["pandas", "Polars", "DuckDB", "Arrow", "ADBC"]
