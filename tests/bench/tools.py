"""What the bench runs: our programs built for release, the peers in an environment of their own, and the services they read."""

import json
import os
import pathlib
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parents[2]
BENCH = ROOT / "tests/bench"
#: Longer than any program needs.
LONGEST = 600.0


class Failure(Exception):
    """Something that cannot be measured, in words."""


@dataclass
class Usage:
    """What a program has used: seconds of processor and of clock, and MiB of memory at most."""

    cpu: float
    wall: float
    peak: float


def run(command, codes=(0,), longest=LONGEST, **options):
    """Runs a program to its end. Its memory is read while it runs, because the figure at the end is never less than its parent's."""
    started, peak = time.monotonic(), 0.0
    child = subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL, **options)
    while True:
        peak = high_water_mark(child.pid) or peak
        ended, status, used = os.wait4(child.pid, os.WNOHANG)
        if ended:
            child.returncode = os.waitstatus_to_exitcode(status)
            break
        if time.monotonic() - started > longest:
            child.kill()
            child.wait()
            raise Failure(f"{command} took longer than {longest:.0f} s")
        time.sleep(0.002)
    if child.returncode not in codes:
        raise Failure(f"{command} ended with {child.returncode}")
    return Usage(used.ru_utime + used.ru_stime, time.monotonic() - started, peak or used.ru_maxrss / 1024)


def high_water_mark(process):
    """The largest resident memory of a process until now, in MiB, where the system tells it."""
    try:
        lines = pathlib.Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:")), None)


def succeed(command, **options):
    subprocess.run([str(part) for part in command], check=True, **options)


def environment(directory, requirements):
    """The programs of a virtual environment with pinned packages, made anew when the list has changed."""
    noted = directory / "requirements.txt"
    if not noted.exists() or noted.read_text() != requirements.read_text():
        succeed([sys.executable, "-m", "venv", "--clear", directory])
        succeed([directory / "bin/python", "-m", "pip", "install", "--quiet", "--no-deps", "-r", requirements])
        noted.write_text(requirements.read_text())
    return directory / "bin"


class Tools:
    """Programs and directories."""

    def __init__(self):
        cargo = os.environ.get("CARGO", "cargo")
        metadata = [cargo, "metadata", "--locked", "--no-deps", "--format-version=1"]
        target = pathlib.Path(json.loads(subprocess.check_output(metadata, cwd=ROOT))["target_directory"])
        self.scratch = target / "bench"
        self.scratch.mkdir(exist_ok=True)
        release = target / "release"
        packages = ["-p", "talentdata-cli", "-p", "talentdata-core", "-p", "talentdata-ffi-c"]
        succeed([cargo, "build", "--locked", "--release", *packages, "--lib", "--bins", "--examples"], cwd=ROOT)
        self.talentdata = release / "talentdata"
        self.scan, self.floor = release / "examples/bench_scan", release / "examples/bench_floor"
        self.c_scan = self.scratch / "scan"
        library = release / "libtalentdata.so"
        said = subprocess.check_output(["objdump", "-p", library], text=True)
        soname = next((line.split()[1] for line in said.splitlines() if "SONAME" in line), library.name)
        beside = self.scratch / soname
        beside.unlink(missing_ok=True)
        beside.symlink_to(library)
        headers = ["-I", ROOT / "bindings/c/include"]
        succeed(["cc", "-O2", *headers, BENCH / "scan.c", "-o", self.c_scan, beside, f"-Wl,-rpath,{self.scratch}"])
        self.bin = environment(target / "bench-venv", BENCH / "requirements.txt")
        wheels = self.scratch / "wheel"
        for wheel in wheels.glob("*.whl"):
            wheel.unlink()
        path = {**os.environ, "PATH": f"{self.bin}:{os.environ['PATH']}", "VIRTUAL_ENV": str(self.bin.parent)}
        build = [self.bin / "maturin", "build", "--quiet", "--locked", "--profile", "release", "--out", wheels]
        succeed(build, cwd=ROOT / "bindings/python", env=path)
        install = ["-m", "pip", "install", "--quiet", "--force-reinstall", "--no-deps", "--no-index"]
        succeed([self.bin / "python", *install, *wheels.glob("*.whl")])
        generate = ["generate", "--overwrite", "--meta", "none", "--path", "spec/openapi.json"]
        output = ["--config", BENCH / "generator.yaml", "--output-path", self.scratch / "generated_client"]
        succeed([self.bin / "openapi-python-client", *generate, *output], cwd=ROOT, env=path)
        servers = environment(target / "servers", ROOT / "crates/core/tests/requirements.txt").parent
        self.valkey = next(path for path in servers.rglob("valkey-server") if path.is_file())
        self.variables = {
            **os.environ,
            "NO_PROXY": "127.0.0.1",
            "PYTHONPATH": str(self.scratch),
            "PYTHONDONTWRITEBYTECODE": "1",
            # The budgets that these clients share are not those of the user.
            "XDG_RUNTIME_DIR": str(self.scratch),
        }

    def python(self, program, *arguments):
        """A program in Python, by its path below tests/bench."""
        return [self.bin / "python", BENCH / program, *arguments]

    def export(self, form, out):
        return [self.talentdata, "export", "contacts", "--paced", "false", "--format", form, "--out", out]


