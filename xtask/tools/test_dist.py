"""The parts `packages` and `dist` of the tests: they try the distributed packages as users do.

`packages` packs the build of the part `rust`. `dist` tries the result of `cargo xtask dist`.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path

import dist
import notices
import packages
from commands import PYTHON_TESTS, Failure, build, environment, output, succeed, target, within
from test_c import BUILD, tools
from test_services import Sandbox

#: The first program of a new user: three lines that show a frame.
FRAME = """
import talentdata
with talentdata.Sandbox(records={"contacts": 25}) as sandbox, sandbox.client() as client:
    print(client.contacts.list().to_polars())
"""
IMPORT = "import time; began = time.perf_counter(); import talentdata; print(time.perf_counter() - began)"
#: The maximum times, in seconds, for importing the wheel, and for installing it and showing a frame.
IMPORTED, SHOWN = 0.05, 60
#: The largest sizes in bytes, by the ends of names: of the wheel, and of the unpacked library and program.
SIZES = {".whl": 7e6, f"lib/libtalentdata.so.{dist.VERSION}": 10e6, "bin/talentdata": 14e6}
#: The built files, each with its notices and its bill of materials, by the ends of their names.
NOTICED = [
    ("/_talentdata.abi3.so", "/licenses/THIRD-PARTY-NOTICES.txt", "/talentdata-py.cyclonedx.json"),
    ("bin/talentdata", "doc/talentdata/THIRD-PARTY-NOTICES.txt", "/talentdata-cli.cyclonedx.json"),
    (f"/libtalentdata.so.{dist.VERSION}", "doc/talentdata/THIRD-PARTY-NOTICES.txt", "/talentdata-ffi-c.cyclonedx.json"),
    (
        f"/libtalentdata_sandbox.so.{dist.VERSION}",
        "sandbox/THIRD-PARTY-NOTICES.txt",
        "/talentdata-ffi-sandbox.cyclonedx.json",
    ),
]


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
    return tried(packed)


def run():
    """Tries the result of `cargo xtask dist`, and compares it with SHA256SUMS."""
    directory = target() / "dist"
    succeed("sha256sum", "--quiet", "--check", "SHA256SUMS", cwd=directory)
    found = {"cli": list(directory.glob("talentdata-*.gz")), "c": list(directory.glob("libtalentdata-*.gz"))}
    found["deb"] = list(directory.glob("*.deb"))
    found["python"] = list(directory.glob("python/*.whl"))
    if missing := [part for part, files in found.items() if not files]:
        raise Failure(f"target/dist does not contain the parts {', '.join(missing)}; run `cargo xtask dist` first")
    left = tried({"cli": found["cli"][0], "c": found["c"][0], "deb": found["deb"]})
    wheel(found["python"][0], target() / "packages/tried here/python")
    inspect([found["python"][0], found["cli"][0], found["c"][0]])
    return left


def contents(file):
    """Returns the files in a wheel or in a tarball by their names, and the archive itself by its own."""
    out = {file.name: file.read_bytes()}
    if file.suffix == ".whl":
        with zipfile.ZipFile(file) as archive:
            out.update({name: archive.read(name) for name in archive.namelist()})
    else:
        with tarfile.open(file) as archive:
            out.update({entry.name: archive.extractfile(entry).read() for entry in archive if entry.isfile()})
    return out


def inspect(files):
    """Checks the contents of the wheel and the tarballs: sizes, and the notices and bills of materials of the built files."""
    archives, found = [contents(file) for file in files], {}
    for end in SIZES:
        found[end] = next(len(data) for held in archives for name, data in held.items() if name.endswith(end))
    for ends in NOTICED:
        parts = [[data for name, data in held.items() if name.endswith(end)] for held in archives for end in ends]
        whole = [parts[at : at + 3] for at in range(0, len(parts), 3) if all(parts[at : at + 3])]
        built, notice, bill = (data[0] for data in whole[0])
        if missing := notices.unnamed(built, notice.decode(), bill):
            raise Failure(f"the notices or the bill of materials of {ends[0]} do not name {missing}")
    for end, size in found.items():
        print(f"{end}: {size / 1e6:.1f} MB of at most {SIZES[end] / 1e6:.0f}", flush=True)
    if over := [end for end, size in found.items() if size > SIZES[end]]:
        raise Failure(f"{', '.join(over)} is larger than its limit")


def wheel(made, place):
    """Installs the wheel into an empty environment that finds no compiler, and shows a frame within the time for it."""
    inspected = environment(target() / "distribution/tools", dist.TOOLS)
    tag = f"manylinux_{dist.GLIBC.replace('.', '_')}"
    said = output(inspected / "auditwheel", "show", made, env=within(inspected))
    if f'platform tag:\n"{tag}' not in said.replace(" tag: ", " tag:\n"):
        raise Failure(f"auditwheel finds that {made.name} is not for {tag}:\n{said}")
    succeed(inspected / "abi3audit", "--strict", made, env=within(inspected))
    polars = re.findall(r"^polars.*", PYTHON_TESTS.read_text(), re.M)
    began = time.monotonic()
    succeed(sys.executable, "-m", "venv", place)
    alone = {"PATH": str(place / "bin"), "HOME": str(place), "XDG_RUNTIME_DIR": os.environ["XDG_RUNTIME_DIR"]}
    if found := [tool for tool in ("cargo", "cc", "gcc", "rustc") if shutil.which(tool, path=alone["PATH"])]:
        raise Failure(f"the environment has {found}; the wheel would not be tried without")
    # The settings for the package index are kept, unlike the rest of the user's environment.
    index = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    succeed(place / "bin/pip", "install", "--quiet", made, *polars, cwd=place, env={**alone, **index})
    python = place / "bin/python"
    succeed(python, "-c", FRAME, cwd=place, env=alone)
    shown = time.monotonic() - began
    imported = min(float(output(python, "-c", IMPORT, cwd=place, env=alone)) for _ in range(10))
    print(f"the wheel: a frame after {shown:.0f} s, imported in {imported * 1000:.0f} ms", flush=True)
    if shown > SHOWN or imported > IMPORTED:
        raise Failure(f"allowed are {SHOWN} s to a frame and {IMPORTED * 1000:.0f} ms to import")


def tried(packed):
    """Tries the packages in directories for which they were not built, and whose names contain spaces.

    Returns the names of missing tools, whose parts were not run.
    """
    place = target() / "packages/tried here"
    shutil.rmtree(place, ignore_errors=True)
    program = moved(packed["cli"], place) / "bin/talentdata"
    pages(program)
    with Sandbox(program, "--records", "contacts=25") as sandbox:
        library = moved(packed["c"], place)
        linked(library, library / "share/doc/talentdata/examples", place, sandbox)
        debian(packed["deb"], place / "debian", sandbox)
    return [tool for tool in ("mandoc", "man", "lintian", "debootstrap") if not shutil.which(tool)]


def moved(archive, place):
    """Unpacks an archive, moves its folder, and returns the folder."""
    with tarfile.open(archive) as opened:
        opened.extractall(place, filter="data")
        top = opened.getnames()[0]
    return (place / top).rename(place / f"moved {top}")


def pages(program):
    """Checks that each command in the help has a manual page, which `man` shows without a warning."""
    folder = program.parent.parent / "share/man/man1"
    # The overview also has an example and the help pages.
    verbs = re.findall(r"^  ([a-z][a-z-]*) ", output(program, "-h"), re.M)
    for name in ["talentdata", *(f"talentdata-{verb}" for verb in verbs if verb not in ("help", "talentdata"))]:
        page = folder / f"{name}.1"
        if shutil.which("mandoc"):
            succeed("mandoc", "-Tlint", "-Werror", page)
        shown = shown_page(page) if shutil.which("man") else page.read_text().replace("\\", "")
        if missing := [words for words in ("--base-url", "Exit codes:") if words not in shown]:
            raise Failure(f"{page} does not contain {missing}")


def shown_page(page):
    variables = {**os.environ, "MANPAGER": "cat", "MANWIDTH": "200", "MAN_KEEP_FORMATTING": ""}
    done = subprocess.run(["man", "-l", "--warnings", page], env=variables, capture_output=True, text=True)
    if done.returncode or done.stderr:
        raise Failure(f"man shows {page} with warnings: {done.stderr}")
    return re.sub(".\b", "", done.stdout)


def linked(prefix, examples, place, sandbox):
    """Compiles and runs the quick start with an unpacked library: shared, static, without any shared library, by CMake."""
    source = examples / "quickstart.c"
    variables = {**sandbox.variables, "PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig")}
    for options, runs_with in (("", prefix / "lib"), ("--static", place), ("--static talentdata -static", place)):
        asked, _, flags = options.partition(" talentdata ")
        # The flags of pkg-config quote spaces for a shell.
        shell = f"eval \"cc '$1' $(pkg-config --cflags --libs {asked} talentdata) {flags} -o '$2'\""
        made = place / "quick start"
        succeed("sh", "-ec", shell, "sh", source, made, env=variables)
        greeted(made, {**variables, "LD_LIBRARY_PATH": str(runs_with)}, options or "dynamically")
    built = place / "built by cmake"
    shutil.rmtree(built, ignore_errors=True)
    given = {**variables, **{name: tools()[name] for name in ("PATH",)}}
    succeed("cmake", "-S", examples, "-B", built, f"-DCMAKE_PREFIX_PATH={prefix}", "--log-level=WARNING", env=given)
    succeed(
        "cmake",
        "--build",
        built,
        "--target",
        "quickstart_c",
        "quickstart_c_static",
        env=given,
        stdout=subprocess.DEVNULL,
    )
    for name in ("quickstart_c", "quickstart_c_static"):
        greeted(built / name, variables, f"as {name} by CMake")


def greeted(program, variables, linked_how):
    names = output(program, env=variables).splitlines()
    if len(names) != 25:
        raise Failure(f"the quick start, linked {linked_how}, printed {len(names)} names and not 25")


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
    linked(root / "usr", root / "usr/share/doc/libtalentdata-dev/examples", root.parent, sandbox)
    succeed(*dpkg, "--purge", *names, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if left := installed(root) - before:
        raise Failure(f"the packages leave {sorted(left)} behind")
    if shutil.which("lintian"):
        succeed("lintian", "--fail-on", "error,warning", *debs)


def installed(root):
    return {str(Path(file).relative_to(root)) for file in root.rglob("*") if "var/lib/dpkg" not in str(file)}
