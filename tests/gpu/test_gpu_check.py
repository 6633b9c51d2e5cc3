"""The check for machines with a GPU, as far as it can be tried without one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.gpu import packages, report

ROOT = Path(__file__).parents[2]


def check(tmp_path, *options):
    done = subprocess.run(
        [ROOT / "tools" / "gpu_check.sh", "--fake", *options],
        env=os.environ | {"PYTHON": sys.executable, "OUT": str(tmp_path / "out")},
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
def test_everything_runs_on_the_simulated_gpu(tmp_path):
    status, told = check(tmp_path, "--budget", "250")
    assert status == 0, told
    left = {path.name for path in (tmp_path / "out").iterdir()}
    assert left == {"gpu_check.json", "gpu_check.txt", "logs.txt"}
    found = json.loads((tmp_path / "out" / "gpu_check.json").read_text())
    assert [part["name"] for part in found["parts"]] == [
        "packages",
        "doctor",
        "kernels",
        "figures",
        "suite-1",
    ]
    assert all(part["status"] == 0 for part in found["parts"])
    assert set(found["tests"]) == {"passed"}
    assert found["tests"]["passed"] > 50
    assert len(found["figures"]) == 11
    # What a simulation takes says nothing, and is not kept.
    assert all(figure["value"] is None for figure in found["figures"])
    assert "SIMULATED" in (tmp_path / "out" / "gpu_check.txt").read_text()


def test_nothing_is_begun_without_time(tmp_path):
    status, told = check(tmp_path, "--budget", "5")
    assert status == 1
    assert "left out: no time" in told


def test_options_are_explained(tmp_path):
    status, told = check(tmp_path, "--nonsense")
    assert status == 2
    assert "tools/gpu_check.sh --prepare DIR" in told


def test_a_real_gpu_needs_nothing_of_the_simulated_one():
    modules = "tests.helpers.real_gpu, tests.gpu.test_kernels, tests.gpu.measure"
    program = f"import sys, {modules}; print([n for n in sys.modules if '.fakecuda.driver' in n])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout == "[]\n"


# -------------------------------------------------------------------------------------- packages


def write_wheel(folder, name, content):
    with zipfile.ZipFile(folder / f"{name}-9.9-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{name}/__init__.py", content)


@pytest.fixture
def few_packages(monkeypatch):
    some = (
        packages.Package("no-such-thing", (1,)),
        packages.Package("numpy", (1,)),
        packages.Package("pytest", (999,)),
        packages.Package("nobody-compares-with-this", (1,), is_needed=False),
    )
    monkeypatch.setattr(packages, "PACKAGES", some)


def test_packages_that_are_missing_or_too_old_are_unpacked(tmp_path, few_packages, capsys):
    write_wheel(tmp_path, "no_such_thing", "a = 1")
    write_wheel(tmp_path, "pytest", "b = 2")
    assert packages.unpack(tmp_path, tmp_path / "made") == []
    assert (tmp_path / "made" / "no_such_thing" / "__init__.py").read_text() == "a = 1"
    assert (tmp_path / "made" / "pytest" / "__init__.py").read_text() == "b = 2"
    told = capsys.readouterr().out.splitlines()
    assert "unpacked no_such_thing" in told[0]
    assert told[1].split()[1][0].isdigit()
    assert "is too old; unpacked" in told[2]
    assert told[3].endswith("missing; no comparison")


@pytest.mark.usefixtures("few_packages")
def test_packages_that_are_nowhere_are_named(tmp_path):
    missing = packages.unpack(None, tmp_path / "made")
    assert missing == ["no-such-thing 1 or newer", "pytest 999 or newer"]


@pytest.mark.usefixtures("few_packages")
def test_packages_for_another_python_stay_packed(tmp_path, capsys):
    write_wheel(tmp_path, "pytest", "b = 2")
    (tmp_path / "no_such_thing-2.0-cp27-cp27mu-linux_x86_64.whl").touch()
    assert packages.unpack(tmp_path, tmp_path / "made") == ["no-such-thing 1 or newer"]
    assert "cp27mu-linux_x86_64.whl is for another Python" in capsys.readouterr().out


@pytest.mark.usefixtures("few_packages")
def test_what_does_not_fit_is_not_taken_along(tmp_path, monkeypatch, capsys):
    sizes = {"no-such-thing>=1": 400, "numpy>=1": 4000, "pytest>=999": 500}

    def download(requirement, folder, python):
        if requirement not in sizes:
            return False
        name = requirement.partition(">")[0].replace("-", "_")
        (folder / f"{name}-1.0-cp312-any.whl").write_bytes(b"0" * sizes[requirement])
        return True

    monkeypatch.setattr(packages, "_pip_download", download)
    monkeypatch.setattr(packages, "_installed_libdevice", lambda: None)
    for _ in range(2):  # the second time replaces what there is
        packages.prepare(tmp_path / "wheels", "3.12", 1000)
        left = {path.name for path in (tmp_path / "wheels").iterdir()}
        assert left == {"no_such_thing-1.0-cp312-any.whl", "pytest-1.0-cp312-any.whl"}
    told = capsys.readouterr().out
    assert "the machine itself must have: numpy, nobody-compares-with-this" in told
    assert "libdevice.10.bc: not downloaded" in told


# ---------------------------------------------------------------------------------------- report


def write_lines(path, *entries):
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))


def test_reports_relate_bandwidths_to_a_copy(tmp_path):
    (tmp_path / "parts.tsv").write_text(
        "kernels\t0\t7\nsuite-1\t124\t90\nsuite-2\t-1\t0\nx\t2\t1\n"
    )
    figure = {"library": "pygpulib", "unit": "GB/s"}
    write_lines(
        tmp_path / "figures.jsonl",
        figure | {"name": "copy on the device", "value": 200.0},
        figure | {"name": "saxpy", "value": 150.0},
        figure | {"name": "launch", "value": 2.5, "until_done": 3.5},
    )
    write_lines(
        tmp_path / "outcomes.jsonl",
        {"test": "a", "outcome": "passed", "seconds": 1, "message": []},
        {"test": "b", "outcome": "failed", "seconds": 1, "message": ["why"]},
    )
    with (tmp_path / "outcomes.jsonl").open("a") as file:
        file.write('{"test": "c", "out')  # the writer was killed
    text = "\n".join(report.describe(report.collect(tmp_path, simulated=False)))
    for line in (
        "kernels                        7  ok",
        "suite-1                       90  out of time",
        "suite-2                        0  left out: no time",
        "x                              1  failed with status 2",
        "tests: 1 passed, 1 failed",
        "  failed: b: why",
        "saxpy                           pygpulib          150.00 GB/s  75% of a copy",
        "launch                          pygpulib            2.50 GB/s  3.50 until done",
    ):
        assert line in text.splitlines()


def test_reports_of_nothing(tmp_path):
    (tmp_path / "parts.tsv").write_text("packages\t1\t0\n")
    lines = list(report.describe(report.collect(tmp_path, simulated=True)))
    assert "tests: none" in lines
