"""The manual: its links lead somewhere, and its commands run as they stand, page by page, against a sandbox."""

import datetime
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import talentdata

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
READMES = sorted([*(ROOT / "bindings").glob("*/README.md"), *(ROOT / "crates").glob("*/README.md")])


def anchors(page):
    """The anchors of the headings of a page."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [*PAGES, *READMES, ROOT / "ARCHITECTURE.md", ROOT / "CHANGELOG.md"], ids=str)
def test_links_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if not link.startswith(("https://", "http://")):
            path, _, anchor = link.partition("#")
            target = page.parent / path if path else page
            assert target.exists(), link
            assert not anchor or anchor in anchors(target), link


def commands(page):
    """The commands in the code blocks of a page, without their comments."""
    lines = re.findall(r"^(?: {4})?(talentdata .+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [re.sub(r"\s+#.*", "", line) for line in lines if not line.startswith("talentdata sandbox ")]


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=lambda page: page.stem)
def test_commands_run(page, tmp_path, monkeypatch):
    program = tmp_path / "bin" / "talentdata"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m talentdata "$@"\n')
    program.chmod(0o700)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    with talentdata.Sandbox(records={"contacts": 150, "vacancies": 20}, policy="unlimited") as sandbox:
        monkeypatch.setenv("TALENTDATA_BASE_URL", sandbox.base_url)
        monkeypatch.setenv("TALENTDATA_CLIENT_ID", sandbox.client_id)
        monkeypatch.setenv("TALENTDATA_CLIENT_SECRET", sandbox.client_secret)
        with sandbox.client() as client:
            for _ in range(17):
                client.sync(["contacts"], "mirror.db")
                sandbox.change("contacts", update=1)
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        for command in commands(page):
            # The only time in the manual is that of a sync that had ended by then.
            command = command.replace("2026-11-20T06:00:00Z", now)
            ended = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=60)
            assert ended.returncode == 0, f"{command}\n{ended.stderr}"
