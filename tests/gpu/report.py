"""One JSON file and one table from what the parts of a check have left in a folder."""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

COPY = "copy on the device"
_LONGEST_LIST = 60


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the entries of a file of JSON lines; none if it is not there."""
    if not path.exists():
        return []
    # The last line is incomplete if its writer was killed.
    lines = [line for line in path.read_text().split("\n")[:-1] if line]
    return [json.loads(line) for line in lines]


def read_parts(folder: Path) -> list[dict[str, Any]]:
    """Return what `gpu_check.sh` has noted of each part: its name, status and seconds."""
    parts = []
    for line in (folder / "parts.tsv").read_text().splitlines():
        name, status, seconds = line.split("\t")
        parts.append({"name": name, "status": int(status), "seconds": int(seconds)})
    return parts


def add_ratios(figures: list[dict[str, Any]]) -> None:
    """Put bandwidths in relation to that of a copy on the same device."""
    copies = [f["value"] for f in figures if f["name"] == COPY and f["value"]]
    for figure in figures:
        if figure["name"] in ("saxpy", "reduction") and figure["value"] and copies:
            figure["of_copy"] = figure["value"] / max(copies)


def collect(folder: Path, *, simulated: bool) -> dict[str, Any]:
    """Return all that is known of a check."""
    figures = read_lines(folder / "figures.jsonl")
    add_ratios(figures)
    outcomes = read_lines(folder / "outcomes.jsonl")
    return {
        "simulated": simulated,
        "machine": {"python": sys.version.split()[0], "system": platform.platform()},
        "device": "simulated" if simulated else _device(),
        "parts": read_parts(folder),
        "tests": Counter(entry["outcome"] for entry in outcomes),
        "failures": [entry for entry in outcomes if entry["outcome"] in ("failed", "error")],
        "figures": figures,
    }


def _device() -> str:
    command = [
        "nvidia-smi",
        "--query-gpu=name,driver_version,memory.total",
        "--format=csv,noheader",
    ]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError) as error:
        return f"unknown: {error}"


def describe(found: dict[str, Any]) -> Iterator[str]:
    """Give the lines of the table."""
    yield f"device: {found['device']}"
    yield f"Python {found['machine']['python']}, {found['machine']['system']}"
    if found["simulated"]:
        yield "SIMULATED: this shows that the check works, and nothing about any GPU."
    yield ""
    yield f"{'part':<24}{'seconds':>8}  outcome"
    for part in found["parts"]:
        yield f"{part['name']:<24}{part['seconds']:>8}  {_outcome(part['status'])}"
    yield ""
    yield "tests: " + (
        ", ".join(f"{count} {kind}" for kind, count in found["tests"].items()) or "none"
    )
    for failure in found["failures"][:_LONGEST_LIST]:
        yield f"  {failure['outcome']}: {failure['test']}: {' '.join(failure['message'])}"
    if len(found["failures"]) > _LONGEST_LIST:
        yield f"  and {len(found['failures']) - _LONGEST_LIST} more"
    yield ""
    yield f"{'figure':<32}{'by':<12}{'value':>12} unit"
    for figure in found["figures"]:
        value = "simulated" if figure["value"] is None else f"{figure['value']:.2f}"
        more = f"  {figure['of_copy']:.0%} of a copy" if "of_copy" in figure else ""
        if figure.get("until_done"):
            more = f"  {figure['until_done']:.2f} until done"
        yield f"{figure['name']:<32}{figure['library']:<12}{value:>12} {figure['unit']}{more}"


def _outcome(status: int) -> str:
    match status:
        case 0:
            return "ok"
        case 124 | 137:
            return "out of time"
        case -1:
            return "left out: no time"
        case _:
            return f"failed with status {status}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--simulated", action="store_true")
    options = parser.parse_args()
    found = collect(options.folder, simulated=options.simulated)
    text = "\n".join(describe(found)) + "\n"
    (options.folder / "gpu_check.json").write_text(json.dumps(found, indent=1) + "\n")
    (options.folder / "gpu_check.txt").write_text(text)
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
