"""The command line as `python -m talentdata` and as the installed script."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

WAYS = {"module": [sys.executable, "-m", "talentdata"], "script": [str(Path(sys.executable).with_name("talentdata"))]}


@pytest.mark.parametrize("way", WAYS)
def test_data_goes_to_standard_output_and_errors_have_their_code(way):
    def run(*arguments, **variables):
        environment = {**os.environ, **variables}
        return subprocess.run([*WAYS[way], *arguments], capture_output=True, text=True, timeout=60, env=environment)

    result = run("--sandbox", "version")
    assert result.returncode == 0 and json.loads(result.stdout)["version"] == "1.8.2", result.stderr
    result = run("nonsense")
    assert result.returncode == 2 and "nonsense" in result.stderr and result.stdout == ""
    # With the budget of the process, the program does not know of an outage that other processes found at this port.
    result = run("version", TALENTDATA_BASE_URL="http://127.0.0.1:1", TALENTDATA_BUDGET="process")
    assert result.returncode == 13 and "cannot connect" in result.stderr


def test_ctrl_c_stops_it_with_130():
    command = [*WAYS["module"], "sandbox"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert json.loads(child.stdout.readline())["base_url"].startswith("http://127.0.0.1:")
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=30)
    assert "Traceback" not in errors and child.returncode == 130
