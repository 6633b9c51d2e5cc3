import os
import subprocess
import sys
import textwrap
from types import ModuleType

import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.jit.backends.cpu import engine, objects
from pygpulib.jit.backends.cpu.layouts import object_layouts
from pygpulib.jit.backends.cpu.target import host_target, plain_target
from pygpulib.jit.cache import DiskCache
from tests.helpers.native_kernels import COUNT_TEXT


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache of our own, for this process as after a new start."""
    found = DiskCache(str(tmp_path / "cache"))
    monkeypatch.setattr(objects, "open_cache", lambda kind: found)
    return found


def load(tmp_path, name, text):
    """Import a module from text, anew; not with importlib, which goes by when a file changed."""
    path = tmp_path / f"{name}.py"
    path.write_text(textwrap.dedent(text))
    module = sys.modules[name] = ModuleType(name)
    exec(compile(path.read_text(), path, "exec"), module.__dict__)
    return module


def run(kernel, size=8):
    """Launch a kernel, and return what it wrote and what the cache did."""
    out = np.zeros(size)
    kernel[1, size](out)
    return (
        out.tolist(),
        sum(kernel.stats.cache_hits.values()),
        sum(kernel.stats.cache_misses.values()),
    )


PLAIN = """
from pygpulib import cuda

FACTOR = {factor}

{import_}

