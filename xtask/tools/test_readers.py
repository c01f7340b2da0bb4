"""The part `readers` of the tests: packages of the last three years read files that the command line wrote."""

import json
import subprocess

from commands import ROOT, build, environment, output, succeed, target, within
from test_services import Sandbox

READERS = ROOT / "tests/readers"
#: The sizes of lists: one that fills two row groups, and an empty one.
RECORDS = "contacts=9000,vacancies=0"
#: The values of the fields of unusual records, in turn. There is a field of each type.
UNUSUAL = {
    "score": [1.5, -0.0, 0.0, 1.7976931348623157e308, 5e-324, 0.1, None, -1e300],
    "big": [2**63 - 1, -(2**63), 0, 2**53 + 1, None],
    "unsigned": [2**64 - 1, 0, 2**63, None],
    "huge": [2**64, 1, None],
    "flag": [True, None, False],
    "instant": [
        "2026-11-22T08:00:00.250000Z",
        "1969-12-31T23:59:59.999999Z",
        "0001-01-01T00:00:00.000000Z",
        "9999-12-31T23:59:59.999999Z",
        None,
    ],
    "nanoseconds": ["2026-11-22T08:00:00.123456789Z", "1969-12-31T23:59:59.999999999Z", None],
    "day": ["1969-07-20", "0001-01-01", "9999-12-31", None],
    "tags": [["a", None, ""], [], None, ["é"]],
    "matrix": [[[1, 2], [], None], [], None],
    "path": [
        {"a": {"b": [{"c": 1.5, "d": "x"}, {"c": -0.0, "d": None}]}},
        {"a": None},
        {"a": {"b": []}},
        None,
        {"a": {"b": [None]}},
    ],
    "mixed": [1, "a", True, None, {"a": 1}],
    "nothing": [None],
    "noItems": [[]],
    "noMembers": [{}],
    "text": ["Zoë 😀", 'say "hi",\nbye\r\n', "  ", "'", ",", "\u2028\t", "", "#", "NULL", "nan"],
    "long": ["x" * 100, "x" * 99 + "y", "é" * 60, "a"],
    "a.b c": ["dot", None],
    "naïve": [1, 2],
}


def run():
    program = build("-p", "talentdata-cli", "--bin", "talentdata")["talentdata"]
    files = target() / "readers/files"
    write(program, files)
    # All environments are installed before the first one is used, so that a missing package is noticed early.
    years = [(list_, environment(target() / "readers" / list_.stem, list_)) for list_ in sorted(READERS.glob("*.txt"))]
    for list_, programs in years:
        print(f"== readers of {list_.stem}", flush=True)
        succeed(programs / "python", READERS / "read.py", files, env=within(programs))


def write(program, files):
    """Exports every list of a sandbox, and the unusual records, in every format, and also without nested columns."""
    with Sandbox(program, "--policy", "unlimited", "--faults", "--records", RECORDS) as sandbox:

        def export(resource, name):
            for extension in ("jsonl", "parquet", "arrow", "csv"):
                save(resource, files / f"{name}.{extension}")
            for extension in ("jsonl", "parquet"):
                save(resource, files / f"flat/{name}.{extension}", "--columns", "json")

        def save(resource, path, *options):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
            command = [program, "export", resource, "--out", path, *options]
            succeed(*command, env=sandbox.variables, stderr=subprocess.DEVNULL)

        for line in output(program, "resources").splitlines()[1:]:
            resource = line.split()[0]
            export(resource, resource)
        rows = [
            {"id": str(row), **{name: values[row % len(values)] for name, values in UNUSUAL.items()}}
            for row in range(60)
        ]
        pagination = {"total": len(rows), "limit": len(rows), "offset": 0, "hasMore": False}
        body = json.dumps({"pools": rows, "pagination": pagination}, separators=(",", ":"))
        sandbox.ask("/__faults", {"rules": [{"match": {"path": "/v1/pools"}, "reply": {"body": body}}]})
        export("pools", "unusual")
