"""Planted faults, with which `cargo xtask test tidy` tests its checks of imports and names."""

import tempfile
from pathlib import Path

import imports
import names
import rust_source

#: Planted cycles: a name, the files of a crate's `src`, and the file names of each cycle that must be found.
CYCLES = [
    (
        "nothing",
        {"lib.rs": "mod a; mod b; pub use a::A;", "a.rs": "use crate::b::B; pub struct A(B);", "b.rs": "pub struct B;"},
        [],
    ),
    (
        "two files",
        {
            "lib.rs": "mod a; mod b;",
            "a.rs": "use crate::b::{self, B}; pub struct A;",
            "b.rs": "pub struct B(super::a::A);",
        },
        [["a.rs", "b.rs"]],
    ),
    (
        "through an export of a parent",
        {
            "lib.rs": "mod a; mod b; mod c; pub use self::a::{X as Y};",
            "a.rs": "pub struct X; fn f() { b::g() } use super::{b};",
            "b.rs": "pub(crate) fn g() { crate::c::h::<u8>(); }",
            "c.rs": "pub fn h<T>() { let x: crate::Y; }",
        },
        [["a.rs", "b.rs", "c.rs"]],
    ),
    (
        "a parent and its modules",
        {
            "lib.rs": "mod a;",
            "a.rs": "mod b; mod c; pub(crate) use b::B; struct A; fn f() { c::g(); }",
            "a/b.rs": "use super::{A, c}; pub struct B;",
            "a/c.rs": "use super::*; pub fn g() {}",
        },
        [],
    ),
    (
        "two modules of one parent",
        {
            "lib.rs": "mod a;",
            "a.rs": "mod b; mod c;",
            "a/b.rs": "use super::c::C; pub struct B;",
            "a/c.rs": "use super::b::B; pub struct C;",
        },
        [["b.rs", "c.rs"]],
    ),
    (
        "a module of a parent, and another file",
        {
            "lib.rs": "mod a; mod c;",
            "a.rs": "mod b; use crate::c::C; pub fn f() {}",
            "a/b.rs": "use super::f;",
            "c.rs": "use crate::a::b; pub struct C;",
        },
        [["a.rs", "c.rs", "b.rs"]],
    ),
    (
        "through a glob export of a file",
        {
            "lib.rs": "mod a; mod b; mod c; pub use a::*;",
            "a.rs": "pub use crate::b::*; pub fn f() {}",
            "b.rs": "pub struct B(super::c::C);",
            "c.rs": "use crate::B; pub struct C;",
        },
        [["b.rs", "c.rs"]],
    ),
    (
        "a macro",
        {
            "lib.rs": "mod a; mod b;",
            "a.rs": "macro_rules! m { () => { pub enum $x {} } } pub(crate) use m; use crate::b::E;",
            "b.rs": "crate::a::m! { pub enum E {} }",
        },
        [["a.rs", "b.rs"]],
    ),
    (
        "texts, comments and tests, which do not count",
        {
            "lib.rs": "mod a; mod b;",
            "a.rs": "use crate::b::B; pub struct A; // crate::b",
            "b.rs": '/* /* */ crate::a::A */ pub struct B; const T: &str = r#"" crate::a::A"#; const C: char = \'"\';'
            " fn f<'a>(x: &'a str) { \"crate::a::A\"; } #[cfg(test)] mod tests { use crate::a::A; } #[cfg(test)] use crate::a::A;",
        },
        [],
    ),
]
#: A crate with modules within another one, each of which has its own place in the order.
WITHIN = {
    "lib.rs": "mod a; mod g { pub mod x; pub mod y; }",
    "a.rs": "use crate::g::x::X; pub struct A;",
    "g/x.rs": "pub struct X;",
    "g/y.rs": "use crate::a::A;",
}
#: Python modules. Imports for type checkers count, too.
PYTHON = {
    "__init__.py": "from ._a import A\nfrom ._c import C\n",
    "_a.py": "from __future__ import annotations\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ._b import B\n",
    "_b.py": "def f():\n    from . import _a, _native\n",
    "_c.py": "from . import A\n",
    "_native.pyi": "from ._c import C\n",
}


def plant(root, files):
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def expect(planted, found, expected):
    """Yields a message if a check has not found exactly the planted faults. A cycle may begin with any of its files."""
    found = sorted(sorted(one) if isinstance(one, list) else one for one in found)
    expected = sorted(sorted(one) if isinstance(one, list) else one for one in expected)
    if found != expected:
        yield f"xtask/tools/tidy_cases.py: {planted}: {expected} was planted, {found} was found"


def wrong():
    """Yields a message for each planted fault that a check does not find, and for other findings."""
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        for number, (planted, files, expected) in enumerate(CYCLES):
            crate = root / str(number)
            plant(crate / "src", files)
            found = imports.cycles(imports.rust_graph(rust_source.crate(crate)))
            yield from expect(planted, [[file.name for file in one] for one in found], expected)
        plant(root / "python", PYTHON)
        found = imports.cycles(imports.python_graph(root / "python"))
        yield from expect("Python", [[file.name for file in one] for one in found], [["_a.py", "_b.py"]])
        first = {
            "lib.rs": "mod a; mod b;",
            "a.rs": "pub struct A; pub struct Own; const LIMIT: u8 = 1; crate::m! { pub enum E {} }",
            "b.rs": "use crate::a::A; mod c { pub struct F; }",
        }
        second = {
            "lib.rs": "pub(crate) type A = u8; struct Own; pub const LIMIT: u8 = 2; impl X { pub const ALL: u8 = 1; } pub trait E {} pub struct F;"
        }
        plant(root / "first/src", first)
        plant(root / "second/src", second)
        plant(root / "fourth/src", {"lib.rs": "struct Own; const LIMIT: u8 = 1;"})
        plant(root / "fifth/src", {"lib.rs": "enum Own {} const LIMIT: u8 = 2;"})
        crates = {one: rust_source.crate(root / one) for one in ("first", "second")}
        several = [name for name, items in names.bearers(crates).items() if len(items) > 1]
        yield from expect("one name of two items", several, ["A", "E", "F", "LIMIT", "Own"])
        only_private = {one: rust_source.crate(root / one) for one in ("fourth", "fifth")}
        yield from expect("one name of two private items", names.bearers(only_private), [])
        for order, count in [("a -> b", 0), ("b -> a", 1), ("b", 1)]:
            found = list(imports.against_order("first", crates["first"], order, root))
            yield from expect(f"the order {order}", [len(found)], [count])
        plant(root / "third/src", WITHIN)
        third = rust_source.crate(root / "third")
        for order, count in [("g::x -> a -> g::y", 0), ("a -> g::x, g::y", 1), ("g -> a", 1), ("g::x -> a", 1)]:
            found = list(imports.against_order("third", third, order, root))
            yield from expect(f"the order {order}", [len(found)], [count])
