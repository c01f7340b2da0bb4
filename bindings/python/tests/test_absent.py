"""Absent optional packages: everything else works, and an error names the package before a request is sent."""

import json

import pytest
from support import python

SCRIPT = """
import json, sys
hidden = set(sys.argv[1].split(","))
class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in hidden:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Hide())
import talentdata
sandbox = talentdata.Sandbox(records={"contacts": 30}, policy="unlimited")
contacts = sandbox.client().contacts
def outcome(use):
    before = sandbox.stats()["requests"]
    try:
        return use()
    except ImportError as error:
        return [error.name, str(error), sandbox.stats()["requests"] - before]
said = {name: outcome(lambda: len(getattr(contacts.list(), name)())) for name in ("to_arrow", "to_polars", "to_pandas")}
said["list"] = len(list(contacts.list()))
said["stream"] = type(contacts.list().__arrow_c_stream__()).__name__
print(json.dumps(said))
"""

ALL = "pyarrow,polars,pandas,duckdb,numpy,IPython"


@pytest.mark.parametrize(
    ("hidden", "missing"),
    [
        ("pyarrow,duckdb", {"to_arrow": "pyarrow", "to_pandas": "pyarrow"}),
        ("polars,duckdb", {"to_polars": "polars"}),
        ("pandas,duckdb", {"to_pandas": "pandas"}),
        (ALL, {"to_arrow": "pyarrow", "to_polars": "polars", "to_pandas": "pandas"}),
    ],
)
def test_without_packages(hidden, missing):
    expected = {**dict.fromkeys(("to_arrow", "to_polars", "to_pandas", "list"), 30), "stream": "PyCapsule"}
    for verb, package in missing.items():
        wanted = "pandas pyarrow" if package == "pandas" else package
        expected[verb] = [package, f"{verb}() needs the package {package}; run `pip install {wanted}`", 0]
    assert json.loads(python(SCRIPT, hidden)) == expected


def test_importing_imports_little():
    names = "{'asyncio', 'pandas', 'pyarrow', 'polars', 'numpy', 'inspect', 'tqdm', 'pytest'}"
    assert python(f"import sys, talentdata; print({names} & set(sys.modules))") == "set()\n"
