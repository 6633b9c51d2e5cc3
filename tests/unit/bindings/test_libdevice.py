"""The search for CUDA's library of mathematical functions."""

from __future__ import annotations

import pytest

from pygpulib._bindings import libdevice
from pygpulib._config import read_config
from pygpulib._record import replace
from pygpulib.errors import ArgumentError


def test_the_environment_names_the_file(monkeypatch, tmp_path):
    path = tmp_path / "libdevice.10.bc"
    monkeypatch.setenv("PYGPULIB_LIBDEVICE", str(path))
    found = read_config()
    assert found.libdevice == str(path)
    monkeypatch.setattr(libdevice, "config", found)
    with pytest.raises(ArgumentError) as caught:
        libdevice.find_libdevice.__wrapped__()
    assert str(caught.value) == (
        f"the environment variable PYGPULIB_LIBDEVICE is {str(path)!r}\n"
        "expected the path of a file, libdevice.10.bc of a CUDA toolkit\n"
        "help: unset it to use the file of an installed package or toolkit"
    )
    path.write_bytes(b"")
    assert libdevice.find_libdevice.__wrapped__() == str(path)


def test_no_library_anywhere(monkeypatch):
    from cuda import pathfinder

    def refuse(name):
        raise pathfinder.BitcodeLibNotFoundError(name)

    monkeypatch.setattr(libdevice, "config", replace(libdevice.config, libdevice=""))
    monkeypatch.setattr(libdevice, "find_in_wheels", lambda places: None)
    monkeypatch.setattr(pathfinder, "find_bitcode_lib", refuse)
    assert libdevice.find_libdevice.__wrapped__() is None
    monkeypatch.setattr(pathfinder, "find_bitcode_lib", lambda name: f"/somewhere/{name}")
    assert libdevice.find_libdevice.__wrapped__() == "/somewhere/device"
