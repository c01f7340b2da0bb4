"""Without optional packages: everything else works, and the message says what to install."""

import pytest
from support import python

HIDDEN = """
import sys
hidden = set(sys.argv[1].split(","))
class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in hidden:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Hide())
import talentdata
sandbox = talentdata.Sandbox(records={"contacts": 30}, policy="unlimited")
client = sandbox.client()
"""


@pytest.mark.parametrize(
    ("hidden", "verb", "package"),
    [
        ("pyarrow", "to_arrow", "pyarrow"),
        ("polars", "to_polars", "polars"),
        ("pandas", "to_pandas", "pandas"),
        ("pyarrow", "to_pandas", "pyarrow"),
    ],
)
def test_a_missing_package_is_named_before_anything_is_sent(hidden, verb, package):
    code = HIDDEN + f"""
try:
    client.contacts.list().{verb}()
except ImportError as error:
    print(error.name, "|", error, "|", sandbox.stats()["requests"])
"""
    result = python(code, hidden)
    assert result.stdout == f"{package} | {verb}() needs the package {package}; run `pip install {package}` | 0\n", result.stderr


@pytest.mark.parametrize(
    ("hidden", "use", "expected"),
    [
        ("pyarrow,pandas,duckdb", "client.contacts.list().to_polars().height", "30"),
        ("polars,pandas,duckdb", "client.contacts.list().to_arrow().num_rows", "30"),
        ("polars,duckdb", "len(client.contacts.list().to_pandas())", "30"),
        ("pyarrow,polars,pandas,duckdb,tqdm,numpy,IPython", "len(list(client.contacts.list()))", "30"),
        ("pyarrow,polars,pandas,duckdb,tqdm,numpy", "type(client.contacts.list().__arrow_c_stream__()).__name__", "PyCapsule"),
    ],
)
def test_the_others_work_without_it(hidden, use, expected):
    result = python(HIDDEN + f"print({use})", hidden)
    assert result.stdout == f"{expected}\n", result.stderr


def test_progress_without_tqdm():
    code = HIDDEN + """
sys.stderr.isatty = lambda: True
assert len(list(client.contacts.list())) == 30
try:
    list(client.contacts.list(progress=True))
except ImportError as error:
    print(error)
"""
    result = python(code, "tqdm")
    assert result.stdout == "a progress bar needs the package tqdm; run `pip install tqdm`\n", result.stderr


def test_importing_imports_little():
    names = "{'asyncio', 'pandas', 'pyarrow', 'polars', 'numpy', 'inspect', 'tqdm', 'pytest'}"
    result = python(f"import sys, talentdata; print({names} & set(sys.modules))")
    assert result.stdout == "set()\n", result.stdout
