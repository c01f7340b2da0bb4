"""The programs of the bench: release builds of ours, the peers in a separate environment, and the services that they read."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

BENCH = pathlib.Path(__file__).resolve().parent
sys.path.append(str(BENCH.parents[1] / "xtask/tools"))
import dist  # noqa: E402
import test_services  # noqa: E402
from commands import ROOT, Failure, build, environment, install, succeed, target, wheel, within  # noqa: E402, F401
from test_services import Valkey, servers  # noqa: E402, F401

#: The time limit of a program, in seconds, which is longer than any program needs.
LONGEST = 600.0


@dataclass
class Usage:
    """The usage of a program: processor time and elapsed time in seconds, and the peak of its memory in MiB."""

    cpu: float
    wall: float
    peak: float


def run(command, **options):
    """Runs a program to its end. Its memory is read while it runs, because the figure at the end is never less than its parent's."""
    started, peak = time.monotonic(), 0.0
    child = subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL, **options)
    while True:
        peak = high_water_mark(child.pid) or peak
        ended, status, used = os.wait4(child.pid, os.WNOHANG)
        if ended:
            child.returncode = os.waitstatus_to_exitcode(status)
            break
        if time.monotonic() - started > LONGEST:
            child.kill()
            child.wait()
            raise Failure(f"{command} took longer than {LONGEST:.0f} s")
        # The interval is short at first, for short programs, and long later, so that it does not disturb long ones.
        time.sleep(0.002 if time.monotonic() < started + 1 else 0.02)
    if child.returncode:
        raise Failure(f"{command} ended with {child.returncode}")
    return Usage(used.ru_utime + used.ru_stime, time.monotonic() - started, peak or used.ru_maxrss / 1024)


def read(command, **options):
    """Runs a program, and returns its usage and the JSON values of its output lines."""
    out = tempfile.TemporaryFile("w+")
    usage = run(command, stdout=out, **options)
    out.seek(0)
    return usage, map(json.loads, out)


def high_water_mark(process):
    """Returns the peak of the resident memory of a process, in MiB, if the system reports it."""
    try:
        lines = pathlib.Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:")), None)


class Tools:
    """The programs and directories of the bench."""

    def __init__(self):
        self.scratch = target() / "bench"
        self.scratch.mkdir(exist_ok=True)
        packages = [f"--package=talentdata-{name}" for name in ("cli", "core", "columns", "ffi-c", "ffi-sandbox")]
        made = build("--release", *packages, "--lib", "--bins", "--examples")
        self.talentdata, self.scan, self.floor = made["talentdata"], made["bench_scan"], made["bench_floor"]
        self.c_scan, prefix = self.scratch / "scan", self.scratch / "prefix"
        dist.install(made, prefix)
        flags = ["-O2", "-I", prefix / "include", "-L", prefix / "lib", f"-Wl,-rpath,{prefix}/lib", "-ltalentdata"]
        succeed("cc", BENCH / "scan.c", "-o", self.c_scan, *flags)
        self.bin = environment(target() / "bench-venv", BENCH / "requirements.txt")
        install(self.bin, wheel(self.bin, self.scratch / "wheel", "--profile", "release"))
        generate = ["generate", "--overwrite", "--meta", "none", "--path", "spec/openapi.json"]
        place = ["--config", BENCH / "generator.yaml", "--output-path", self.scratch / "generated_client"]
        succeed(self.bin / "openapi-python-client", *generate, *place, cwd=ROOT, env=within(self.bin))
        self.valkey = servers()["TALENTDATA_VALKEY_SERVER"]
        self.variables = {
            **os.environ,
            "NO_PROXY": "127.0.0.1",
            "PYTHONPATH": str(self.scratch),
            "PYTHONDONTWRITEBYTECODE": "1",
            # These clients do not share the budgets of the user.
            "XDG_RUNTIME_DIR": str(self.scratch),
        }

    def python(self, program, *arguments):
        """Returns the command of a Python program, which is given by its path in tests/bench."""
        return [self.bin / "python", BENCH / program, *arguments]

    def peer(self, way, *arguments):
        return self.python("peers.py", way, *arguments)

    def export(self, form, out):
        return [self.talentdata, "export", "contacts", "--paced", "false", "--format", form, "--out", out]


class Sandbox(test_services.Sandbox):
    """The service as a child process, and its log of requests."""

    def __init__(self, tools, *arguments, **options):
        flags = [f"--{name.replace('_', '-')}={value}" for name, value in options.items() if value is not None]
        super().__init__(tools.talentdata, *arguments, *flags, variables=tools.variables)

    def arrivals(self):
        """Returns the times at which requests of the client arrived, in seconds."""
        log = self.ask("/__requests")
        if log["dropped"]:
            raise Failure("the log of requests is not complete")
        own = [one for one in log["requests"] if one["headers"].get("user-agent") != "neighbour"]
        return [one["at_ms"] / 1000 for one in own]
