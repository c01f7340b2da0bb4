"""The parts `packages` and `dist` of the tests: they try the distributed packages as users do.

`packages` packs the build of the part `rust`. `dist` tries the result of `cargo xtask dist`.
"""

import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import dist
import notices
import packages
from commands import Failure, build, output, succeed, target
from test_c import BUILD
from test_services import Sandbox


def run_packages():
    made = build(*BUILD)
    for package, file in notices.ARTEFACTS.items():
        notices.check(package, made[file].read_bytes())
    directory = target() / "packages/made"
    shutil.rmtree(directory, ignore_errors=True)
    packed = dist.pack(made, dist.PARTS, target() / "packages/test", directory, level=1)
    again = packages.tarball(target() / "packages/test/cli", target() / "packages/test", "talentdata", level=1)
    if again.read_bytes() != packed["cli"].read_bytes():
        raise Failure("the same program, packed twice, gives different bytes")
    tried(packed)


def run():
    """Tries the result of `cargo xtask dist`, and compares it with SHA256SUMS."""
    directory = target() / "dist"
    succeed("sha256sum", "--quiet", "--check", "SHA256SUMS", cwd=directory)
    found = {"cli": list(directory.glob("talentdata-*.gz")), "c": list(directory.glob("libtalentdata-*.gz"))}
    found["deb"] = list(directory.glob("*.deb"))
    if missing := [part for part, files in found.items() if not files]:
        raise Failure(f"target/dist does not contain the parts {', '.join(missing)}; run `cargo xtask dist` first")
    tried({"cli": found["cli"][0], "c": found["c"][0], "deb": found["deb"]})


def tried(packed):
    """Tries the packages in directories for which they were not built, and whose names contain spaces."""
    place = target() / "packages/tried here"
    shutil.rmtree(place, ignore_errors=True)
    program = moved(packed["cli"], place) / "bin/talentdata"
    pages(program)
    with Sandbox(program, "--records", "contacts=25") as sandbox:
        linked(moved(packed["c"], place), place, sandbox)
        debian(packed["deb"], place / "debian", sandbox)


def moved(archive, place):
    """Unpacks an archive, moves its folder, and returns the folder."""
    with tarfile.open(archive) as opened:
        opened.extractall(place, filter="data")
        top = opened.getnames()[0]
    return (place / top).rename(place / f"moved {top}")


def pages(program):
    """Checks that each command in the help has a manual page, which `man` shows without a warning."""
    folder = program.parent.parent / "share/man/man1"
    verbs = re.findall(r"^  ([a-z][a-z-]*) ", output(program, "-h").partition("Options:")[0], re.M)
    for name in ["talentdata", *(f"talentdata-{verb}" for verb in verbs if verb != "help")]:
        page = folder / f"{name}.1"
        if shutil.which("mandoc"):
            succeed("mandoc", "-Tlint", "-Werror", page)
        shown = shown_page(page) if shutil.which("man") else page.read_text().replace("\\", "")
        if missing := [words for words in ("--base-url", "Exit codes:") if words not in shown]:
            raise Failure(f"{page} does not contain {missing}")
    for tool in ("mandoc", "man"):
        if not shutil.which(tool):
            print(f"{tool} is not installed: its part is NOT RUN", flush=True)


def shown_page(page):
    variables = {**os.environ, "MANPAGER": "cat", "MANWIDTH": "200", "MAN_KEEP_FORMATTING": ""}
    done = subprocess.run(["man", "-l", "--warnings", page], env=variables, capture_output=True, text=True)
    if done.returncode or done.stderr:
        raise Failure(f"man shows {page} with warnings: {done.stderr}")
    return re.sub(".\b", "", done.stdout)


def linked(prefix, place, sandbox):
    """Compiles and runs the quick start with the shared and with the static library of an unpacked tarball."""
    source = prefix / "share/doc/talentdata/examples/quickstart.c"
    variables = {**sandbox.variables, "PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig")}
    for options, runs_with in (((), prefix / "lib"), (("--static",), place)):
        # The flags of pkg-config quote spaces for a shell.
        shell = f"eval \"cc '$1' $(pkg-config --cflags --libs {' '.join(options)} talentdata) -o '$2'\""
        made = place / "quick start"
        succeed("sh", "-ec", shell, "sh", source, made, env=variables)
        names = output(made, env={**variables, "LD_LIBRARY_PATH": str(runs_with)}).splitlines()
        if len(names) != 25:
            raise Failure(f"the quick start, linked {options or 'dynamically'}, printed {len(names)} names and not 25")


def debian(debs, root, sandbox):
    """Installs the packages into an empty tree, uses the program, upgrades, and removes them without a trace."""
    state = root / "var/lib/dpkg"
    for folder in ("info", "updates", "triggers"):
        (state / folder).mkdir(parents=True)
    for file in ("status", "available"):
        (state / file).touch()
    # The tree contains no other package, not even dependencies.
    dpkg = ["dpkg", f"--root={root}", "--force-not-root", "--force-depends", "--force-bad-path", "--log=/dev/null"]
    before = installed(root)
    for _ in ("install", "upgrade"):
        succeed(*dpkg, "--install", *debs, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    program = root / "usr/bin/talentdata"
    export = [program, "export", "contacts", "--out", "-"]
    records = output(*export, env=sandbox.variables, stderr=subprocess.DEVNULL).splitlines()
    if len(records) != 25:
        raise Failure(f"the installed program exported {len(records)} contacts and not 25")
    names = [output("dpkg-deb", "--field", deb, "Package").strip() for deb in debs]
    if not all((root / "usr/share/doc" / name / "copyright").is_file() for name in names):
        raise Failure(f"one of {names} has no copyright file")
    succeed(*dpkg, "--purge", *names, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if left := installed(root) - before:
        raise Failure(f"the packages leave {sorted(left)} behind")
    if shutil.which("lintian"):
        succeed("lintian", "--fail-on", "error,warning", *debs)
    for tool in ("lintian", "debootstrap"):
        if not shutil.which(tool):
            print(f"{tool} is not installed: its part is NOT RUN", flush=True)


def installed(root):
    return {str(Path(file).relative_to(root)) for file in root.rglob("*") if "var/lib/dpkg" not in str(file)}