@cuda.jit
def kernel(out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = {expression}
"""


def plain(factor=3, expression="i * FACTOR", import_=""):
    return PLAIN.format(factor=factor, expression=expression, import_=import_)


def test_the_second_time_nothing_is_compiled(cache, tmp_path, monkeypatch):
    assert run(load(tmp_path, "cached", plain()).kernel) == ([3.0 * i for i in range(8)], 0, 1)
    monkeypatch.setattr(engine, "assemble", None)
    assert run(load(tmp_path, "cached", plain()).kernel) == ([3.0 * i for i in range(8)], 1, 0)


def test_edits_of_the_source_and_of_globals_are_seen(cache, tmp_path):
    for text, slope, start in (
        (plain(), 3.0, 0.0),
        (plain(factor=4), 4.0, 0.0),
        (plain(factor="4.0"), 4.0, 0.0),
        (plain(expression="i * FACTOR + 1"), 3.0, 1.0),
    ):
        module = load(tmp_path, "edited", text)
        assert run(module.kernel) == ([slope * i + start for i in range(8)], 0, 1)


def test_edits_of_other_modules_are_seen(cache, tmp_path):
    caller = plain(expression="helper(i)", import_="from callee import helper")
    for text in ("i + 1", "i + 2"):
        callee = f"from pygpulib import cuda\n@cuda.jit(device=True)\ndef helper(i): return {text}"
        load(tmp_path, "callee", callee)
        first = float(text[-1])
        expected = ([first + i for i in range(8)], 0, 1)
        assert run(load(tmp_path, "caller", caller).kernel) == expected
    load(tmp_path, "callee", callee)
    assert run(load(tmp_path, "caller", caller).kernel)[1:] == (1, 0)


def test_comments_and_names_are_not_code(cache, tmp_path):
    run(load(tmp_path, "commented", plain()).kernel)
    text = "# a comment\n" + plain().replace("i = ", "i  =  ") + "\n\nunused = 1\n"
    assert run(load(tmp_path, "renamed", text).kernel)[1:] == (1, 0)


def make_lookup(table, options=None):
    @cuda.jit(**(options or {}))
    def kernel(out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = table[i]

    return kernel


def test_captured_arrays_are_part_of_the_code(cache):
    table = np.arange(8)
    assert run(make_lookup(table)) == (table.tolist(), 0, 1)
    assert run(make_lookup(table.copy()))[1:] == (1, 0)
    # One bit somewhere, another type of the same bytes, and other bytes of the same numbers.
    changed = table.copy()
    changed[5] ^= 1
    for other in (changed, table.view(np.uint64), table.astype(np.int32), table.astype(">i8")):
        if other.dtype.isnative:
            assert run(make_lookup(other)) == (other.tolist(), 0, 1)
    # Large arrays differ in one element only.
    large = np.zeros(100_000)
    assert run(make_lookup(large))[1:] == (0, 1)
    large[7] = 5
    assert run(make_lookup(large)) == ([0.0] * 7 + [5.0], 0, 1)


def test_options_are_part_of_the_code(cache):
    def make(**options):
        @cuda.jit(**options)
        def kernel(out):
            i = cuda.grid(1)
            if i < out.size:
                out[i] = out[i] * 3 + 1.5

        return kernel

    seen = [run(make(**options)) for options in ({}, {"fma": False}, {"fastmath": True})]
    assert seen == [([1.5] * 8, 0, 1)] * 3
    assert run(make())[1:] == (1, 0)


def test_each_way_to_lay_out_blocks_has_code_of_its_own(cache):
    for hits, misses in ((0, 2), (2, 0)):
        kernel = make_lookup(np.arange(64))
        for size in (32, 64, 4):
            out = np.zeros(size)
            kernel[1, size](out)
            assert out.tolist() == list(range(size))
        (types,) = kernel.signatures
        assert kernel.stats.cache_hits == ({types: hits} if hits else {})
        assert kernel.stats.cache_misses == ({types: misses} if misses else {})


def test_a_kernel_can_stay_out_of_the_cache(cache):
    for _ in range(2):
        kernel = make_lookup(np.arange(8), {"cache": False})
        assert run(kernel) == (list(range(8)), 0, 0)
        assert kernel.stats.cache_path is None
    assert cache.info().files == 0
    assert run(make_lookup(np.arange(8), {"cache": True}))[1:] == (0, 1)


def test_captured_device_arrays_are_bound_to_the_process(cache):
    table = cuda.to_device(np.arange(8.0))
    for _ in range(2):
        assert run(make_lookup(table)) == (list(range(8)), 0, 0)
    assert cache.info().files == 0


def test_no_cache_at_all(monkeypatch):
    monkeypatch.setattr(objects, "open_cache", lambda kind: None)
    assert run(make_lookup(np.arange(8))) == (list(range(8)), 0, 0)


def test_damaged_code_is_compiled_again(cache):
    run(make_lookup(np.arange(8)))
    for name in os.listdir(cache.folder):
        with open(os.path.join(cache.folder, name), "r+b") as file:
            file.seek(100)
            file.write(b"\xff" * 50)
    assert run(make_lookup(np.arange(8))) == (list(range(8)), 0, 1)
    assert run(make_lookup(np.arange(8))) == (list(range(8)), 1, 0)


def test_targets_and_levels_have_code_of_their_own(cache):
    for was_cached in (False, True):
        for target in (host_target(), plain_target()):
            for level in (0, 1):
                found = objects.find_object(COUNT_TEXT, target, level)
                assert found.was_cached is was_cached
                assert found.code == engine.assemble(COUNT_TEXT, target, level)


# ------------------------------------------------------------------------------------- processes

SCRIPT = """
import sys
import numpy as np
from pygpulib import cuda

OFFSET = np.arange(100) * int(sys.argv[1])

@cuda.jit
def kernel(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] * 2 + OFFSET[i % 100]

x = np.arange(1000.0)
out = np.zeros(1000)
for _ in range(3):
    kernel[4, 256](x, out)
assert (out == x * 2 + OFFSET[np.arange(1000) % 100]).all()
stats = kernel.stats
print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""


def start(tmp_path, argument, **environment):
    script = tmp_path / "script.py"
    if not script.exists():  # another process may be reading it
        script.write_text(SCRIPT)
    return subprocess.Popen(
        [sys.executable, script, argument],
        env={
            **os.environ,
            "PYGPULIB_CACHE": "1",
            "PYGPULIB_CACHE_DIR": str(tmp_path / "cache"),
            "PYGPULIB_NUM_THREADS": "2",
            "PYTHONPATH": os.pathsep.join(sys.path),
            **environment,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process):
    out, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (0, "")
    return out.split()


def test_processes_share_the_cache(tmp_path):
    # All at once: whoever is first writes, and nobody sees half a file.
    counts = [finish(each) for each in [start(tmp_path, "1") for _ in range(3)]]
    assert {tuple(each) for each in counts} <= {("0", "1"), ("1", "0")}
    assert counts.count(["0", "1"]) >= 1
    # The kernel, the pool of threads, and what takes arguments out of Python's objects.
    files = DiskCache(str(tmp_path / "cache" / "cpu")).info().files
    assert files == (3 if object_layouts() else 2)
    assert finish(start(tmp_path, "1")) == ["1", "0"]
    assert DiskCache(str(tmp_path / "cache" / "cpu")).info().files == files
    assert finish(start(tmp_path, "2")) == ["0", "1"]
    assert DiskCache(str(tmp_path / "cache" / "cpu")).info().files == files + 1


def test_a_home_that_cannot_be_written(tmp_path):
    (tmp_path / "cache").write_text("not a folder")
    assert finish(start(tmp_path, "1")) == ["0", "1"]


def test_the_command_line(tmp_path):
    def command(*arguments, **environment):
        return subprocess.run(
            [sys.executable, "-m", "pygpulib", "cache", *arguments],
            env={**os.environ, "PYGPULIB_CACHE_DIR": str(tmp_path), **environment},
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    cache = DiskCache(str(tmp_path / "cpu"))
    cache.put("12", bytes(3 << 20))
    off = "caching of compiled kernels is off (PYGPULIB_CACHE=0)\n"
    other = f"{tmp_path}/cuda: 0 files, 0.0 MiB\n"
    assert command(PYGPULIB_CACHE="0") == f"{off}{tmp_path}/cpu: 1 files, 3.0 MiB\n{other}"
    on = "caching of compiled kernels is on\n"
    cleared = command("clear", PYGPULIB_CACHE="1")
    nothing = f"{tmp_path}/cuda: removed 0 files, 0.0 MiB\n"
    assert cleared == f"{on}{tmp_path}/cpu: removed 1 files, 3.0 MiB\n{nothing}"
    info = command("info", PYGPULIB_CACHE="1")
    assert info == f"{on}{tmp_path}/cpu: 0 files, 0.0 MiB\n{other}"
