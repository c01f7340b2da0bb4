"""`cargo xtask test tidy`: rules of this project that neither the formatter nor the linter checks."""

import re
from pathlib import Path

import imports
import names
import rust_source
import tidy_cases
from commands import ROOT, Failure, metadata, output

#: The allowed dependencies between packages: the architecture. A new one needs a reason in ARCHITECTURE.md.
EDGES = {
    "talentdata-types": "",
    "talentdata-core": "types",
    "talentdata-columns": "core",
    "talentdata-mirror": "columns core",
    "talentdata-sandbox": "",
    "talentdata-adbc": "columns core mirror",
    "talentdata-cli": "columns core mirror sandbox",
    "talentdata-py": "adbc cli columns core mirror sandbox",
    "talentdata-ffi-c": "adbc columns core mirror",
    "talentdata-ffi-sandbox": "core sandbox",
    "xtask": "",
}
#: The libraries with unsafe code: at the boundary to C, and in the entry point of the ADBC driver.
WITH_UNSAFE_CODE = ("crates/ffi-c/src/lib.rs", "crates/ffi-sandbox/src/lib.rs", "crates/adbc/src/lib.rs")
#: A warning or an error in the log without a field for finding it.
BARE = re.compile(r'tracing::(?:warn|error)!\(\s*"')
#: Words that no source may contain. They are composed here, so that this file does not contain them.
FORBIDDEN = re.compile("|".join(["keep" + " in sync", "TO" + "DO", "FIX" + "ME"]))


def wrong():
    """Yields a message for each violation."""
    for path in output("git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=ROOT).splitlines():
        text = (ROOT / path).read_text(errors="replace") if (ROOT / path).is_file() else ""
        if path.endswith(".rs") and text and not text.startswith("//! "):
            yield f"{path}: the first line does not say the purpose of the file (`//! ...`)"
        if path.endswith(".rs") and BARE.search(text):
            yield f"{path}: logs a warning or an error without a field, such as list, path or reason"
        is_library = path.endswith("/src/lib.rs") and path not in WITH_UNSAFE_CODE
        if is_library and "#![forbid(unsafe_code)]" not in text:
            yield f"{path}: #![forbid(unsafe_code)] is missing"
        for words in set(FORBIDDEN.findall(text)) if not path.endswith(".lock") else ():
            yield f'{path}: says "{words}"; finish it, add the table row or test that is missing, or file an issue'
    packages = metadata()["packages"]
    sources = {one["name"]: rust_source.crate(Path(one["manifest_path"]).parent) for one in packages}
    yield from imports.wrong(sources)
    yield from names.wrong(sources)
    for package in packages:
        # Tests may use all packages. Only the shipped packages have an architecture.
        shipped = {one["name"] for one in package["dependencies"] if "path" in one and one["kind"] != "dev"}
        for edge in shipped - {f"talentdata-{one}" for one in EDGES.get(package["name"], "").split()}:
            yield f"{package['name']}: depends on {edge}, which the architecture does not allow"


def main():
    found = [*tidy_cases.wrong(), *wrong()]
    if found:
        raise Failure("\n  " + "\n  ".join(found))
