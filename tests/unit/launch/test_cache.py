import os
import stat
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from pygpulib._config import read_config
from pygpulib.errors import ArgumentError, PyGpuLibWarning
from pygpulib.jit import cache as cache_module
from pygpulib.jit.cache import CacheInfo, DiskCache, all_caches, digest

KEYS = [digest(f"entry {number}") for number in range(20)]


def path_of(cache, key):
    return os.path.join(cache.folder, f"{key}.bin")


@pytest.fixture
def cache(tmp_path):
    return DiskCache(str(tmp_path / "a" / "b"))


def test_what_was_put_is_got(cache):
    entries = {key: os.urandom(number * 100) for number, key in enumerate(KEYS)}
    for key, content in entries.items():
        assert cache.get(key) is None
        cache.put(key, content)
    for reader in (cache, DiskCache(cache.folder)):
        assert {key: reader.get(key) for key in KEYS} == entries


def test_an_entry_can_be_put_again(cache):
    cache.put(KEYS[0], b"one")
    cache.put(KEYS[0], b"two")
    assert cache.get(KEYS[0]) == b"two"
    assert cache.info().files == 1


def test_the_digest_tells_parts_apart():
    parts = [("ab", "c"), ("a", "bc"), ("abc",), ("abc", ""), ("", "abc"), (), ("",)]
    assert len({digest(*each) for each in parts}) == len(parts)
    assert digest("ä", b"\0") == digest("ä".encode(), b"\0")
    assert len(digest()) == 32


def test_the_folder_and_the_files_are_private(cache):
    cache.put(KEYS[0], b"code")
    assert stat.S_IMODE(os.stat(cache.folder).st_mode) == 0o700
    assert stat.S_IMODE(os.stat(path_of(cache, KEYS[0])).st_mode) == 0o600


def test_nothing_unfinished_is_left(cache):
    for key in KEYS:
        cache.put(key, b"code")
    assert sorted(os.listdir(cache.folder)) == sorted(f"{key}.bin" for key in KEYS)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:10],
        lambda data: data[:-1],
        lambda data: data + b"\0",
        lambda data: data[:-1] + bytes([data[-1] ^ 1]),
        lambda data: bytes([data[0] ^ 128]) + data[1:],
        lambda data: bytes(len(data)),
    ],
)
def test_a_damaged_file_counts_as_none_and_goes_away(cache, damage):
    cache.put(KEYS[0], b"some machine code")
    path = path_of(cache, KEYS[0])
    with open(path, "rb") as file:
        data = file.read()
    with open(path, "wb") as file:
        file.write(damage(data))
    assert cache.get(KEYS[0]) is None
    assert not os.path.exists(path)
    cache.put(KEYS[0], b"new")
    assert cache.get(KEYS[0]) == b"new"


def test_a_file_under_the_name_of_another_is_found_out(cache):
    cache.put(KEYS[0], b"code")
    os.rename(path_of(cache, KEYS[0]), path_of(cache, KEYS[1]))
    assert cache.get(KEYS[1]) is None


def test_links_and_folders_in_place_of_files(cache, tmp_path):
    cache.put(KEYS[0], b"code")
    os.rename(path_of(cache, KEYS[0]), tmp_path / "elsewhere")
    os.symlink(tmp_path / "elsewhere", path_of(cache, KEYS[0]))
    assert cache.get(KEYS[0]) is None
    os.mkdir(path_of(cache, KEYS[1]))
    assert cache.get(KEYS[1]) is None
    cache.put(KEYS[1], b"code")
    assert cache.get(KEYS[1]) is None


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o720])
def test_a_folder_that_others_can_write_is_not_used(tmp_path, mode):
    tmp_path.chmod(mode)
    cache = DiskCache(str(tmp_path))
    with pytest.warns(PyGpuLibWarning) as caught:
        assert cache.get(KEYS[0]) is None
    cache.put(KEYS[0], b"code")
    assert cache.get(KEYS[0]) is None
    assert len(caught) == 1
    assert str(caught[0].message) == (
        f"compiled kernels are not cached: others can write to the folder {tmp_path}\n"
        "help: chmod 700 the folder if it is yours, or set PYGPULIB_CACHE_DIR to another one; "
        "PYGPULIB_CACHE=0 switches caching off"
    )
    assert os.listdir(tmp_path) == []


def test_a_folder_of_somebody_else_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: os.stat(tmp_path).st_uid + 1)
    with pytest.warns(PyGpuLibWarning, match="others can write"):
        assert DiskCache(str(tmp_path)).get(KEYS[0]) is None


def test_a_file_that_others_can_write_is_not_used(cache):
    cache.put(KEYS[0], b"code")
    os.chmod(path_of(cache, KEYS[0]), 0o666)
    assert cache.get(KEYS[0]) is None


