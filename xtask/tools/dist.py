"""`cargo xtask dist`: builds the distributed packages in target/dist, or installs the C library with all files it needs."""

import platform
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from os import environ
from pathlib import Path

import packages
from commands import (
    CARGO,
    PYTHON_PROJECT,
    ROOT,
    VERSION,
    Failure,
    build,
    environment,
    only,
    pip,
    succeed,
    target,
    wheel,
    within,
)

#: The ABI version of the shared libraries, and the name of the first library with it.
ABI = (ROOT / "crates/ffi-c/abi").read_text().strip()
SONAME = f"libtalentdata.so.{ABI}"
#: The shared libraries by their names without an extension, and their built files. The second one is for tests.
SHARED = {"libtalentdata": "libtalentdata.so", "libtalentdata_sandbox": "libtalentdata_sandbox_c.so"}
#: The version of glibc that everything is built for: the oldest of the distributions that still get updates.
GLIBC = "2.17"
#: The packages that build for it, and that inspect wheels.
TOOLS = ROOT / "xtask/dist-requirements.txt"
#: The other installed files, in their installed layout. `.in` files have placeholders for the version and for the
#: libraries of a static link.
LAYOUT = ROOT / "bindings/c/prefix"
#: The required files of the wheel and of the source package, by the ends of their names, and then files that belong in
#: neither.
WHEEL = """talentdata/__init__.py talentdata/_talentdata.abi3.so talentdata/_talentdata.pyi talentdata/py.typed
    talentdata/pytest_plugin.py .dist-info/entry_points.txt .dist-info/licenses/LICENSE-APACHE
    .dist-info/licenses/LICENSE-MIT .dist-info/licenses/THIRD-PARTY-NOTICES.txt .dist-info/sboms/talentdata-py.cyclonedx.json"""
SOURCES = """/crates/py/src/lib.rs /crates/core/src/lib.rs /crates/sandbox/README.md /crates/sandbox/openapi.json
    /talentdata/py.typed /Cargo.lock /pyproject.toml /LICENSE-MIT"""
#: The parts of `dist` that are packed from built files.
PARTS = ["cli", "c", "deb"]
OURS = ["bindings/python/tests/", "talentdata/tests/", ".ipynb"]


def install(made, prefix):
    """Installs a built library. `made` has the paths of its files by name."""
    if not sys.platform.startswith("linux"):
        raise Failure("dist c supports only the names of shared libraries on Linux")
    libraries = native_libraries()
    directory = prefix / "lib"
    directory.mkdir(parents=True, exist_ok=True)
    hide(made["libtalentdata.a"], directory / "libtalentdata.a")
    for name, file in SHARED.items():
        real, versioned, plain = (f"{name}.so{end}" for end in (f".{VERSION}", f".{ABI}", ""))
        # The file is replaced and not overwritten, so that running programs keep the file that they opened.
        (directory / real).unlink(missing_ok=True)
        shutil.copy(made[file], directory / real)
        split(directory / real)
        for link, leads_to in ((versioned, real), (plain, versioned)):
            (directory / link).unlink(missing_ok=True)
            (directory / link).symlink_to(leads_to)
    shutil.copytree(ROOT / "bindings/c/include", prefix / "include", dirs_exist_ok=True)
    # Programs that were built with one version of a series work with all versions of the series.
    parts = VERSION.split(".")
    marks = {
        "VERSION": VERSION,
        "SERIES": f"0.{parts[1]}" if parts[0] == "0" else parts[0],
        "SONAME": SONAME,
        "ABI": ABI,
        "PLATFORM": f"linux_{ {'x86_64': 'amd64', 'aarch64': 'arm64'}.get(platform.machine(), platform.machine()) }",
        "STATIC_LIBS": ";".join(flag[2:] for flag in libraries),
        "STATIC_FLAGS": " ".join(libraries),
    }
    files = {file: file.relative_to(LAYOUT).parent for file in LAYOUT.rglob("*") if file.is_file()}
    for file, place in files.items():
        text = re.sub("@([A-Z_]+)@", lambda mark: marks[mark[1]], file.read_text())
        (prefix / place).mkdir(parents=True, exist_ok=True)
        (prefix / place / file.name.removesuffix(".in")).write_text(text)
    packages.document("talentdata-ffi-c", prefix / "share/doc/talentdata")
    packages.document("talentdata-ffi-sandbox", prefix / "share/doc/talentdata/sandbox")
    print(f"installed libtalentdata {VERSION} into {prefix}", flush=True)


