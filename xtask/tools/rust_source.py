"""Reads the Rust files of a crate, without tests: the definitions and imports of each module."""

import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

TOKEN = re.compile(
    r"""(?P<skip>\s+|//[^\n]*)|(?P<comment>/\*)|b?r(?P<hashes>\#*)"(?P<raw>.*?)"(?P=hashes)"""
    r"""|[bc]?"(?P<text>(?:[^"\\]|\\.)*)"|(?P<letter>b?'(?:[^'\\]|\\[^']+|\\')')|'(?P<lifetime>\w+)"""
    r"""|(?P<word>(?:r\#)?\w+)|(?P<path>::)|(?P<sign>.)""",
    re.S,
)
OPENING, CLOSING = "([{", ")]}"
#: The keywords that define types.
TYPES = {"struct", "enum", "union", "trait", "type"}
#: The keywords that define values.
VALUES = {"const", "static"}
#: The keywords that may precede the keyword of a definition.
MODIFIERS = {"unsafe", "async", "extern", "default", "auto"}


@dataclass
class Definition:
    """A named item of a module."""

    name: str
    kind: str
    file: Path
    line: int
    #: True if other files may use the item.
    visible: bool


@dataclass
class Module:
    """A module of a crate, with its child modules, definitions and imports."""

    file: Path
    parent: "Module | None"
    name: str
    modules: dict = field(default_factory=dict)
    definitions: dict = field(default_factory=dict)
    #: The path of each imported item, by its local name.
    imports: dict = field(default_factory=dict)
    globs: list = field(default_factory=list)
    #: The paths that occur in the module, each with its line.
    paths: list = field(default_factory=list)

    @property
    def root(self):
        return self.parent.root if self.parent else self

    def every(self):
        yield self
        for one in self.modules.values():
            yield from one.every()


def tokens(text):
    """Returns the words, signs and strings of a file, each with its line. A string keeps its opening quotation mark."""
    at, line, out = 0, 1, []
    while at < len(text):
        found = TOKEN.match(text, at)
        end = found.end()
        if found["comment"]:
            depth = 1
            while depth:
                mark = re.compile(r"/\*|\*/").search(text, end)
                depth += 1 if mark and mark[0] == "/*" else -1
                end = mark.end() if mark else len(text)
        elif found["word"] or found["path"] or found["sign"]:
            out.append((found[0].removeprefix("r#"), line))
        elif found["raw"] is not None or found["text"] is not None:
            out.append(('"' + (found["raw"] if found["text"] is None else found["text"]), line))
        line += text.count("\n", at, end)
        at = end
    return out


def read(root):
    """Reads the modules of a crate from its root file."""
    module = Module(root, None, "crate")
    _Reader(module, root.parent).items(tokens(root.read_text()))
    return module


