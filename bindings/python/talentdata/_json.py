"""Conversion of values to and from JSON, for the native module."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ._talentdata import Record


def loads(text: str) -> Any:
    """Returns the value of a JSON text. Integers of any length are exact."""
    try:
        return json.loads(text)
    except ValueError:
        # Python limits the number of digits when it parses an integer. Decimals have no such limit.
        from decimal import Decimal

        return json.loads(text, parse_int=lambda digits: int(Decimal(digits)))


def parameters_text(values: Mapping[str, Any]) -> str:
    """Returns the parameters that are not None as JSON."""
    return _text({name: value for name, value in values.items() if value is not None})


def body_text(required: Any, optional: Mapping[str, Any] | None = None) -> str | None:
    """Returns a request body as JSON: a value, or an object whose optional fields may be None.

    Returns None if an optional body was not given.
    """
    if optional is None:
        return None if required is None else _text(required)
    given = {name: value for name, value in optional.items() if value is not None}
    if not required and optional and not given:
        return None
    return _text({**required, **given})


def value_of(text: str | None) -> Any:
    """Returns the value of a response that has no class."""
    return None if text is None else loads(text)


def _text(value: Any) -> str:
    # JSON has neither NaN nor infinities.
    return json.dumps(value, allow_nan=False, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        return value.to_dict()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a {type(value).__name__} cannot be sent as JSON; use dict, list, str, int, float, bool or None")