def test_no_folder_is_no_cache(tmp_path):
    (tmp_path / "file").write_text("")
    cache = DiskCache(str(tmp_path / "file" / "cache"))
    cache.put(KEYS[0], b"code")
    assert cache.get(KEYS[0]) is None
    assert cache.info() == CacheInfo(cache.folder, 0, 0)
    assert cache.clear() == 0
    cache.trim()


def test_a_folder_that_vanishes(cache):
    cache.put(KEYS[0], b"code")
    cache.clear()
    os.rmdir(cache.folder)
    cache.put(KEYS[0], b"code")
    assert cache.get(KEYS[0]) is None
    cache.trim()


def test_a_full_disk_leaves_nothing_behind(cache, monkeypatch):
    def refuse(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    cache.put(KEYS[0], b"code")
    assert os.listdir(cache.folder) == []


def test_what_was_not_used_for_longest_is_removed(tmp_path):
    cache = DiskCache(str(tmp_path / "cache"), max_bytes=10_000)
    now = time.time()
    for age, key in enumerate(KEYS):
        cache.put(key, bytes(984))
        os.utime(path_of(cache, key), (now - age, now - age))
    cache.trim()
    assert [cache.get(key) is not None for key in KEYS] == [True] * 7 + [False] * 13
    assert cache.info().size_bytes == 7000
    cache.trim()
    assert cache.info().files == 7


def test_use_keeps_an_entry_young(cache):
    long_ago = time.time() - 1e6
    for key in KEYS[:2]:
        cache.put(key, b"code")
        os.utime(path_of(cache, key), (long_ago, long_ago))
    assert cache.get(KEYS[0]) == b"code"
    assert time.time() - os.stat(path_of(cache, KEYS[0])).st_mtime < 1000
    assert os.stat(path_of(cache, KEYS[1])).st_mtime == pytest.approx(long_ago, abs=1)


def test_some_keys_trim(tmp_path):
    cache = DiskCache(str(tmp_path / "cache"), max_bytes=3000)
    for number in range(9):
        cache.put(f"{number + 1:02}{KEYS[0][2:]}", bytes(984))
    assert cache.info().files == 9
    cache.put("00" + KEYS[0][2:], bytes(984))
    assert cache.info().files == 2


def test_what_dead_writers_left_is_removed_and_what_live_ones_write_is_not(cache):
    cache.put(KEYS[0], b"code")
    old, new = (os.path.join(cache.folder, f"{name}.tmp") for name in ("old", "new"))
    for path in (old, new):
        with open(path, "wb") as file:
            file.write(b"half")
    os.utime(old, (1e9, 1e9))
    cache.trim()
    assert sorted(os.listdir(cache.folder)) == sorted([f"{KEYS[0]}.bin", "new.tmp"])
    assert cache.info().files == 1


def test_clearing(cache):
    for key in KEYS[:5]:
        cache.put(key, b"code")
    assert cache.clear() == 5
    assert cache.info() == CacheInfo(cache.folder, 0, 0)
    assert cache.get(KEYS[0]) is None


def test_many_writers_and_readers(tmp_path):
    folder = str(tmp_path / "cache")

    def work(worker):
        cache = DiskCache(folder, max_bytes=20_000)
        found = 0
        for turn in range(40):
            key = KEYS[(worker + turn) % len(KEYS)]
            expected = key.encode() * 50
            content = cache.get(key)
            assert content in (None, expected)
            found += content is not None
            cache.put(key, expected)
            if turn % 10 == 9:
                cache.trim()
        return found

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(work, range(8)))
    assert sum(found) > 0
    assert not [name for name in os.listdir(folder) if name.endswith(".tmp")]


# --------------------------------------------------------------------------------------- options


def test_the_environment(monkeypatch, tmp_path):
    for name in ("PYGPULIB_CACHE", "PYGPULIB_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    found = read_config()
    assert found.cache
    assert found.cache_dir.startswith(str(tmp_path))
    monkeypatch.setenv("PYGPULIB_CACHE", "0")
    assert not read_config().cache
    monkeypatch.setenv("PYGPULIB_CACHE_DIR", "relative")
    assert read_config().cache_dir == os.path.abspath("relative")
    monkeypatch.setenv("PYGPULIB_CACHE", "maybe")
    with pytest.raises(ArgumentError, match="the environment variable PYGPULIB_CACHE is 'maybe'"):
        read_config()


def test_a_user_without_a_home_has_no_cache(monkeypatch):
    monkeypatch.delenv("PYGPULIB_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    config = read_config()
    assert config.cache_dir == ""
    monkeypatch.setattr(cache_module, "config", config)
    assert all_caches() == []
    assert cache_module.open_cache.__wrapped__("cpu") is None
