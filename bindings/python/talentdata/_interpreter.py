"""Refuses sub-interpreters before the native module is loaded, whose threads only call the main interpreter."""

from __future__ import annotations

import importlib


def _is_main() -> bool:
    # Python 3.13 renamed the module.
    for name in ("_interpreters", "_xxsubinterpreters"):
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        return bool(module.get_current() == module.get_main())
    return True


if not _is_main():
    raise ImportError(
        "talentdata works in the main interpreter only, not in a sub-interpreter; use a process for each worker; for "
        "mod_wsgi, set WSGIApplicationGroup to %{GLOBAL}",
        name="talentdata",
    )
