"""A check of names: types and constants that other files can use have names that are unique in the workspace."""

import rust_source
from commands import ROOT

#: Names that several items share on purpose, and the reasons.
SEVERAL = {
    "Client": "core's asynchronous and blocking clients are the same for users",
    "Service": "the sandbox is the service, and core has a client's connection to it; no file uses both",
}


def visible(packages):
    """Returns the types and constants that other files can use, by their names."""
    out = {}
    for roots in packages.values():
        for one in (one for root in roots for module in root.every() for one in module.definitions.values()):
            # A file that two crates include defines one item.
            same = [other for other in out.get(one.name, []) if (other.file, other.line) == (one.file, one.line)]
            if one.visible and one.kind in rust_source.TYPES | rust_source.VALUES and not same:
                out.setdefault(one.name, []).append(one)
    return out


def wrong(packages):
    """Yields a message for each name that several items share."""
    all_names = visible(packages)
    for name, bearers in sorted(all_names.items()):
        if len(bearers) > 1 and name not in SEVERAL:
            where = ", ".join(f"{one.file.relative_to(ROOT)}:{one.line} ({one.kind})" for one in bearers)
            yield f"{len(bearers)} items are called {name}: {where}"
    for name in SEVERAL:
        if len(all_names.get(name, [])) < 2:
            yield f"only one item is called {name} now: remove it from the table in xtask/tools/names.py"