class Sandbox:
    """The service, as a child process."""

    def __init__(self, tools, *arguments, **options):
        flags = [f"--{name.replace('_', '-')}={value}" for name, value in options.items() if value is not None]
        command = [tools.talentdata, "sandbox", "--until-stdin-closes", *arguments, *flags]
        self.child = subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        said = json.loads(self.child.stdout.readline())
        self.base_url = said["base_url"]
        keys = {"TALENTDATA_BASE_URL": "base_url", "TALENTDATA_CLIENT_ID": "client_id", "TALENTDATA_CLIENT_SECRET": "client_secret"}
        self.variables = {**tools.variables, **{name: said[key] for name, key in keys.items()}}

    def get(self, path):
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(self.base_url + path, timeout=60) as answer:
            return json.load(answer)

    def arrivals(self):
        """When each request of the client came, in seconds."""
        log = self.get("/__requests")
        if log["dropped"]:
            raise Failure("the log of requests is not complete")
        own = [one for one in log["requests"] if one["headers"].get("user-agent") != "neighbour"]
        return [one["at_ms"] / 1000 for one in own]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.kill()
        self.child.communicate()


class Valkey:
    """A server on a free port, on which hosts share a budget."""

    def __init__(self, tools):
        import socket

        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        options = ["--bind", "127.0.0.1", "--save", "", "--protected-mode", "no", "--port", str(port)]
        self.child = subprocess.Popen([tools.valkey, *options], stdout=subprocess.DEVNULL)
        self.url = f"redis://127.0.0.1:{port}"
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(0.05)
        raise Failure(f"{tools.valkey} takes no connections")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.kill()
        self.child.wait()


class Hosts:
    """Network namespaces, from each of which 127.0.0.1 is this machine: the client sends its secret without TLS to nowhere else."""

    COUNT = 3
    SCRIPT = """set -e
ip link add {near} type veth peer name {far} netns {process}
echo 1 > /proc/sys/net/ipv4/conf/{near}/route_localnet
ip addr add {here}/24 dev {near}
ip link set {near} up
nsenter --target {process} --net -- sh -ec '
ip addr add {there}/24 dev {far}
echo 1 > /proc/sys/net/ipv4/conf/{far}/route_localnet
ip link set {far} up
ip route add 127.0.0.1/32 via {here} dev {far} src {there}'"""

    def __init__(self):
        self.holders = []
        try:
            for number in range(self.COUNT):
                self.holders.append(subprocess.Popen(["unshare", "--net", "cat"], stdin=subprocess.PIPE))
                self.connect(number, self.holders[-1].pid)
        except BaseException:
            self.close()
            raise

    def connect(self, number, process):
        here = os.readlink("/proc/self/ns/net")
        for _ in range(200):
            if os.readlink(f"/proc/{process}/ns/net") != here:
                break
            time.sleep(0.01)
        near, net = f"tdbench{number}", f"198.18.{number}"
        script = self.SCRIPT.format(near=near, far=near + "c", process=process, here=f"{net}.1", there=f"{net}.2")
        succeed(["sh", "-c", script])

    def on(self, number, command):
        """The command on the host of this number, counted around."""
        process = self.holders[number % self.COUNT].pid
        return ["nsenter", "--target", process, "--net", "--", *command]

    def close(self):
        for holder in self.holders:
            holder.kill()
            holder.wait()
