"""Packages that are used when they are installed."""

from __future__ import annotations

import importlib
from typing import Any


def need(module: str, purpose: str) -> Any:
    """A module of another package; an ImportError that says how to get it where it is absent."""
    package = module.split(".")[0]
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != package:
            raise
        message = f"{purpose} needs the package {package}; run `pip install {package}`"
        raise ImportError(message, name=package) from None
