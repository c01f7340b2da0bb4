"""What the tests need beside fixtures."""

from __future__ import annotations

import contextlib
import os
import pathlib
import subprocess
import sys
import time

import talentdata

#: Never to be shown.
CANARY = "CANARY-1234"


def until(condition) -> None:
    """Waits until the condition holds; the minute is only a guard against hanging."""
    guard = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < guard, "it never came"
        time.sleep(0.005)


def kept(path) -> bool:
    """Whether an unfinished export has records that it can continue from."""
    checkpoint = pathlib.Path(f"{path}.part", "checkpoint")
    return checkpoint.exists() and '"progress":null' not in checkpoint.read_text(encoding="utf-8")


def assert_whole(delivered: list[str], changes: list, count: int, deletes: int) -> None:
    """Every record of a list that had so many, and had more deletes than this meanwhile, was delivered exactly once."""
    inserted, deleted = ({change["key"] for change in changes if change["op"] == op} for op in ("insert", "delete"))
    assert len(deleted) > deletes and len(set(delivered)) == len(delivered)
    assert len(set(delivered) - inserted - deleted) == count - len(deleted - inserted)


def variables(sandbox: talentdata.Sandbox) -> dict[str, str]:
    """The environment of a client of this sandbox."""
    names = ("base_url", "client_id", "client_secret")
    return {f"TALENTDATA_{name.upper()}": getattr(sandbox, name) for name in names}


#: Lists that cannot be proven: options of a sandbox.
LISTS = {
    "without order": {"order": "random"},
    "that moves": {"order": "anywhere", "drift": {"updates": 100}},
    "that repeats its first page": {"ignore_offset": True},
    "cut short": {"faults": True},
}


@contextlib.contextmanager
def unproven_sandbox(kind):
    """A sandbox with contacts of this kind."""
    with talentdata.Sandbox(records={"contacts": 300}, policy="unlimited", **LISTS[kind]) as sandbox:
        if kind == "cut short":
            end = {"total": 300, "limit": 100, "hasMore": False}
            first = {"contacts": [{"id": "1"}, {"id": "2"}], "pagination": {**end, "offset": 0}}
            later = {"contacts": [{"id": "2"}], "pagination": {**end, "offset": 1}}
            match = {"path": "/v1/contacts"}
            sandbox.set_faults({"match": {**match, "nth": 1}, "reply": {"body": first}}, {"match": match, "reply": {"body": later}})
        yield sandbox


@contextlib.contextmanager
def served(kind):
    """The contacts of a client of such a sandbox."""
    with unproven_sandbox(kind) as sandbox, sandbox.client(paced=False) as client:
        yield client.contacts


#: What begins code for an interpreter of its own that has a sandbox of its own.
SERVICE = """
import asyncio, logging, os, signal, sys, threading, time, talentdata
sandbox = talentdata.Sandbox(records={"contacts": 450, "pools": 3}, policy="unlimited", faults=True)
client = sandbox.client(paced=False)
"""


def python(code: str, *arguments: str, sandbox: talentdata.Sandbox | None = None) -> str:
    """What code prints in an interpreter of its own, which ends well and says nothing else."""
    environment = {**os.environ, **(variables(sandbox) if sandbox else {})}
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
    assert (done.returncode, done.stderr) == (0, ""), f"ended with {done.returncode}: {done.stderr}"
    return done.stdout
