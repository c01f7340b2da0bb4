"""The common functions of the tools: commands, cargo, and virtual environments."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CARGO = os.environ.get("CARGO", "cargo")
VERSION = re.search(r'^version = "(.+)"', (ROOT / "Cargo.toml").read_text(), re.M)[1]
PYTHON_PROJECT = ROOT / "bindings/python"
PYTHON_TESTS = PYTHON_PROJECT / "tests/requirements.txt"


class Failure(SystemExit):
    """The reason why a tool cannot continue, as a sentence. It ends the tool."""


def succeed(*command, **options):
    """Runs a command. Its output is passed through unless the options redirect it."""
    command = [str(part) for part in command]
    try:
        done = subprocess.run(command, **options)
    except OSError as error:
        raise Failure(f"cannot run {shlex.join(command)}: {error}") from None
    if done.returncode:
        raise Failure(f"{shlex.join(command)} ended with {done.returncode}")
    return done.stdout


def output(*command, **options):
    """Runs a command and returns its output."""
    return succeed(*command, stdout=subprocess.PIPE, text=True, **options)


def metadata():
    """Returns cargo's description of the workspace."""
    return json.loads(output(CARGO, "metadata", "--locked", "--no-deps", "--format-version=1", cwd=ROOT))


def target():
    """Returns cargo's target directory, which the user may have configured."""
    return Path(metadata()["target_directory"])


def build(*arguments, verb="build", **variables):
    """Builds with cargo and returns the paths of the built files by name."""
    command = [CARGO, verb, "--locked", "--message-format=json-render-diagnostics", *arguments]
    messages = output(*command, cwd=ROOT, env={**os.environ, **variables})
    files = [name for line in messages.splitlines() for name in json.loads(line).get("filenames", [])]
    return {Path(name).name: Path(name) for name in files}


def environment(directory, requirements=None):
    """Returns the directory of the programs of a virtual environment.

    The environment has the packages of a list, which pins all dependencies. It is created again if the list has
    changed.
    """
    noted = directory / "requirements.txt"
    if requirements and noted.exists() and noted.read_text() == requirements.read_text():
        return directory / "bin"
    succeed(sys.executable, "-m", "venv", "--clear", directory)
    if requirements:
        pip(directory / "bin", "--no-deps", "--requirement", requirements)
        shutil.copy(requirements, noted)
    return directory / "bin"


def within(programs):
    """Returns the environment variables for a command in a virtual environment."""
    out = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "VIRTUAL_ENV": str(programs.parent)}
    out.pop("PYTHONPATH", None)
    return out


def pip(programs, *arguments):
    succeed(programs / "python", "-m", "pip", "install", "--quiet", "--no-compile", *arguments, env=within(programs))


def wheel(programs, directory, *options, **variables):
    """Builds the wheel of the Python package in an emptied directory, and returns its path."""
    shutil.rmtree(directory, ignore_errors=True)
    command = [programs / "maturin", "build", "--quiet", "--locked", *options, "--out", directory]
    succeed(*command, cwd=PYTHON_PROJECT, env={**within(programs), **variables})
    return only(directory, "*.whl")


def install(programs, package):
    """Installs a wheel in place of an earlier one, without its dependencies and without a package index."""
    pip(programs, "--force-reinstall", "--no-deps", "--no-index", package)


def only(directory, pattern):
    files = list(directory.glob(pattern))
    if len(files) != 1:
        raise Failure(f"{directory} does not hold one {pattern}")
    return files[0]
