"""What the tests need beside fixtures."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import talentdata

#: Never to be shown.
CANARY = "CANARY-1234"


def until(condition) -> None:
    """Waits until the condition holds; the minute is only a guard against hanging."""
    guard = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < guard, "it never came"
        time.sleep(0.005)


@contextmanager
def server() -> Iterator[str]:
    """The URL of a Valkey server; `cargo xtask test python` says where its program is."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    program = os.environ["TALENTDATA_VALKEY_SERVER"]
    command = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", ""]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        try:
            assert any("Ready to accept connections" in line for line in running.stdout)
            yield f"redis://127.0.0.1:{port}"
        finally:
            running.kill()


def variables(sandbox: talentdata.Sandbox) -> dict[str, str]:
    """The environment of a client of this sandbox."""
    names = ("base_url", "client_id", "client_secret")
    return {f"TALENTDATA_{name.upper()}": getattr(sandbox, name) for name in names}


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
