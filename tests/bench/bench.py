"""Compares this client with others on the sandbox. `cargo xtask bench` runs it, and it writes tests/bench/RESULTS.md.

Usage: bench.py [SECTION] [--quick]. With SECTION, only the tables of that section are measured and
replaced. A quick run measures less, prints its tables, and does not change the file.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import median
from types import SimpleNamespace

import instructions
from tools import BENCH, Failure, Sandbox, Tools, Valkey, read, run

RESULTS = BENCH / "RESULTS.md"
#: The documented limit, and the part of it that another client of the company uses, in requests per second.
LIMIT, NEIGHBOUR = 40, 10
#: The counting rules of the sandbox. Each runs with resets in whole seconds, rounded up.
POLICIES = ["clock-window", "first-request-window", "sliding-log", "sliding-counter", "token-bucket"]


@dataclass
class Size:
    """The size of a run: full pages with a rate limit, records without one, and repetitions of each way."""

    pages: int
    records: int
    rounds: int


def table(titles, rows):
    lines = [titles, ["---"] + ["---:"] * (len(titles) - 1), *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def percent(part):
    return f"{100 * part:.1f} %"


def spread(values):
    values = list(values)
    return f"{median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def refusals(share, refused):
    return percent(share) + (f", {refused} × 429" if refused else "")


def at_once(work, items):
    """Runs the work for all items at the same time."""
    items = list(items)
    with ThreadPoolExecutor(len(items)) as pool:
        return list(pool.map(work, items))


# With the rate limit: the share of it that each client uses, the costs, and the lost records.


#: The clients of a group run at the same time. Clients that compute a lot would disturb the timing of the others, so
#: they have a group of their own.
GROUPS = [
    {
        "talentdata, command line": lambda tools: [tools.talentdata, "export", "contacts", "--out", "-"],
        "talentdata, Rust": lambda tools: [tools.scan, "lines"],
    },
    {
        "serial by the documented rule, httpx": lambda tools: tools.peer("serial"),
        "asyncio with a limiter of 40/s, aiohttp": lambda tools: tools.peer("limited"),
        "openapi-python-client, serial": lambda tools: tools.peer("generated"),
    },
]


def limited(tools, policy, latency, records, work, neighbour=False, drift=None):
    """Returns the results of work on a limited sandbox, its served and refused requests, and the used share of the limit."""
    options = {"policy": policy, "latency_ms": latency, "drift": drift, "records": f"contacts={records}"}
    with Sandbox(tools, "--faults", "--rounding=up", **options) as sandbox:
        other = None
        if neighbour:
            command = [str(part) for part in tools.peer("neighbour")]
            other = subprocess.Popen(command, env=sandbox.variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            time.sleep(2)
        try:
            done = work(sandbox)
        finally:
            said = other.communicate()[0] if other else b'{"requests": 1, "refused": 0}'
        others = json.loads(said)
        refused = sandbox.ask("/__stats")["limited"] - others["refused"]
        times = sandbox.arrivals()
    served = len(times) - refused
    share = served / (times[-1] - times[0] + latency / 1000) / LIMIT
    neighbour_served = 1 - others["refused"] / max(others["requests"], 1)
    return SimpleNamespace(**done, served=served, refused=refused, share=share, neighbour_served=neighbour_served)


def meet(tools, policy, latency, records, drift=None, **options):
    """Lets each client read the contacts of its own sandbox. All sandboxes have the same settings."""

    def trial(client):
        name, program = client

        def work(sandbox):
            usage, contacts = read(program(tools), env=sandbox.variables)
            ids = Counter(one["id"] for one in contacts)
            # Records that were added or removed during the scan may be delivered; all others must be.
            changes = sandbox.ask("/__changes?list=contacts")["changes"]
            inserted, deleted = ({one["key"] for one in changes if one["op"] == op} for op in ("insert", "delete"))
            lost = records - len(deleted - inserted) - len(set(ids) - inserted - deleted)
            return {"usage": usage, "records": ids.total(), "lost": lost, "repeated": ids.total() - len(ids)}

        told = limited(tools, policy, latency, records, work, drift=drift, **options)
        print(policy, f"{latency} ms", name, percent(told.share), told, sep=", ", file=sys.stderr)
        return name, told

    return dict(one for group in GROUPS for one in at_once(trial, group.items()))


def budget(tools, size):
    records = 100 * size.pages
    latencies = [20, 100]
    rounds = {(latency, policy): meet(tools, policy, latency, records) for latency in latencies for policy in POLICIES}
    # Long enough for the client to detect the rest of the limit.
    beside = meet(tools, POLICIES[0], latencies[0], 3 * records, neighbour=True)
    # If equal numbers of records are added and removed at once, they look like records that move, which proves nothing.
    changing = meet(tools, POLICIES[0], latencies[0], records, drift="every=5,inserts=2,deletes=1")
    names = list(beside)
    text = (
        f"{records:,} contacts, read from a cold start and written as JSON Lines; resets are rounded up. The share is that of "
        "the requests the service answered with 200, the one for a token included, per second from the first request to the "
        "last response, in the limit of 40 per second.\n"
    )
    for latency in latencies:
        of = lambda name: [rounds[latency, policy][name] for policy in POLICIES]
        rows = [[name, *(refusals(one.share, one.refused) for one in of(name))] for name in names]
        text += f"\n### Share of the limit, round trip {latency} ms\n\n{table(['Client', *POLICIES], rows)}"
    rows = []
    for name in names:
        trials = [one[name] for one in rounds.values()]
        sums = [sum(getattr(one, figure) for one in trials) for figure in ("refused", "lost", "repeated")]
        cpu = median(one.usage.cpu * 100_000 / max(one.records, 1) for one in trials)
        rows.append([name, *sums, f"{cpu:.2f}", f"{median(one.usage.peak for one in trials):.0f} MiB"])
    titles = ["Client", "429s", "Lost", "Repeated", "CPU seconds per 100,000 records, median", "Peak memory, median"]
    text += f"\n### Costs, over all of these runs\n\n{table(titles, rows)}"
    setting = f"{POLICIES[0]}, {latencies[0]} ms"
    rows = [
        [
            name,
            percent(one.share * LIMIT / (LIMIT - NEIGHBOUR)),
            f"{one.refused} ({percent(one.refused / (one.served + one.refused))})",
            percent(one.neighbour_served),
        ]
        for name, one in beside.items()
    ]
    title = f"Beside a neighbour that spends a steady {NEIGHBOUR} per second ({setting}, three times as many contacts)"
    text += f"\n### {title}\n\n{table(['Client', 'Share of what is left', 'Its 429s', 'Neighbour served'], rows)}"
    rows = [[name, one.lost, one.repeated, percent(one.share)] for name, one in changing.items()]
    title = f"While the list changes: after every fifth page two records come and one goes ({setting})"
    return text + f"\n### {title}\n\n{table(['Client', 'Lost', 'Repeated', 'Share of the limit'], rows)}"


# A budget shared by ten processes that start together: the share of it that they use, and its distribution.


def shared(tools, size):
    processes, latency, pages = 10, 20, size.pages // 8
    ours = [[tools.talentdata, "export", "contacts", "--out", "-"], [tools.c_scan], tools.python("read.py")]
    own = lambda number: ours[number % len(ours)]

    def trial(name, program, store, policy):
        def work(sandbox):
            options = {"env": {**sandbox.variables, "TALENTDATA_BUDGET": store}, "stdout": subprocess.DEVNULL}
            return {"usages": at_once(lambda number: run(program(number), **options), range(processes))}

        told = limited(tools, policy, latency, 100 * pages, work)
        paces = [1 / one.wall for one in told.usages]
        mean = sum(paces) / len(paces)
        figures = refusals(told.share, told.refused), f"{min(paces) / mean:.2f} to {max(paces) / mean:.2f}"
        print(policy, name, *figures, sep=", ", file=sys.stderr)
        return *figures, median(one.cpu for one in told.usages)

    with Valkey(tools.valkey) as server:
        ways = [
            ("talentdata, budget = host", own, "host"),
            ("talentdata, budget on Valkey", own, server.url),
            ("talentdata, budget = process", own, "process"),
            ("serial by the documented rule, httpx", lambda _: tools.peer("serial"), ""),
            ("asyncio, each with a limiter of 4/s, aiohttp", lambda _: tools.peer("limited", 4), ""),
        ]
        told = {way[0]: [trial(*way, policy) for policy in POLICIES] for way in ways}
    figures = lambda place: [[name, *(one[place] for one in trials)] for name, trials in told.items()]
    costs = [[name, f"{median(one[2] for one in trials):.2f}"] for name, trials in told.items()]
    return (
        f"{processes} processes that begin together, each of which reads {pages} full pages of contacts (ours: command line, C "
        f"and Python in turn); round trip {latency} ms, resets are rounded up.\n"
        f"\n### Share of the limit, all together\n\n{table(['Way', *POLICIES], figures(0))}"
        f"\n### The pace of the slowest and of the fastest, in parts of the mean\n\n{table(['Way', *POLICIES], figures(1))}"
        f"\n### Costs\n\n{table(['Way', 'CPU seconds per process, median'], costs)}"
    )


# Without a rate limit: the costs of reading in each form.


def take_turns(tools, size, ways, records, *options):
    """Returns the usage of each way in each round, with a service that has no rate limit."""
    out = tools.scratch / "records"
    rounds = [{} for _ in range(size.rounds)]
    with Sandbox(tools, *options, policy="unlimited", records=f"contacts={records}") as sandbox:
        for number, usages in enumerate(rounds, 1):
            for name, way in ways.items():
                program, *arguments = way(records, out)
                usage, said = read([program, *arguments], env={**sandbox.variables, "TALENTDATA_PACED": "false"})
                counts = list(said)
                # These programs print the number of their records.
                if program in (tools.scan, tools.c_scan) and counts != [records]:
                    raise Failure(f"{name} had {counts} records, not {records}")
                out.unlink(missing_ok=True)
                print(f"{records} records, round {number}, {name}: {usage}", file=sys.stderr)
                usages[name] = usage
    return rounds


def costs(rounds, name, records):
    walls, cpus = ([getattr(one[name], figure) for one in rounds] for figure in ("wall", "cpu"))
    return [name, f"{records / median(walls):,.0f}", f"{median(cpus) * 1e6 / records:.2f}"]


def peak(rounds, name):
    return median(one[name].peak for one in rounds)


def throughput(tools, size):
    export = lambda form: lambda _, out: tools.export(form, out)
    floor = "floor: read and discard the same bytes"
    ways = {
        floor: lambda records, _: [tools.floor, records],
        "the same, and write them to a file": lambda records, out: [tools.floor, records, out],
        "scan from Rust, raw records": lambda *_: [tools.scan, "records"],
        "scan from C, raw records": lambda *_: [tools.c_scan],
        "scan from Rust, Arrow batches": lambda *_: [tools.scan, "batches"],
        "command line, JSON Lines to /dev/null": lambda *_: tools.export("jsonl", "/dev/null"),
        "command line, JSON Lines": export("jsonl"),
        "command line, CSV": export("csv"),
        "command line, Arrow IPC": export("arrow"),
        "command line, Parquet": export("parquet"),
    }
    few_records, records = 10_000, size.records
    few = take_turns(tools, size, ways, few_records)
    many = take_turns(tools, size, ways, records)
    compressed = take_turns(tools, size, ways, records, "--gzip")
    row = lambda rounds, name: [*costs(rounds, name, records), spread(one[floor].cpu / one[name].cpu for one in rounds)]
    titles = ["Way", "Records per second", "CPU µs per record", "Floor's CPU / its CPU (least to most)"]
    rows = []
    for name in ways:
        least, most = peak(few, name), peak(many, name)
        rows.append([*row(many, name), f"{least:.1f} MiB", f"{most:.1f} MiB", f"{most / least:.2f}"])
    memory = [f"Peak memory at {few_records:,}", f"at {records:,}", "Growth"]
    return (
        f"{records:,} contacts from a service that counts nothing, as fast as they come; medians of {size.rounds} rounds, in each "
        "of which every way had its turn. The floor fetches the same pages with the same HTTP library and as many requests at "
        f"once. Memory is of the client alone; processor time, too.\n\n{table(titles + memory, rows)}"
        "\n### The same from a service that compresses its answers\n\nWith gzip, which this client and the floor ask for; "
        f"reading the bytes means to decompress them, too.\n\n{table(titles, [row(compressed, name) for name in ways])}"
    )


# Keeping a mirror: the costs of each step.


def syncs(tools, size):
    rows = []
    options = {"policy": "unlimited", "records": f"contacts={size.records}"}
    with Sandbox(tools, "--faults", **options) as sandbox, tempfile.TemporaryDirectory(dir=tools.scratch) as kept:
        mirror = pathlib.Path(kept, "mirror.db")
        sync = [tools.talentdata, "sync", "contacts", "--to", mirror, "--paced", "false"]
        of_mirror = ["contacts", "--from", mirror, "--format", "jsonl"]
        steps = {
            "export to Parquet": tools.export("parquet", pathlib.Path(kept, "contacts.parquet")),
            "first sync": sync,
            "sync without changes": sync,
            "sync of 1 % of changes": sync,
            "changes of the last sync": [tools.talentdata, "changes", *of_mirror, "--since", 2],
            "export of the first sync": [tools.talentdata, "export", *of_mirror, "--as-of", 1, "--out", os.devnull],
            "verify": [tools.talentdata, "verify", mirror],
        }
        for name, command in steps.items():
            for change in ("update", "insert", "delete_first") if "1 %" in name else ():
                sandbox.ask("/__drift?list=contacts", {change: size.records // 300})
            used = run(command, env=sandbox.variables, stdout=subprocess.DEVNULL)
            print(name, used, sep=", ", file=sys.stderr)
            rows.append([name, f"{used.cpu:.1f}", f"{used.wall:.1f}", f"{used.peak:.0f} MiB"])
    titles = ["Step, each a process of its own", "CPU seconds", "Seconds", "Peak memory"]
    return (
        f"{size.records:,} contacts from a service that counts nothing; a hundredth of the list has changed before the last "
        f"sync.\n\n{table(titles, rows)}"
    )


SECTIONS = {
    "budget": ("Within the rate limit", budget),
    "shared": ("The budget shared", shared),
    "throughput": ("Without a rate limit", throughput),
    "syncs": ("A mirror", syncs),
    "instructions": ("What a record costs the processor", instructions.section),
}

HEAD = """`cargo xtask bench` makes these tables; the figures are from one machine with {cores} cores, and other work on it; each section \
is of one run.

Service and clients run side by side on that machine. The service is the sandbox: `talentdata sandbox` with the policy that a \
column or a title names.
"""


def main():
    arguments = sys.argv[1:]
    quick = "--quick" in arguments
    only = [one for one in arguments if one != "--quick"]
    if only and (only[1:] or only[0] not in SECTIONS):
        sys.exit(f"give one section of the bench at most; they are {', '.join(SECTIONS)}")
    size = Size(120, 100_000, 3) if quick else Size(400, 1_000_000, 5)
    present = RESULTS.read_text() if only else ""
    head, *sections = present.split("\n## ")
    kept = {one.partition("\n")[0]: one for one in sections}
    tools = Tools()
    text = head or HEAD.format(cores=os.cpu_count())
    for name, (title, measure) in SECTIONS.items():
        if only in ([], [name]):
            kept[title] = f"{title}\n\n{measure(tools, size)}"
            print(f"\n## {kept[title]}")
        text += f"\n## {kept[title]}" if title in kept else ""
    if not quick:
        RESULTS.write_text(text)


main()