def split(library):
    """Moves the debug symbols of a library into a file next to it, where debuggers and valgrind look for them."""
    debug = library.with_name(f"{library.name}.debug")
    succeed("objcopy", "--only-keep-debug", library, debug)
    succeed("objcopy", "--strip-unneeded", f"--add-gnu-debuglink={debug}", library)


def hide(library, to):
    """Combines a static library into one object, in which only our own names are global.

    A program may have its own SQLite, or its own version of another library that ours contains. Two definitions of a
    name would fail to link, or one would replace the other. The names of functions stay, for debuggers and valgrind.
    """
    with tempfile.TemporaryDirectory() as directory:
        made, archive = Path(directory, "talentdata.o"), Path(directory, "libtalentdata.a")
        succeed("ld", "-r", "--whole-archive", library, "-o", made)
        # Removes the bitcode of Rust's standard library, which `ar` cannot read.
        bitcode = ["--remove-section=.llvmbc", "--remove-section=.llvmcmd"]
        names = ["--wildcard", "--keep-global-symbol=talentdata_*", "--strip-debug"]
        succeed("objcopy", *names, *bitcode, made)
        succeed("ar", "rcs", archive, made)
        shutil.copy(archive, to)


def native_libraries():
    """Returns the linker flags that a static link needs.

    They are those of Rust's standard library, as the compiler reports them for an empty library. The C code of our
    dependencies is in the static library itself.
    """
    command = [environ.get("RUSTC", "rustc"), "--crate-type", "staticlib", "--crate-name", "nothing"]
    with tempfile.TemporaryDirectory() as directory:
        options = {"cwd": directory, "stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
        said = subprocess.run([*command, "--print", "native-static-libs", "-"], **options).stderr
    _, found, flags = said.partition("native-static-libs: ")
    if not found:
        raise Failure(f"{command} named no libraries:\n{said}")
    # `gcc_s` exists only as a shared library. `gcc_eh` also works in a fully static program.
    return list(dict.fromkeys(flags.splitlines()[0].replace("-lgcc_s", "-lgcc_eh").split()))


def python():
    """Builds the wheel and the source package for distribution, and checks the contents of both."""
    directory = target() / "dist/python"
    programs, variables = for_everybody()
    options = ["--profile", "dist", "--zig", "--compatibility", f"manylinux_{GLIBC.replace('.', '_')}"]
    packages.complete_wheel(wheel(programs, directory, *options, **variables))
    succeed(programs / "maturin", "sdist", "--out", directory, cwd=PYTHON_PROJECT, env=within(programs))
    # The same wheel works with every Python from 3.10 on this system.
    made, sources = only(directory, f"talentdata-{VERSION}-cp310-abi3-*.whl"), only(directory, "*.gz")
    held = {made: zipfile.ZipFile(made).namelist(), sources: tarfile.open(sources).getnames()}
    for (package, names), wanted in zip(held.items(), (WHEEL, SOURCES)):
        missing = [one for one in wanted.split() if not any(name.endswith(one) for name in names)]
        foreign = [name for name in names if any(ours in name for ours in OURS)]
        if missing or foreign:
            raise Failure(f"{package} lacks {missing}, or contains files that users do not need: {foreign}")
    # Prepares the source package as an installer does before the build. No package is installed.
    pip(programs, "--dry-run", "--force-reinstall", "--no-deps", "--no-index", "--no-build-isolation", sources)
    print(f"{made}\n{sources}")


def pack(made, parts, work, directory, level=9):
    """Packs built files into a directory: `cli` and `c` are tarballs, `deb` the Debian packages of both.

    Returns the packages by part. `work` is a folder for the unpacked trees, and `level` the compression level.
    """
    shutil.rmtree(work, ignore_errors=True)
    directory.mkdir(parents=True, exist_ok=True)
    command, library, packed = work / "cli", work / "c", {}
    if {"cli", "deb"} & set(parts):
        packages.program(made, command)
    if {"c", "deb"} & set(parts):
        install(made, library)
        packages.shipping(library, SONAME)
    if "cli" in parts:
        packed["cli"] = packages.tarball(command, directory, "talentdata", level)
    if "c" in parts:
        packed["c"] = packages.tarball(library, directory, "libtalentdata", level)
    if "deb" in parts:
        packed["deb"] = packages.debs(command, library, SONAME, work / "deb", directory, level)
    return packed


def for_everybody():
    """Returns the programs that build for others, and their variables.

    The compilers see names in place of this machine's paths, so the same sources give the same bytes in any directory.
    zig compiles the C code and links, because it has the oldest glibc.
    """
    programs = environment(target() / "distribution/tools", TOOLS)
    succeed(CARGO, "fetch", "--locked", cwd=ROOT)
    cargo = Path(environ.get("CARGO_HOME") or Path.home() / ".cargo")
    names = dict.fromkeys(cargo.glob("registry/src/*"), "/cargo/registry/src/crates")
    # The last name that fits is taken: the target directory may be in that of the sources.
    names |= {ROOT: "/talentdata", target(): "/talentdata/target"}
    variables = {
        "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(f"--remap-path-prefix={path}={name}" for path, name in names.items()),
        "CFLAGS": shlex.join(f"-ffile-prefix-map={path}={name}" for path, name in names.items()),
        "CC_SHELL_ESCAPED_FLAGS": "1",
        "CARGO_ZIGBUILD_CACHE_DIR": str(target() / "distribution/zig"),
        "SOURCE_DATE_EPOCH": str(packages.epoch()),
    }
    return programs, variables


def compiled(parts):
    """Builds the files that the parts pack, with the distribution profile."""
    programs, variables = for_everybody()
    variables = {**within(programs), **variables, "verb": "zigbuild"}
    options = ["--profile", "dist", "--target", f"{platform.machine()}-unknown-linux-gnu.{GLIBC}"]
    made = {}
    if {"cli", "deb"} & set(parts):
        # The profile does not matter for the manual pages.
        made.update(build("-p", "talentdata-cli", "--example", "man"))
        made.update(build("-p", "talentdata-cli", "--bin", "talentdata", *options, **variables))
    if {"c", "deb"} & set(parts):
        # The installation splits off their symbols.
        symbols = {"CARGO_PROFILE_DIST_STRIP": "none", "CARGO_PROFILE_DIST_DEBUG": "line-tables-only"}
        # Two builds: together, each would enable features of the other's dependencies.
        for package in ("talentdata-ffi-c", "talentdata-ffi-sandbox"):
            made.update(build("-p", package, "--lib", *options, **variables, **symbols))
    for name in set(made) & {"talentdata", *SHARED.values()}:
        if (needed := packages.glibc(made[name])) > tuple(map(int, GLIBC.split("."))):
            raise Failure(f"{name} needs glibc {'.'.join(map(str, needed))}, and was built for {GLIBC}")
    return made


def main(part="all", *arguments):
    directory = target() / "dist"
    if part == "c" and len(arguments) == 2 and arguments[0] == "--prefix":
        install(compiled(["c"]), Path(arguments[1]))
    elif part in ("all", "python", *PARTS) and not arguments:
        if part in ("all", "python"):
            python()
        if parts := PARTS if part == "all" else [one for one in PARTS if one == part]:
            pack(compiled(parts), parts, target() / "packages/dist", directory)
        packages.checksums(directory)
    else:
        raise Failure("give `dist`, `dist python`, `dist cli`, `dist c`, `dist deb` or `dist c --prefix PREFIX`")


if __name__ == "__main__":
    main(*sys.argv[1:])
