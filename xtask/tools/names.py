"""A name means one thing: types and constants that another file can use have a name that no other one in the workspace has."""

import rust_source
from commands import ROOT

#: Crates whose names clash with each other still. The list is to become empty.
NOT_YET: set[str] = set()
#: Names that several things have on purpose, and why.
SEVERAL = {
    "Client": "core's asynchronous client and its blocking twin are one thing for users",
    "Service": "the sandbox is the service, and core's is that service as one client reaches it; no file uses both",
}


def visible(packages):
    """The types and constants that another file can use, by their names, each with its package."""
    out = {}
    for package, roots in packages.items():
        for one in (one for root in roots for module in root.every() for one in module.definitions.values()):
            # What two crates have from one file is one thing.
            same = [other for _, other in out.get(one.name, []) if (other.file, other.line) == (one.file, one.line)]
            if one.visible and one.kind in rust_source.TYPES | rust_source.VALUES and not same:
                out.setdefault(one.name, []).append((package, one))
    return out


def wrong(packages):
    """All names that several things have, in sentences."""
    all_names = visible(packages)
    for name, bearers in sorted(all_names.items()):
        known = {package for package, _ in bearers} <= NOT_YET
        if len(bearers) > 1 and not known and name not in SEVERAL:
            where = ", ".join(f"{one.file.relative_to(ROOT)}:{one.line} ({one.kind})" for _, one in bearers)
            yield f"{len(bearers)} things are called {name}: {where}"
    several = (bearers for name, bearers in all_names.items() if len(bearers) > 1 and name not in SEVERAL)
    clashing = {package for bearers in several for package, _ in bearers}
    for package in sorted(NOT_YET - clashing):
        yield f"{package} has no name of another thing now: take it off the list in xtask/tools/names.py"
    for name in SEVERAL:
        if len(all_names.get(name, [])) < 2:
            yield f"{name} is one thing now: take it off the table in xtask/tools/names.py"
