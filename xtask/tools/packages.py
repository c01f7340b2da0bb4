"""Creates the distributed packages from built files: tarballs, Debian packages, and the checksums of all.

The packages are reproducible: entries are sorted, belong to root, and have the time of the last commit.
"""

import base64
import gzip
import hashlib
import os
import platform
import re
import shutil
import tarfile
import time
import zipfile
from pathlib import Path

import notices
from commands import ROOT, VERSION, output, succeed

#: The completions of each shell, in the folders that the shell searches below a prefix.
COMPLETIONS = {
    "bash": "share/bash-completion/completions/talentdata",
    "fish": "share/fish/vendor_completions.d/talentdata.fish",
    "zsh": "share/zsh/site-functions/_talentdata",
}
#: The licences of our own code, which each package contains.
LICENCES = ("LICENSE-MIT", "LICENSE-APACHE")
SHIPPING = """# What to ship with a program that uses libtalentdata

- Linked statically (`pkg-config --static`, CMake `talentdata::static`): nothing but the program.
- Linked dynamically: `lib/{soname}` next to the program, and `-Wl,-rpath,'$ORIGIN'` when you link it.
- The C library of the system, glibc {glibc} or later, and `libgcc_s.so.1` of GCC. Every Linux distribution has both.
- The system's certificates, on Debian the package `ca-certificates`. They are read when the program runs.
- `share/doc/talentdata/THIRD-PARTY-NOTICES.txt` and one of our licences: show them as your program shows others.

This folder can be moved. CMake finds it by `CMAKE_PREFIX_PATH`, pkg-config by `PKG_CONFIG_PATH=FOLDER/lib/pkgconfig`.
Programs that load ADBC drivers by their names: `share/talentdata/talentdata.toml` says what to do with it.
"""


def epoch():
    """Returns the time of all packed files, in seconds since 1970."""
    return int(os.environ.get("SOURCE_DATE_EPOCH") or output("git", "log", "-1", "--format=%ct", cwd=ROOT))


def glibc(file):
    """Returns the oldest version of glibc with which a built file runs, as a pair of numbers."""
    versions = re.findall(r"\bGLIBC_(\d+)\.(\d+)", output("objdump", "-T", file))
    return max((int(major), int(minor)) for major, minor in versions)


def program(made, prefix):
    """Installs the command line: the program, a manual page for each command, completions, notices and licences."""
    for folder in ("bin", "share/doc/talentdata", *(str(Path(one).parent) for one in COMPLETIONS.values())):
        (prefix / folder).mkdir(parents=True, exist_ok=True)
    talentdata = prefix / "bin/talentdata"
    shutil.copy(made["talentdata"], talentdata)
    succeed(made["man"], prefix / "share/man/man1")
    for shell, place in COMPLETIONS.items():
        (prefix / place).write_text(output(talentdata, "completions", shell))
    document("talentdata-cli", prefix / "share/doc/talentdata")


def document(package, directory):
    """Writes our licences, the notices and the bill of materials of a package into a folder."""
    notices.write(package, directory)
    for name in LICENCES:
        shutil.copy(ROOT / name, directory)


def shipping(prefix, soname):
    """Writes a file into an installed C library that lists the files to ship with a program."""
    text = SHIPPING.format(soname=soname, glibc="{}.{}".format(*glibc(prefix / "lib" / soname)))
    (prefix / "README.md").write_text(text)
    shutil.copytree(ROOT / "bindings/c/examples", prefix / "share/doc/talentdata/examples", dirs_exist_ok=True)


def tarball(tree, directory, name, level=9):
    """Packs a tree as one folder, and returns the archive."""
    folder = f"{name}-{VERSION}-linux-{platform.machine()}"
    packed = directory / f"{folder}.tar.gz"
    moment = epoch()

    def plain(entry):
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        entry.mtime = moment
        entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
        return entry

    with (
        open(packed, "wb") as file,
        gzip.GzipFile("", "wb", level, fileobj=file, mtime=moment) as stream,
        tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT) as archive,
    ):
        archive.add(tree, folder, filter=plain)
    return packed


def debs(program_tree, library_tree, soname, work, directory, level):
    """Packs both trees as three Debian packages: the command line, the shared library, and the development files."""
    library = f"libtalentdata{soname.rpartition('.')[2]}"
    oldest = "{}.{}".format(*glibc(library_tree / "lib" / soname))
    runs_with = f"libc6 (>= {oldest}), libgcc-s1, ca-certificates"
    command, shared, development = (work / name / "usr" for name in ("talentdata", library, "libtalentdata-dev"))
    shutil.copytree(program_tree, command)
    for page in (command / "share/man").rglob("*.1"):
        page.with_name(f"{page.name}.gz").write_bytes(gzip.compress(page.read_bytes(), mtime=0))
        page.unlink()
    shutil.copytree(library_tree, development, symlinks=True)
    # Each file belongs to one package. The folder for documents has the name of its package.
    documents = development / "share/doc/talentdata"
    (development / "README.md").rename(documents / "README.md")
    documents.rename(development / "share/doc/libtalentdata-dev")
    document("talentdata-ffi-c", shared / "share/doc" / library)
    manifest, drivers = development / "share/talentdata/talentdata.toml", shared.parent / "etc/adbc/drivers"
    drivers.mkdir(parents=True)
    # The comment in the manifest is for manual installation, and is removed.
    lines = [line for line in manifest.read_text().splitlines(True) if not line.startswith("#")]
    (drivers / manifest.name).write_text("".join(lines).replace("FOLDER", "/usr"))
    manifest.unlink()
    (shared / "lib").mkdir()
    for file in (development / "lib").glob("libtalentdata.so.*"):
        if file.suffix != ".debug":
            file.rename(shared / "lib" / file.name)
    return [
        deb(command.parent, directory, level, "utils", runs_with, "command line of the talent data service"),
        deb(shared.parent, directory, level, "libs", runs_with, "client library of the talent data service"),
        deb(
            development.parent,
            directory,
            level,
            "libdevel",
            f"{library} (= {VERSION})",
            "files to compile with libtalentdata",
        ),
    ]


