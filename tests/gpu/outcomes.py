"""A plugin for pytest: notes the outcome of each test at once, lest time runs out.

``-p tests.gpu.outcomes``; the file is what the variable ``GPU_CHECK_OUTCOMES`` names. A process
whose GPU has failed ends after that test, because all later ones would fail, too; pytest-xdist
starts another.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pygpulib.errors import DeviceLostError

if TYPE_CHECKING:
    from collections.abc import Iterator

_IS_WORKER = "PYTEST_XDIST_WORKER" in os.environ
_lost: list[str] = []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    if call.excinfo is not None and call.excinfo.errisinstance(DeviceLostError):
        _lost.append(item.nodeid)
    return (yield)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if _IS_WORKER or (report.when != "call" and report.passed):
        return
    entry = {
        "test": report.nodeid,
        "outcome": report.outcome if report.when == "call" or report.skipped else "error",
        "seconds": round(report.duration, 3),
        "message": _reason(report),
    }
    with Path(os.environ["GPU_CHECK_OUTCOMES"]).open("a") as file:
        file.write(json.dumps(entry) + "\n")


def _reason(report: pytest.TestReport) -> list[str]:
    if not report.failed:
        return []
    crash = getattr(report.longrepr, "reprcrash", None)
    return (crash.message if crash else report.longreprtext).strip().splitlines()[:2]


def pytest_runtest_logfinish(nodeid: str) -> None:
    if _IS_WORKER and _lost:
        os._exit(3)
