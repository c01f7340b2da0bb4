"""A check of names: a type or constant that other files can use has a name that nothing else in the workspace has."""

import rust_source
from commands import ROOT

#: Names that several items share on purpose, and the reasons.
SEVERAL = {
    "Client": "core's asynchronous and blocking clients are the same for users",
    "Service": "the sandbox is the service, and core has a client's connection to it; no file uses both",
}
#: The kinds of items that the check is about.
KINDS = rust_source.TYPES | rust_source.VALUES


def bearers(packages):
    """Returns the types and constants of all files by their names, for names that a visible one has."""
    out = {}
    for roots in packages.values():
        for one in (one for root in roots for module in root.every() for one in module.definitions.values()):
            # A file that two crates include defines one item.
            same = [other for other in out.get(one.name, []) if (other.file, other.line) == (one.file, one.line)]
            if one.kind in KINDS and not same:
                out.setdefault(one.name, []).append(one)
    return {name: items for name, items in out.items() if any(one.visible for one in items)}


def wrong(packages):
    """Yields a message for each name that a visible item shares with another item."""
    all_names = bearers(packages)
    for name, items in sorted(all_names.items()):
        if len(items) > 1 and name not in SEVERAL:
            where = ", ".join(f"{one.file.relative_to(ROOT)}:{one.line} ({one.kind})" for one in items)
            yield f"{len(items)} items are called {name}, and other files can use one of them: {where}"
    for name in SEVERAL:
        if len(all_names.get(name, [])) < 2:
            yield f"only one item is called {name} now: remove it from the table in xtask/tools/names.py"
