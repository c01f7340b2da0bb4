"""Checks settings that may be wrong."""

from __future__ import annotations

from typing import Any

from ._talentdata import Record, diagnose


def doctor(**settings: Any) -> Record:
    """Checks the settings and what a client with them can reach, step by step. A wrong setting is a finding.

    Sends at most five requests, and shows no secret.

    Args:
        settings: The settings of `Client`.

    Returns:
        `healthy`, `settings`, and `checks`: each has `name`, `status` (ok, failed or not_tried), `message` with the
        cause and the solution, and `kind`, the name of the error.
    """
    return Record(diagnose(**settings))
