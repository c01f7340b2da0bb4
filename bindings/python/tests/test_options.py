"""Options: each method takes the options of the table by their names, and documents them."""

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import talentdata

PAGE = Path(__file__).parents[3] / "docs/options.md"
#: The methods that take options, by their name on the page.
VERBS = {
    "scans": [talentdata.List.list, talentdata.AsyncList.list],
    "exports": [talentdata.List.export, talentdata.AsyncList.export],
    "syncs": [talentdata.Client.sync, talentdata.AsyncClient.sync],
    "schemas": [talentdata.List.schema, talentdata.AsyncList.schema],
    "mirrors": [talentdata.Mirror.current, talentdata.Mirror.as_of],
    "changes": [talentdata.Mirror.changes],
}
#: Arguments that are not options: the display of progress, the file format, and the choice about missing records.
OTHERS = {"format", "missing", "progress"}


def keywords(function):
    parameters = inspect.signature(function).parameters.values()
    return {one.name for one in parameters if one.kind is one.KEYWORD_ONLY} - OTHERS


@pytest.mark.parametrize("takers", VERBS)
def test_a_verb_takes_the_options_of_the_table(takers):
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    names = {name for name, of in rows if takers in of.split(", ")}
    assert names
    for verb in VERBS[takers]:
        assert keywords(verb) == names


def test_a_sandbox_takes_the_options_of_the_command():
    shown = subprocess.run(
        [sys.executable, "-m", "talentdata", "sandbox", "--help"], capture_output=True, text=True
    ).stdout
    own, _, _ = shown.partition("All commands:")
    flags = re.findall(r"^ +--([\w-]+)", own, re.MULTILINE)
    names = {flag.removesuffix("-ms").replace("-", "_") for flag in flags} - {"until_stdin_closes"}
    assert keywords(talentdata.Sandbox.__new__) == names
    for name in names:
        assert f"{name}: " in talentdata.Sandbox.__doc__
