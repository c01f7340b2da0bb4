"""Optional packages, which are used if they are installed."""

from __future__ import annotations

import importlib
from typing import Any


def need(module: str, purpose: str, packages: str | None = None) -> Any:
    """Imports a module of another package. If it is absent, the ImportError says how to install it.

    `packages` are all packages that the purpose needs; by default only this one.
    """
    package = module.split(".")[0]
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != package:
            raise
        message = f"{purpose} needs the package {package}; run `pip install {packages or package}`"
        raise ImportError(message, name=package) from None
