"""`cargo xtask release-check`: compares the packages with the last release and with their required contents.

A part whose tool or baseline is missing is NOT RUN, and then the check does not succeed.
"""

import os
import platform
import shutil
import subprocess
import tempfile

import packages
import test_dist
from commands import CARGO, PYTHON_PROJECT, ROOT, Failure, metadata, output, succeed, target

#: The parts that compare with the last release, and the program of each.
COMPARED = {
    "the spec": None,
    "the Rust crates": "cargo-semver-checks",
    "the C library": "abidiff",
    "the Python package": "griffe",
}


class NotRun(Exception):
    """The reason why a part could not run."""


def last_release():
    done = subprocess.run(["git", "describe", "--tags", "--abbrev=0"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise NotRun("there is no tag of a release to compare with")
    return done.stdout.strip()


def compare(part):
    """Compares a part with the last release by the program for it."""
    tool = COMPARED[part]
    if tool and not shutil.which(tool):
        raise NotRun(f"{tool} is not installed")
    tag = last_release()
    if part == "the spec":
        succeed(os.environ["XTASK"], "spec-diff", tag)
    elif part == "the Rust crates":
        succeed(CARGO, "semver-checks", "--workspace", "--baseline-rev", tag, cwd=ROOT)
    elif part == "the Python package":
        succeed(tool, "check", "talentdata", "--search", PYTHON_PROJECT, "--against", tag, cwd=ROOT)
    else:
        raise NotRun(f"the library of {tag} is not here; compare both by `{tool} --headers-dir1 ... OLD NEW`")


def contents():
    """Checks the sizes, notices and bills of materials of the packages in target/dist."""
    found = packages.handed_out(target() / "dist")
    wanted = {"the wheel": ".whl", "the tarballs": f"-linux-{platform.machine()}.tar.gz", "the Debian packages": ".deb"}
    missing = [name for name, end in wanted.items() if not any(str(file).endswith(end) for file in found)]
    if missing:
        raise NotRun(f"target/dist lacks {', '.join(missing)}; run `cargo xtask dist`")
    test_dist.inspect([file for file in found if str(file).endswith((".whl", wanted["the tarballs"]))])


#: The packages of the workspace that only contribute to other packages: the C libraries and the Python module.
NO_CRATES = {"xtask", "talentdata-ffi-c", "talentdata-ffi-sandbox", "talentdata-py"}


def crates():
    """Packs each crate that Rust programs use, as cargo would publish it."""
    names = [one["name"] for one in metadata()["packages"] if one["name"] not in NO_CRATES]
    with tempfile.TemporaryDirectory() as directory:
        chosen = [option for name in names for option in ("--package", name)]
        # A lock file of its own would need the other crates from the registry, where they are not yet.
        command = [CARGO, "package", "--no-verify", "--exclude-lockfile", "--target-dir", directory]
        output(*command, *chosen, cwd=ROOT)


def main():
    parts = {part: lambda part=part: compare(part) for part in COMPARED}
    parts |= {"sizes, notices and bills of materials": contents, "the crates as packages": crates}
    left = []
    for name, part in parts.items():
        try:
            part()
            print(f"{name}: passed", flush=True)
        except NotRun as reason:
            left.append(name)
            print(f"{name}: NOT RUN, {reason}", flush=True)
    if left:
        raise Failure(f"NOT RUN: {', '.join(left)}")


main()
