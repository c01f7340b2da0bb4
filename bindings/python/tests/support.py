"""What the tests need beside fixtures."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request

import talentdata


def misbehave(base_url: str, *rules: dict[str, object]) -> None:
    """Gives the sandbox these rules in place of those before."""
    body = json.dumps({"rules": rules}).encode()
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(f"{base_url}/__faults", body, headers)
    urllib.request.urlopen(request).close()


def seen(sandbox: talentdata.Sandbox) -> list[dict[str, object]]:
    """The requests that the sandbox has seen."""
    with urllib.request.urlopen(f"{sandbox.base_url}/__requests") as answer:
        return json.load(answer)["requests"]


def wire(sandbox: talentdata.Sandbox, path: str) -> str:
    """An answer as it comes over the wire, fetched without this package's client."""
    body = json.dumps({"clientId": sandbox.client_id, "clientSecret": sandbox.client_secret}).encode()
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(f"{sandbox.base_url}/v1/oauth/token", body, headers)
    with urllib.request.urlopen(request) as answer:
        token = json.load(answer)["access_token"]
    headers = {"authorization": f"Bearer {token}"}
    request = urllib.request.Request(sandbox.base_url + path, headers=headers)
    with urllib.request.urlopen(request) as answer:
        return answer.read().decode()


def python(code: str, *arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    """Runs code in an interpreter of its own."""
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, **options)


def raising(base_url: str) -> None:
    """Asks where nobody answers; another process can find this by its name."""
    talentdata.Client(base_url=base_url, max_attempts=1).version()
