"""The contents of each artefact: the notices that the licences demand, and the bill of materials (CycloneDX).

`cargo xtask test packages` compares both with the contents of the built files.
"""

import json
import re
from pathlib import Path

from commands import CARGO, ROOT, VERSION, Failure, output

#: The packages whose builds are distributed, and the built file of each.
ARTEFACTS = {
    "talentdata-cli": "talentdata",
    "talentdata-ffi-c": "libtalentdata.so",
    "talentdata-ffi-sandbox": "libtalentdata_sandbox_c.so",
    "talentdata-py": "lib_talentdata.so",
}
#: The names of files with licences and notices. Packages that contain foreign code also have them in folders.
LICENCE_FILE = re.compile(r"(licen[cs]e|copying|notice|copyright|unlicense)\b", re.I)
#: The panic messages of a package name its source file. This is the package's name and version in that path.
SOURCE_PATH = re.compile(rb"registry/src/[^/\0]+/([A-Za-z0-9_-]+-\d+\.\d+\.\d+[A-Za-z0-9.+-]*)/")
#: The version of the SQLite that is compiled from a header in the package that contains it.
SQLITE = re.compile(r'#define SQLITE_VERSION +"(.+)"')


def linked(package):
    """Returns the metadata of all foreign packages that are linked into one of our packages.

    Macros and build dependencies are not linked.
    """
    described = json.loads(output(CARGO, "metadata", "--locked", "--format-version=1", cwd=ROOT))["packages"]
    by_name = {(one["name"], f"v{one['version']}"): one for one in described}
    options = ["--edges", "normal,no-proc-macro", "--prefix", "none", "--format", "{p}"]
    tree = output(CARGO, "tree", "--locked", "--package", package, *options, cwd=ROOT).splitlines()
    found = [by_name[tuple(line.split()[:2])] for line in sorted(set(tree)) if line]
    return list({one["id"]: one for one in found if one["source"]}.values())


def texts(package):
    """Returns the licence texts in the files of a package."""
    directory = Path(package["manifest_path"]).parent
    files = sorted(file for file in directory.rglob("*") if LICENCE_FILE.match(file.name) and file.is_file())
    found = [file.read_text(errors="replace").strip() for file in files if file.suffix not in (".rs", ".py", ".html")]
    if not found and "Apache-2.0" in (package["license"] or ""):
        # The text is the same for every package. Without a file NOTICE there is nothing else to repeat.
        found = [(ROOT / "LICENSE-APACHE").read_text().strip()]
    if not found:
        raise Failure(f"{title(package)} has no licence file, so its notice cannot be written; use another package")
    return found


def title(package):
    return f"{package['name']} {package['version']}"


def notices(packages):
    """Returns the notices: the packages, and then each licence text once, with its packages."""
    owners = {}
    for package in packages:
        for text in texts(package):
            owners.setdefault(text, []).append(title(package))
    lines = [f"{title(package)}: {package['license'] or 'see the licence text'}" for package in packages]
    head = "This software contains the Rust standard library (MIT OR Apache-2.0) and these packages:\n\n"
    parts = [f"{'=' * 80}\nFor {', '.join(dict.fromkeys(names))}:\n\n{text}\n" for text, names in owners.items()]
    return head + "\n".join(lines) + "\n\n" + "\n".join(parts)


def sbom(name, packages):
    """Returns the bill of materials in CycloneDX 1.5. It contains no time, so that it is reproducible."""

    def component(package):
        purl = f"pkg:cargo/{package['name']}@{package['version']}"
        out = {"type": "library", "bom-ref": purl, "name": package["name"], "version": package["version"], "purl": purl}
        if package["license"]:
            out["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
        if package["name"] == "libsqlite3-sys":
            header = Path(package["manifest_path"]).parent / "sqlite3/sqlite3.h"
            version = SQLITE.search(header.read_text())[1]
            cpe = f"cpe:2.3:a:sqlite:sqlite:{version}:*:*:*:*:*:*:*"
            out["components"] = [{"type": "library", "name": "sqlite", "version": version, "cpe": cpe}]
        return out

    whole = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": name, "version": VERSION}},
        "components": [component(package) for package in packages],
    }
    return json.dumps(whole, indent=1) + "\n"


def write(package, directory):
    """Writes the notices and the bill of materials of one of our packages into a directory."""
    directory.mkdir(parents=True, exist_ok=True)
    packages = linked(package)
    (directory / "THIRD-PARTY-NOTICES.txt").write_text(notices(packages))
    (directory / f"{package}.cyclonedx.json").write_text(sbom(package, packages))


def unnamed(content, notice, bill):
    """Returns the packages that a built file contains, and that its notices or its bill of materials do not name."""
    listed = set(re.findall(r"^(\S+) (\S+): ", notice.partition("=" * 80)[0], re.M))
    billed = {(one["name"], one["version"]) for one in json.loads(bill)["components"]}
    named = {"-".join(one) for one in listed & billed}
    inside = {found.decode() for found in SOURCE_PATH.findall(content)}
    if not inside:
        raise Failure("the built file names no source of any package; the check would find nothing")
    return sorted(inside - named)


def check(package, content):
    """Checks the notices and the bill of materials of an artefact, and that the check would find a missing package."""
    packages = linked(package)
    if missing := unnamed(content, notices(packages), sbom(package, packages)):
        raise Failure(f"{package} contains {missing}, which its notices or its bill of materials do not name")
    inside = {found.decode() for found in SOURCE_PATH.findall(content)}
    added = next(one for one in packages if f"{one['name']}-{one['version']}" in inside)
    less = [one for one in packages if one is not added]
    for notice, bill in ((less, packages), (packages, less)):
        if unnamed(content, notices(notice), sbom(package, bill)) != [f"{added['name']}-{added['version']}"]:
            raise Failure(f"the check does not notice that {title(added)} was added to {package}")
    print(f"{package}: notices and bill of materials name all {len(packages)} packages", flush=True)
