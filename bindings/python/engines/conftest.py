"""Turns off the telemetry of the packages."""

import os

os.environ |= {"DO_NOT_TRACK": "true", "RAY_USAGE_STATS_ENABLED": "0", "RUNTIME__DLTHUB_TELEMETRY": "false"}