def deb(root, directory, level, section, depends, summary):
    """Packs a tree as a Debian package with the name of the tree."""
    documents = root / "usr/share/doc" / root.name
    parts = [documents / name for name in (*LICENCES, "THIRD-PARTY-NOTICES.txt")]
    (documents / "copyright").write_text("\n\n".join(part.read_text() for part in parts))
    for part in parts:
        part.unlink()
    for entry in root.rglob("*"):
        if not entry.is_symlink():
            entry.chmod(0o755 if entry.is_dir() or entry.parent.name == "bin" else 0o644)
    files = [file for file in sorted(root.rglob("*")) if file.is_file() and not file.is_symlink()]
    sums = [f"{hashlib.md5(file.read_bytes()).hexdigest()}  {file.relative_to(root)}\n" for file in files]
    fields = {
        "Package": root.name,
        "Version": VERSION,
        "Architecture": output("dpkg", "--print-architecture").strip(),
        # There is no mail address yet.
        "Maintainer": "The talentdata maintainers <talentdata@invalid>",
        "Section": section,
        "Priority": "optional",
        "Installed-Size": sum(file.stat().st_size for file in files) // 1024,
        "Depends": depends,
        "Description": f"{summary}\n Reads every record of a list at the full rate, with proof that none is missing.",
    }
    control = root / "DEBIAN"
    control.mkdir(mode=0o755)
    (control / "md5sums").write_text("".join(sums))
    (control / "control").write_text("".join(f"{key}: {value}\n" for key, value in fields.items()))
    if settings := [f"/{file.relative_to(root)}\n" for file in files if file.is_relative_to(root / "etc")]:
        (control / "conffiles").write_text("".join(settings))
    if section == "libs":
        (control / "triggers").write_text("activate-noawait ldconfig\n")
    packed = directory / f"{root.name}_{VERSION}_{fields['Architecture']}.deb"
    variables = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch())}
    succeed("dpkg-deb", "--root-owner-group", "-Zgzip", f"-z{level}", "--build", root, packed, env=variables)
    return packed


def complete_wheel(wheel):
    """Adds the notices and our bill of materials to a wheel, and packs it so that the same files give the same bytes."""
    with zipfile.ZipFile(wheel) as archive:
        files = {entry.filename: (archive.read(entry), entry.external_attr) for entry in archive.infolist()}
    record = next(name for name in files if name.endswith(".dist-info/RECORD"))
    folder, described = record.removesuffix("RECORD"), notices.linked("talentdata-py")
    ordinary, name = files.pop(record)[1], "THIRD-PARTY-NOTICES.txt"
    metadata = (
        files[f"{folder}METADATA"][0].decode().replace("License-File:", f"License-File: {name}\nLicense-File:", 1)
    )
    for file, text in {
        "METADATA": metadata,
        f"licenses/{name}": notices.notices(described),
        "sboms/talentdata-py.cyclonedx.json": notices.sbom("talentdata-py", described),
    }.items():
        files[folder + file] = text.encode(), ordinary
    files = dict(sorted(files.items()))
    hashes = {name: base64.urlsafe_b64encode(hashlib.sha256(data).digest()) for name, (data, _) in files.items()}
    lines = [f"{name},sha256={hashes[name].decode().rstrip('=')},{len(data)}\n" for name, (data, _) in files.items()]
    files[record] = "".join([*lines, f"{record},,\n"]).encode(), ordinary
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, (data, attributes) in files.items():
            entry = zipfile.ZipInfo(name, time.gmtime(epoch())[:6])
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, attributes
            archive.writestr(entry, data)


def handed_out(directory):
    """Returns the packages of this version in a directory, in which Cargo also keeps files of its builds."""
    files = [*directory.glob(f"*{VERSION}*"), *directory.glob(f"python/*{VERSION}*")]
    return sorted(file for file in files if file.name.endswith((".whl", ".tar.gz", ".deb")))


def checksums(directory):
    """Writes SHA256SUMS for the packages in a directory."""
    files = handed_out(directory)
    lines = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.relative_to(directory)}\n" for file in files]
    (directory / "SHA256SUMS").write_text("".join(lines))
