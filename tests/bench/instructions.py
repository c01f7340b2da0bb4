"""The processor's instructions for each record, counted by callgrind: they are the same on a busy machine.

A section of the bench, and `cargo xtask test instructions`, which compares the command line with the committed counts in
instructions.json. `instructions.py --write` writes them.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

from tools import BENCH, Failure, Sandbox, build

#: The number of contacts that each way reads, from a service that has no rate limit.
RECORDS = 20_000
KEPT = BENCH / "instructions.json"
#: The allowed difference from the committed count, as a share of it.
BOUND = 0.1
FORMATS = {"JSON Lines": "jsonl", "CSV": "csv", "Arrow IPC": "arrow", "Parquet": "parquet"}


def count(command, variables):
    """Runs a command under callgrind, and returns its instructions per record, in thousands."""
    callgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    command = [*callgrind, *(str(part) for part in command)]
    env = {**variables, "TALENTDATA_PACED": "false", "TALENTDATA_BUDGET": "process"}
    done = subprocess.run(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode or not found:
        raise Failure(f"{shlex.join(command)} ended with {done.returncode}: {done.stderr[-2000:]}")
    return int(found[1]) / RECORDS / 1000


def of_command_line(talentdata, scratch, variables):
    """Returns the counts of the command line, for each format and for a sync without changes."""
    counts = {}
    for name, form in FORMATS.items():
        export = [talentdata, "export", "contacts", "--format", form, "--out", Path(scratch, f"contacts.{form}")]
        counts[f"command line, {name}"] = count(export, variables)
    sync = [talentdata, "sync", "contacts", "--to", Path(scratch, "mirror.db")]
    subprocess.run(sync, env={**variables, "TALENTDATA_PACED": "false"}, check=True, capture_output=True)
    counts["command line, sync without changes"] = count(sync, variables)
    return counts


def section(tools, _):
    """Returns the section of the bench: our ways, the floor and the peers."""
    ways = {
        "floor: read and discard the same bytes": [tools.floor, RECORDS],
        "scan from C, raw records": [tools.c_scan],
        "Python, two fields of each record": tools.python("read.py"),
        "httpx and json, JSON Lines": tools.peer("serial"),
        "httpx and pydantic, JSON Lines": tools.peer("serial", "typed"),
    }
    options = {"policy": "unlimited", "records": f"contacts={RECORDS}"}
    with Sandbox(tools, **options) as sandbox, tempfile.TemporaryDirectory(dir=tools.scratch) as scratch:
        counts = of_command_line(tools.talentdata, scratch, sandbox.variables)
        counts |= {name: count(command, sandbox.variables) for name, command in ways.items()}
    lines = ["| Way | Thousands of instructions per record |", "| --- | ---: |"]
    lines += [f"| {name} | {thousands:.1f} |" for name, thousands in sorted(counts.items(), key=lambda one: one[1])]
    return (
        f"{RECORDS:,} contacts from a service that counts nothing, the start of each program included, counted by callgrind, "
        "which sees the client alone.\n\n" + "\n".join(lines) + "\n"
    )


def compare(write=False):
    """Compares the counts of the release build of the command line with the committed counts."""
    if not shutil.which("valgrind"):
        print("NOT RUN: valgrind is not installed")
        return
    talentdata = build("--release", "--package=talentdata-cli", "--bins")["talentdata"]
    with tempfile.TemporaryDirectory() as scratch:
        built = SimpleNamespace(
            talentdata=talentdata, variables={"PATH": os.environ["PATH"], "XDG_RUNTIME_DIR": scratch}
        )
        with Sandbox(built, policy="unlimited", records=f"contacts={RECORDS}") as sandbox:
            counts = of_command_line(talentdata, scratch, sandbox.variables)
    if write:
        KEPT.write_text(json.dumps({name: round(one, 1) for name, one in counts.items()}, indent=2) + "\n")
        return
    kept = json.loads(KEPT.read_text())
    for name, thousands in counts.items():
        print(f"{name}: {thousands:.1f} thousand instructions per record, {kept[name]} are committed", flush=True)
        if abs(thousands - kept[name]) > BOUND * kept[name]:
            raise Failure(
                f"{name} differs by more than a tenth; `python3 tests/bench/instructions.py --write` commits to it"
            )


if __name__ == "__main__":
    compare("--write" in sys.argv[1:])
