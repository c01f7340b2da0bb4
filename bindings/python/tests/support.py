"""Functions and constants that several tests share."""

from __future__ import annotations

import contextlib
import os
import pathlib
import subprocess
import sys
import time

import talentdata

#: A secret that no output may contain.
CANARY = "CANARY-1234"


def until(condition) -> None:
    """Waits until the condition holds. Fails after a minute instead of hanging."""
    guard = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < guard, "it never came"
        time.sleep(0.005)


def kept(path) -> bool:
    """Returns whether an unfinished export has kept records, so that it can be resumed."""
    checkpoint = pathlib.Path(f"{path}.part", "checkpoint")
    return checkpoint.exists() and '"progress":null' not in checkpoint.read_text(encoding="utf-8")


def assert_whole(delivered: list[str], changes: list, count: int, deletes: int) -> None:
    """Asserts that a scan delivered each record exactly once, while the list changed.

    The list had `count` records at the start. More than `deletes` of them were deleted during the scan.
    """
    inserted, deleted = ({change["key"] for change in changes if change["op"] == op} for op in ("insert", "delete"))
    assert len(deleted) > deletes and len(set(delivered)) == len(delivered)
    assert len(set(delivered) - inserted - deleted) == count - len(deleted - inserted)


def variables(sandbox: talentdata.Sandbox) -> dict[str, str]:
    """Returns the environment variables for a client of this sandbox."""
    names = ("base_url", "client_id", "client_secret")
    return {f"TALENTDATA_{name.upper()}": getattr(sandbox, name) for name in names}


#: Sandbox options, by kind of list, for lists whose completeness cannot be proven.
LISTS = {
    "without order": {"order": "random"},
    "that moves": {"order": "anywhere", "drift": {"updates": 100}},
    "that repeats its first page": {"ignore_offset": True},
    "cut short": {"faults": True},
}


@contextlib.contextmanager
def unproven_sandbox(kind):
    """Starts a sandbox whose contacts are a list of this kind."""
    with talentdata.Sandbox(records={"contacts": 300}, policy="unlimited", **LISTS[kind]) as sandbox:
        if kind == "cut short":
            end = {"total": 300, "limit": 100, "hasMore": False}
            first = {"contacts": [{"id": "1"}, {"id": "2"}], "pagination": {**end, "offset": 0}}
            later = {"contacts": [{"id": "2"}], "pagination": {**end, "offset": 1}}
            match = {"path": "/v1/contacts"}
            sandbox.set_faults(
                {"match": {**match, "nth": 1}, "reply": {"body": first}}, {"match": match, "reply": {"body": later}}
            )
        yield sandbox


@contextlib.contextmanager
def served(kind):
    """Yields the list of contacts of a sandbox of this kind, from `unproven_sandbox`."""
    with unproven_sandbox(kind) as sandbox, sandbox.client(paced=False) as client:
        yield client.contacts


#: The beginning of code that runs in its own interpreter, with its own sandbox.
SERVICE = """
import asyncio, logging, os, signal, sys, threading, time, talentdata
sandbox = talentdata.Sandbox(records={"contacts": 450, "pools": 3}, policy="unlimited", faults=True)
client = sandbox.client(paced=False)
"""


def python(code: str, *arguments: str, sandbox: talentdata.Sandbox | None = None) -> str:
    """Runs code in its own interpreter and returns its output. Asserts that it succeeds, with no error output."""
    environment = {**os.environ, **(variables(sandbox) if sandbox else {})}
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
    assert (done.returncode, done.stderr) == (0, ""), f"ended with {done.returncode}: {done.stderr}"
    return done.stdout
