"""Checks of imports between files: cycles, and imports against the order of modules in ARCHITECTURE.md.

A parent and its modules (`a.rs` and `a/*.rs`) may import each other. A cycle that needs any other file is refused.
"""

import ast
import re

import rust_source
from commands import ROOT

#: The crates that have an order of modules in ARCHITECTURE.md.
ORDERED = ["talentdata-core"]
#: The directories of Python modules that import each other.
PYTHON = ["bindings/python/talentdata", "xtask/tools", "tests/bench"]
#: The line of ARCHITECTURE.md with the order of a crate's modules: `    core: a, b -> c -> d`. A module within another
#: one may have its own place, such as `c::e`.
ORDER = re.compile(r"^    (\w+): ((?:[\w:, ]+ ->\s+)+[\w:, ]+)$", re.M)


def rust_graph(roots):
    """Returns the imports of a crate: for each file, the files that it needs, with one place of such an import."""
    graph = {}
    for module in (one for root in roots for one in root.every()):
        needed = graph.setdefault(module.file, {})
        for path, line in module.paths:
            found = rust_source.resolve(module, path)
            if found and found.file != module.file:
                needed.setdefault(found.file, f"{'::'.join(path)} (line {line})")
    return graph


def python_graph(directory):
    """Returns the imports of a directory of Python modules, in the form of `rust_graph`."""
    files = {one.stem: one for one in sorted(directory.glob("*.py"))}
    trees = {name: ast.parse(file.read_text()) for name, file in files.items()}

    def imported(tree):
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                yield from ((one.name.removeprefix(f"{directory.name}."), None, node.lineno) for one in node.names)
            elif isinstance(node, ast.ImportFrom):
                module = (node.module or "").removeprefix(directory.name).removeprefix(".")
                yield from ((module or "__init__", one.name, node.lineno) for one in node.names)

    def leads_to(module, name):
        if module == "__init__" and name in files:
            return files[name]
        # A module with a stub is written in Rust.
        if (directory / f"{name}.pyi").exists():
            return None
        if module == "__init__" and module in files:
            through = (one for one, exported, _ in imported(trees[module]) if exported == name and one != module)
            return files.get(next(through, module), files[module])
        return files.get(module)

    graph = {file: {} for file in files.values()}
    for name, file in files.items():
        for module, imports, line in imported(trees[name]):
            found = leads_to(module, imports)
            if found and found != file:
                graph[file].setdefault(found, f"{imports or module} (line {line})")
    return graph


def knots(graph):
    """Returns the sets of files that all reach each other by imports."""
    reached = {}
    for start in graph:
        seen, following = set(), [start]
        while following:
            new = [one for one in graph[following.pop()] if one in graph and one not in seen]
            seen.update(new)
            following.extend(new)
        reached[start] = seen
    knots = {frozenset(two for two in graph if two in reached[one] and one in reached[two]) for one in graph}
    return sorted((sorted(one) for one in knots if len(one) > 1), key=len)


def is_below(file, parent):
    """Returns whether a file is in the directory of the parent's modules."""
    is_root = parent.name in {"lib.rs", "main.rs", "__init__.py"}
    return file.is_relative_to(parent.parent if is_root else parent.with_suffix(""))


def is_family(graph, files):
    """Returns whether these files have no cycles except those of parents and their modules."""
    for knot in knots({one: set(graph[one]) & set(files) for one in files}):
        parent = next((one for one in knot if all(other == one or is_below(other, one) for other in knot)), None)
        if not parent or not is_family(graph, set(knot) - {parent}):
            return False
    return True


def shortest(graph, start, end):
    """Returns the files on the shortest path between two files."""
    before, following = {start: None}, [start]
    for file in following:
        for one in graph[file]:
            if one not in before:
                before[one] = file
                following.append(one)
    way = [end]
    while before[way[-1]]:
        way.append(before[way[-1]])
    return way[::-1]


def cycles(graph):
    """Returns refused cycles as lists of files: the shortest ones, until each file of a cycle has occurred."""
    out = []
    for knot in knots(graph):
        inner = {one: {two: why for two, why in graph[one].items() if two in knot} for one in knot}
        if is_family(inner, knot):
            continue
        ways = [shortest(inner, two, one) for one in knot for two in inner[one]]
        ways = [way for way in sorted(ways, key=len) if not is_family(inner, way)] or [knot]
        shown = set()
        for way in ways:
            if set(way) - shown:
                shown.update(way)
                out.append(way)
    return out


def shown(graph, cycle, root):
    """Returns a text that shows a cycle, with one import of each file."""
    pairs = zip(cycle, [*cycle[1:], cycle[0]])
    imports = (f"{one.relative_to(root)} imports {graph[one].get(two, two.name)}" for one, two in pairs)
    return "a cycle of imports:\n    " + "\n    ".join(imports)


def against_order(name, roots, order, root):
    """Yields messages for imports from later modules, and for modules without a place in the order."""
    places = {module: place for place, layer in enumerate(order.split("->")) for module in re.findall(r"[\w:]+", layer)}
    modules = [one for top in roots for one in top.every() if one.file != top.file]
    owners = {one.file: place_name(one, places) for one in modules}
    for module in modules:
        own = owners[module.file]
        if own is None:
            # Modules below a reported module are not reported again.
            if module.parent.file == module.root.file:
                yield f"{module.file.relative_to(root)}: the order of {name} in ARCHITECTURE.md does not have {module.name}"
            continue
        for path, line in module.paths:
            found = rust_source.resolve(module, path)
            other = owners.get(found.file) if found else None
            if other and places[other] > places[own]:
                where = f"{module.file.relative_to(root)}:{line}"
                yield f"{where}: {own} imports {'::'.join(path)}, but {other} comes later in ARCHITECTURE.md"


def place_name(module, places):
    """Returns the name of a module, or of the module that contains it, as it is in the order."""
    path = []
    while module.parent:
        path.insert(0, module.name)
        module = module.parent
    names = ("::".join(path[:length]) for length in range(len(path), 0, -1))
    return next((one for one in names if one in places), None)


def wrong(packages):
    """Yields a message for each cycle and for each import against the order."""
    graphs = {one: python_graph(ROOT / one) for one in PYTHON}
    graphs |= {name: rust_graph(roots) for name, roots in packages.items()}
    for graph in graphs.values():
        yield from (shown(graph, cycle, ROOT) for cycle in cycles(graph))
    orders = dict(ORDER.findall((ROOT / "ARCHITECTURE.md").read_text()))
    for name in ORDERED:
        order = orders.get(name.removeprefix("talentdata-"))
        if order is None:
            yield f"ARCHITECTURE.md: the line with the order of {name} is missing"
        else:
            yield from against_order(name, packages[name], order, ROOT)
