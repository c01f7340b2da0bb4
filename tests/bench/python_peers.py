"""CPU of the Python package beside its peers, in one run against one sandbox.

Usage: python tests/bench/python_peers.py [RECORDS]; needs the packages of bindings/python/tests/requirements.txt.
Prints a JSON line per contender: CPU seconds of its process (user and system, the start of the interpreter left
out for those in Python), records, and microseconds a record. The clients keep to 40 requests a second, so that
a million records take over four minutes; the peers do not wait.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

MEASURED = """
import json, resource, sys
url, id, secret = sys.argv[1:4]
def cpu():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
{setup}
before = cpu()
{work}
print(json.dumps({{"cpu_s": cpu() - before, "records": count, "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024}}))
"""

TALENTDATA = "import talentdata, pyarrow\nclient = talentdata.Client(base_url=url, client_id=id, client_secret=secret)"

HTTPX = '''
import httpx, pydantic
class Contact(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    id: str
    firstName: str
    lastName: str
    email: str
class Pagination(pydantic.BaseModel):
    total: int
    limit: int
    offset: int
    hasMore: bool
class Contacts(pydantic.BaseModel):
    contacts: list[Contact]
    pagination: Pagination
'''

LOOP = '''
count = letters = offset = 0
with httpx.Client(base_url=url) as http:
    token = http.post("/v1/oauth/token", json={"clientId": id, "clientSecret": secret}).json()["access_token"]
    http.headers["authorization"] = f"Bearer {token}"
    while True:
        page = Contacts.model_validate_json(http.get("/v1/contacts", params={"limit": 100, "offset": offset}).content)
        for contact in page.contacts:
            letters += len(contact.firstName) + len(contact.email)
            count += 1
        offset += len(page.contacts)
        if not page.pagination.hasMore:
            break
'''

RECORDS = '''
count = letters = 0
for contact in client.contacts.list(progress=False):
    letters += len(contact.first_name) + len(contact.email)
    count += 1
'''

CONTENDERS = {
    "talentdata to_arrow": (TALENTDATA, "count = client.contacts.list(progress=False).to_arrow().num_rows"),
    "talentdata records": (TALENTDATA, RECORDS),
    "httpx and pydantic records": (HTTPX, LOOP),
}

SERVE = """
import sys, talentdata
with talentdata.Sandbox(records={"contacts": int(sys.argv[1])}, policy="unlimited") as sandbox:
    print(sandbox.base_url, sandbox.client_id, sandbox.client_secret, flush=True)
    sys.stdin.read()
"""


def main() -> None:
    records = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    pipe = subprocess.PIPE
    server = subprocess.Popen([sys.executable, "-c", SERVE, str(records)], stdin=pipe, stdout=pipe, text=True)
    where = server.stdout.readline().split()
    running = {
        name: subprocess.Popen([sys.executable, "-c", MEASURED.format(setup=setup, work=work), *where], stdout=pipe, text=True)
        for name, (setup, work) in CONTENDERS.items()
    }
    for name, process in running.items():
        report(name, json.loads(process.communicate()[0]))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        program = str(Path(sys.executable).with_name("talentdata"))
        names = ("TALENTDATA_BASE_URL", "TALENTDATA_CLIENT_ID", "TALENTDATA_CLIENT_SECRET")
        command = [program, "export", "contacts", "--format", "arrow", "--out", f"{folder}/contacts.arrow"]
        subprocess.run(command, env=dict(zip(names, where, strict=True)), check=True, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    report("command line to Arrow file", {"cpu_s": cpu, "records": records})
    server.communicate()


def report(name: str, figures: dict[str, float]) -> None:
    print(json.dumps({"contender": name, **figures, "us_a_record": figures["cpu_s"] / figures["records"] * 1e6}), flush=True)


if __name__ == "__main__":
    main()
