"""`cargo xtask tidy`: rules of the house that neither formatter nor linter knows."""

import re

from commands import ROOT, Failure, output, tool

#: Which crate may depend on which: the architecture. A new edge needs an argument in ARCHITECTURE.md.
EDGES = {
    "crates/types": [],
    "crates/core": ["types"],
    "crates/columns": ["core"],
    "crates/mirror": ["columns", "core"],
    "crates/sandbox": [],
    "crates/cli": ["columns", "core", "mirror", "sandbox"],
    "crates/py": ["cli", "columns", "core", "mirror", "sandbox"],
    "crates/ffi-c": ["columns", "core", "mirror"],
    "xtask": [],
}
#: Words that must not stand in any source, put together so that this file does not hold them.
FORBIDDEN = {
    "keep " "in sync": "a table row or a test is missing",
    "TO" "DO": "finish it or file an issue",
    "FIX" "ME": "finish it or file an issue",
}


def wrong():
    """Everything that is wrong, in sentences."""
    for path in output("git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=ROOT).splitlines():
        text = (ROOT / path).read_text(errors="replace") if (ROOT / path).is_file() else ""
        if path.endswith(".rs") and text and not text.startswith("//! "):
            yield f"{path}: the first line does not say what the file is for (`//! ...`)"
        is_library = path.endswith("/src/lib.rs") and "ffi-c" not in path
        if is_library and "#![forbid(unsafe_code)]" not in text:
            yield f"{path}: #![forbid(unsafe_code)] is missing"
        for words, instead in FORBIDDEN.items():
            if words in text and not path.endswith(".lock"):
                yield f'{path}: says "{words}"; {instead}'
    for directory, allowed in EDGES.items():
        # Tests may use anything; only what ships is architecture.
        shipped = (ROOT / directory / "Cargo.toml").read_text().split("[dev-dependencies]")[0]
        for edge in re.findall(r"^talentdata-([^. =\n]+)", shipped, re.M):
            if edge not in allowed:
                yield f"{directory}/Cargo.toml: depends on {edge}, which the architecture does not allow"
    # Each example that the README shows is the file that the tests compile.
    for piece in (ROOT / "README.md").read_text().split("<!-- example ")[1:]:
        path, _, rest = piece.partition(" -->")
        shown = rest.split("<!-- end -->")[0].strip()
        code = shown.partition("\n")[2].rstrip("`")
        if not (ROOT / path).is_file() or (ROOT / path).read_text() != code:
            yield f"README.md: the example differs from {path}"


def main():
    found = list(wrong())
    if found:
        raise Failure("\n  " + "\n  ".join(found))


if __name__ == "__main__":
    tool(main)
