"""Shared parts of the runners in Python, for the Python clients and for C++: loading cases, and comparing their results."""

import json
from pathlib import Path

SUITES = {path.stem: json.loads(path.read_text()) for path in sorted(Path(__file__).parent.glob("*.json"))}
CASES = {f"{name}-{case['id']}": case for name, suite in SUITES.items() for case in suite["cases"]}

#: The members that a case and its expectation may have; the README describes them. Sandbox and client know their own settings.
MEMBERS = {"id", "docs", "sandbox", "client", "rules", "do", "expect"}
EXPECTED = {"error", "records", "ids", "completeness", "value", "requests"}


def read(name):
    """Returns the options of the sandbox, the settings of the client, and the expected result. Refuses unknown members."""
    case = CASES[name]
    assert set(case) <= MEMBERS and set(case["expect"]) <= EXPECTED, f"{name} has an unknown member"
    return [dict(case.get(part, {})) for part in ("sandbox", "client", "expect")]


def compare(expect, found, requests, secret, shown):
    """Compares the response, `{"records", "completeness", "value"}`, or the error, and looks for secrets in what is shown."""
    pieces = ["CANARY", secret.upper(), *(("CANARY-" * 2)[at : at + 8] for at in range(7))]
    assert not any(piece in shown.upper() for piece in pieces), f"a secret is in: {shown}"
    if "error" in expect:
        assert "message" in found, f"no error, not {expect['error']}"
        assert len(found["message"]) < 1000 and found["message"].isprintable(), found["message"]
        for name, wanted in expect["error"].items():
            if name in ("says", "shows"):
                text = found["message"] if name == "says" else shown
                assert all(one in text for one in wanted), text
            else:
                assert found[name] == wanted, f"{name}: {found[name]!r}, not {wanted!r}"
    else:
        assert "records" in found, found
        assert len(found["records"]) == expect.get("records", len(found["records"]))
        assert [one["id"] for one in found["records"]] == expect.get("ids", [one["id"] for one in found["records"]])
        assert found["completeness"] == expect.get("completeness", found["completeness"])
        for pointer, wanted in expect.get("value", {}).items():
            assert at(found["value"], pointer) == wanted, pointer
    for path, count in expect.get("requests", {}).items():
        assert requests.get(path, 0) == count, f"requests to {path}: {requests.get(path, 0)}, not {count}"


def at(value, pointer):
    for step in pointer.split("/")[1:]:
        value = value[int(step) if isinstance(value, list) else step.replace("~1", "/").replace("~0", "~")]
    return value