class _Reader:
    """Reads the items of one module. `directory` has the files of its child modules."""

    def __init__(self, module, directory):
        self.module, self.directory = module, directory

    def items(self, all_tokens):
        """Reads all items in these tokens."""
        self.words, self.lines = [one for one, _ in all_tokens], [line for _, line in all_tokens]
        at = 0
        while at < len(self.words):
            at = self.item(at)

    def word(self, at):
        """Returns the word at a position, or an empty string after the last one."""
        return self.words[at] if at < len(self.words) else ""

    def closing(self, at):
        """Returns the position after the bracket that closes the bracket at `at`."""
        depth = 0
        while at < len(self.words):
            depth += (self.words[at] in OPENING) - (self.words[at] in CLOSING)
            at += 1
            if not depth:
                break
        return at

    def end(self, at, with_block):
        """Returns the position after an item, which ends with a semicolon or, if allowed, with a block."""
        while at < len(self.words):
            if self.words[at] in OPENING:
                is_block = with_block and self.words[at] == "{"
                at = self.closing(at)
                if is_block:
                    return at
            else:
                at += 1
                if self.words[at - 1] == ";":
                    return at
        return at

    def item(self, at):
        """Reads the item at a position. Returns the position after it."""
        start, is_test, path = at, False, None
        while self.word(at) == "#":
            begin = at + (2 if self.word(at + 1) == "!" else 1)
            at = self.closing(begin)
            inside = self.words[begin + 1 : at - 1]
            is_test |= inside[:1] == ["cfg"] and "test" in inside and "not" not in inside
            path = inside[2][1:] if inside[:2] == ["path", "="] else path
        visible = self.word(at) == "pub"
        if visible:
            at += 1
            if self.word(at) == "(":
                visible = self.word(at + 1) != "self"
                at = self.closing(at)
        while self.word(at) in MODIFIERS or (self.word(at) == "const" and self.word(at + 1) in {"fn", *MODIFIERS}):
            at += 2 if self.word(at + 1).startswith('"') else 1
        kind, name, third = self.word(at), self.word(at + 1), self.word(at + 2)
        if kind == "static" and name == "mut":
            name = third
        with_block = kind not in {"use", "type", *VALUES}
        end = self.end(at, with_block)
        if is_test or kind in {"", ";"}:
            return max(end, start + 1)
        if kind == "mod":
            self.child(name, path, at, end)
        elif kind == "use":
            self.use(at + 1, end)
        else:
            if kind == "macro_rules":
                kind, name = "macro", third
            if kind in {*TYPES, *VALUES, "fn", "macro"} and name.isidentifier():
                definition = Definition(name, kind, self.module.file, self.lines[at], visible)
                self.module.definitions.setdefault(name, definition)
            call = at
            while self.word(call + 1) == "::":
                call += 2
            if self.words[call + 1 : call + 3] == ["!", "{"]:
                # The argument of a macro call with braces is read as items, because most of these macros take items.
                inner = list(zip(self.words[call + 3 : end - 1], self.lines[call + 3 : end - 1]))
                _Reader(self.module, self.directory).items(inner)
            self.store_paths(start, end)
        return end

    def child(self, name, path, at, end):
        """Reads a child module, from its own file or, if it is inline, from this one."""
        is_inline = self.word(at + 2) == "{"
        file = self.module.file
        if not is_inline:
            here = self.module.file.parent
            candidates = [self.directory / f"{name}.rs", self.directory / name / "mod.rs"]
            existing = next((one for one in candidates if one.exists()), candidates[0])
            file = (here / path).resolve() if path else existing
        module = self.module.modules[name] = Module(file, self.module, name)
        reader = _Reader(module, self.directory / name)
        inner = list(zip(self.words[at + 3 : end - 1], self.lines[at + 3 : end - 1]))
        reader.items(inner if is_inline else tokens(file.read_text()))

    def use(self, at, end):
        """Stores the imports of a `use` item. `at` is the position after the keyword."""

        def tree(at, prefix):
            while at < end:
                word = self.words[at]
                if word == "{":
                    at += 1
                    while self.words[at] != "}":
                        at = tree(at, prefix)
                        at += self.words[at] == ","
                    return at + 1
                if word == "*":
                    self.module.globs.append(prefix)
                    self.module.paths.append((prefix, self.lines[at]))
                    return at + 1
                if word == "::":
                    prefix = prefix or ("",)
                    at += 1
                    continue
                if word == "as":
                    self.module.imports[self.words[at + 1]] = prefix
                    return at + 2
                if word in {",", "}", ";"}:
                    return at
                # `a::{self}` means `a`.
                prefix += () if word == "self" and prefix else (word,)
                at += 1
                if self.words[at] not in {"::", "as"}:
                    self.module.imports.setdefault(prefix[-1], prefix)
                if self.words[at] != "::":
                    self.module.paths.append((prefix, self.lines[at - 1]))
            return at

        tree(at, ())

    def store_paths(self, at, end):
        """Stores the paths between two positions."""
        while at < end:
            word = self.words[at]
            if word == "use" and self.word(at - 1) in OPENING + CLOSING + ";":
                close = self.end(at, False)
                self.use(at + 1, close)
                at = close
                continue
            begin = at
            at += 1
            if not word.isidentifier() or self.word(begin - 1) in {"::", "."}:
                continue
            while at + 1 < end and self.words[at] == "::" and self.words[at + 1].isidentifier():
                at += 2
            if at > begin + 1:
                self.module.paths.append((tuple(self.words[begin:at:2]), self.lines[begin]))


def resolve(module, path, seen=frozenset()):
    """Returns the definition or module that a path names, or None if it belongs to another crate."""
    at, is_local, rest = module, True, path
    while rest and rest[0] in {"crate", "self", "super"}:
        at = {"crate": at.root, "self": at, "super": at.parent}[rest[0]]
        is_local, rest = False, rest[1:]
    for position, name in enumerate(rest):
        if (id(at), name) in seen:
            return None
        if name in at.modules:
            at, is_local = at.modules[name], False
            continue
        seen |= {(id(at), name)}
        if name in at.definitions:
            return at.definitions[name]
        if name in at.imports:
            return resolve(at, at.imports[name] + rest[position + 1 :], seen)
        by_glob = (resolve(at, one + rest[position:], seen) for one in at.globs)
        found = next((one for one in by_glob if one), None)
        return found if found or is_local else _exported_macro(module.root, name) or at
    return at if path else None


def _exported_macro(root, name):
    """Returns the macro of this crate with this name, or None."""
    found = (one.definitions.get(name) for one in root.every())
    return next((one for one in found if one and one.kind == "macro"), None)


@cache
def crate(directory):
    """Reads the modules of a crate from each of its root files."""
    roots = [directory / "src/lib.rs", directory / "src/main.rs", *sorted(directory.glob("src/bin/*.rs"))]
    return [read(one) for one in roots if one.exists()]
