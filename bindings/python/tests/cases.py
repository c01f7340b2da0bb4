"""The form of the cases of `tests/cases`, as their README describes it; what is not known is an error."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DIRECTORY = Path(__file__).parents[3] / "tests" / "cases"


@dataclass(frozen=True, kw_only=True)
class ExpectedError:
    """What the error has to be; where a fact is None, it is not looked at."""

    kind: str
    says: list[str]
    status: int | None = None
    attempts: int | None = None
    offset: int | None = None
    retry_after_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class Expect:
    """What has to come of the call; without an error it succeeds."""

    error: ExpectedError | None = None
    records: int | None = None
    ids: list[str] | None = None
    completeness: str | None = None
    value: dict[str, Any] = field(default_factory=dict)
    requests: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class SandboxOptions:
    """How the sandbox is started."""

    records: dict[str, int] = field(default_factory=dict)
    max_limit: int | None = None
    gzip: bool = False
    token_lifetime_s: int = 3600


@dataclass(frozen=True, kw_only=True)
class ClientOptions:
    """How the client is made; what is None is left to it."""

    client_secret: str | None = None
    max_attempts: int | None = None
    attempt_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class Case:
    """One case; what it does is looked at when it is done."""

    id: str
    docs: str
    sandbox: SandboxOptions
    client: ClientOptions
    rules: list[dict[str, Any]]
    do: Any
    expect: Expect


def case(*, sandbox: dict[str, Any] | None = None, client: dict[str, Any] | None = None, expect: dict[str, Any], **rest: Any) -> Case:
    """A case from its JSON; a member that is not known is a TypeError, as is one that is missing."""
    error = expect.get("error")
    expected = Expect(**{**expect, "error": error and ExpectedError(**error)})
    return Case(sandbox=SandboxOptions(**(sandbox or {})), client=ClientOptions(**(client or {})), expect=expected, **rest)


def suite(path: Path) -> dict[str, Case]:
    """The cases of a file by their names, which begin with that of the suite."""
    held = json.loads(path.read_text())
    cases = held.pop("cases")
    if held != {"schema_version": 1, "suite": path.stem}:
        raise ValueError(f"{path.name}: not the head of a suite: {held}")
    named = {f"{path.stem}-{one['id']}": case(**one) for one in cases}
    if len(named) < len(cases):
        raise ValueError(f"{path.name}: a name comes twice")
    return named


def every() -> dict[str, Case]:
    """All cases by name."""
    suites = [suite(path) for path in sorted(DIRECTORY.glob("*.json"))]
    return {name: one for cases in suites for name, one in cases.items()}
