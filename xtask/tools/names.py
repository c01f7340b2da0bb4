"""A name means one thing: types and constants that another file can use have a name that no other one in the workspace has."""

import rust_source
from commands import ROOT

#: Names that several things have on purpose, and why.
SEVERAL = {
    "Client": "core's asynchronous client and its blocking twin are one thing for users",
    "Service": "the sandbox is the service, and core's is that service as one client reaches it; no file uses both",
}


def visible(packages):
    """The types and constants that another file can use, by their names."""
    out = {}
    for roots in packages.values():
        for one in (one for root in roots for module in root.every() for one in module.definitions.values()):
            # What two crates have from one file is one thing.
            same = [other for other in out.get(one.name, []) if (other.file, other.line) == (one.file, one.line)]
            if one.visible and one.kind in rust_source.TYPES | rust_source.VALUES and not same:
                out.setdefault(one.name, []).append(one)
    return out


def wrong(packages):
    """All names that several things have, in sentences."""
    all_names = visible(packages)
    for name, bearers in sorted(all_names.items()):
        if len(bearers) > 1 and name not in SEVERAL:
            where = ", ".join(f"{one.file.relative_to(ROOT)}:{one.line} ({one.kind})" for one in bearers)
            yield f"{len(bearers)} things are called {name}: {where}"
    for name in SEVERAL:
        if len(all_names.get(name, [])) < 2:
            yield f"{name} is one thing now: take it off the table in xtask/tools/names.py"
