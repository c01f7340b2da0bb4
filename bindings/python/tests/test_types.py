"""Stubs and examples: stubtest, mypy and pyright accept them, and the examples run."""

import doctest
import pydoc
import subprocess
import sys
from pathlib import Path

import pytest

import talentdata
from talentdata._record import Field

PROJECT = Path(__file__).parent.parent
EXAMPLES = sorted((PROJECT / "examples").glob("*.py"))


def run(*command):
    """Runs a command in a directory where the sources do not hide the installed package."""
    result = subprocess.run(command, cwd=PROJECT / "tests", capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


CHECKERS = {
    "mypy.stubtest": ["talentdata", "--allowlist", PROJECT / "tests" / "stubtest_allowlist.txt"],
    "mypy": ["--strict", *EXAMPLES],
    "basedpyright": ["--pythonpath", sys.executable, "--level", "error", "--project", PROJECT / "pyproject.toml"],
}


@pytest.mark.parametrize("checker", CHECKERS)
def test_stubs_and_examples(checker):
    pytest.importorskip(checker.split(".")[0])
    run(sys.executable, "-m", checker, *map(str, CHECKERS[checker]))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run(example):
    run(sys.executable, "-W", "error", str(example))


def test_examples_in_docstrings():
    failed, attempted = doctest.testmod(talentdata)
    assert attempted > 3 and failed == 0


def test_every_public_name_is_documented():
    for name in talentdata.__all__:
        thing = getattr(talentdata, name)
        if name == "__version__":
            continue
        assert thing.__doc__, name
        for member, value in vars(thing).items():
            is_public = isinstance(value, (property, Field)) or callable(value)
            if not member.startswith("_") and is_public:
                assert value.__doc__, f"{name}.{member}"


def test_help_shows_the_meaning_of_the_fields_of_a_receipt():
    shown = pydoc.render_doc(talentdata.Receipt, renderer=pydoc.plaintext)
    assert "The number of page requests, including retries." in shown and "The name of the list." in shown
    for cls in (talentdata.List.list, talentdata.Client.version):
        assert "section" not in pydoc.render_doc(cls, renderer=pydoc.plaintext)
