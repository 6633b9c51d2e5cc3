"""Choosing and shuffling."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from pygpulib import rand
from pygpulib.core.creation import device_array, to_device
from pygpulib.rand import permutations
from tests.helpers.sizes import scaled

LIMIT = 1e-3
SIZES = [0, 1, 2, 3, 5, 1023, 1024, 1025, 1030, 2048, 5003, scaled(30_001)]


@pytest.mark.parametrize("kind", [rand.Philox4x3210, rand.XORWOW])
def test_permutations_have_every_number_once(kind):
    rng = rand.Generator(kind(3))
    for size in SIZES:
        order = rng.permutation(size).copy_to_host()
        assert order.dtype == np.int64
        assert np.array_equal(np.sort(order), np.arange(size))


@pytest.mark.parametrize("length", [2, 3, 4])
def test_short_permutations_are_equally_likely(length):
    rows = np.tile(np.arange(length), (9000, 1))
    found = rand.default_rng(2).permuted(rows, axis=1).copy_to_host()
    counts = Counter(map(tuple, found.tolist()))
    assert len(counts) == math.factorial(length)
    assert stats.chisquare(list(counts.values())).pvalue > LIMIT


def test_the_way_of_long_permutations_makes_all_equally_likely(monkeypatch):
    # The same kernels as for millions of elements: two or four buckets for four elements.
    monkeypatch.setattr(permutations, "_SHORT", 1)
    monkeypatch.setattr(permutations, "_BUCKET", 2)
    rng = rand.default_rng(4)
    counts = Counter(
        tuple(rng.permutation(4).copy_to_host().tolist()) for _ in range(8 * scaled(300))
    )
    assert len(counts) == 24
    assert stats.chisquare(list(counts.values())).pvalue > LIMIT


def test_long_permutations_put_every_element_anywhere():
    count = 20_000
    order = rand.default_rng(6).permutation(count).copy_to_host()
    assert stats.kstest(order[: count // 2] / count, stats.uniform().cdf).pvalue > LIMIT
    assert stats.pearsonr(order, np.arange(count)).pvalue > LIMIT
    assert stats.pearsonr(order[1:], order[:-1]).pvalue > LIMIT
    fixed = int(np.sum(order == np.arange(count)))
    assert fixed <= 7


@pytest.mark.parametrize("dtype", ["?", "i1", "f2", "f4", "f8", "c16", "U3", "S5", "i4,f8"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_sub_arrays_change_places(dtype, axis):
    array = np.arange(2 * 5 * 3).reshape(2, 5, 3)
    typed = np.zeros(array.shape, dtype)
    if typed.dtype.names:
        for name in typed.dtype.names:
            typed[name] = array
    else:
        typed[...] = array.astype("U") if typed.dtype.kind in "US" else array
    found = rand.default_rng(5).permutation(typed, axis=axis).copy_to_host()
    order = rand.default_rng(5).permutation(typed.shape[axis]).copy_to_host()
    assert np.array_equal(found, np.take(typed, order, axis))


def test_permuted_shuffles_every_line_by_itself():
    array = np.arange(2 * 50 * 3).reshape(2, 50, 3)
    rng = rand.default_rng(1)
    for axis in (0, 1, 2, -2):
        found = rng.permuted(array, axis=axis).copy_to_host()
        assert np.array_equal(np.sort(found, axis=axis), array)
    lines = np.moveaxis(rng.permuted(array, axis=1).copy_to_host() // 3 % 50, 1, 2).reshape(6, 50)
    assert len(set(map(tuple, lines.tolist()))) == 6
    flat = rng.permuted(array).copy_to_host()
    assert np.array_equal(np.sort(flat.ravel()), array.ravel())
    assert not np.array_equal(flat, array)
    # Longer lines than a thread shuffles.
    long = np.tile(np.arange(1500), (2, 1))
    found = rng.permuted(long, axis=1).copy_to_host()
    assert np.array_equal(np.sort(found, axis=1), long)
    assert not np.array_equal(found[0], found[1])


def test_permuted_writes_to_out_which_may_be_the_array_itself():
    array = np.arange(12).reshape(3, 4)
    expected = rand.default_rng(1).permuted(array, axis=1).copy_to_host()
    for out in (np.empty_like(array), device_array(array.shape, array.dtype)):
        assert rand.default_rng(1).permuted(array, axis=1, out=out) is out
        assert np.array_equal(np.asarray(out.tolist()), expected)
    own = array.copy()
    rand.default_rng(1).permuted(own, axis=1, out=own)
    assert np.array_equal(own, expected)


@pytest.mark.parametrize("size", [0, 1, 12, 1200])
@pytest.mark.parametrize("place", [lambda array: array, to_device])
def test_what_is_shuffled_is_copied(size, place):
    array = place(np.arange(size))
    rows = place(np.arange(4 * size).reshape(4, size))
    rng = rand.default_rng(3)
    for result in (
        rng.permutation(array),
        rng.permuted(array),
        rng.permuted(rows, axis=0),
        rng.permuted(rows, axis=1),
        rng.permutation(rows),
        rng.choice(rows, 4, replace=False),
    ):
        result.copy_to_device(np.full(result.shape, -1))
    for each, expected in ((array, np.arange(size)), (rows, np.arange(4 * size))):
        host = each if isinstance(each, np.ndarray) else each.copy_to_host()
        assert np.array_equal(host.reshape(-1), expected)


@pytest.mark.parametrize("length", [9, 1100])
@pytest.mark.parametrize("dtype", ["i1", "f2", "f4", "c8", "c16", "U2"])
def test_elements_of_all_sizes_go_where_their_numbers_go(length, dtype):
    numbers = np.arange(2 * length).reshape(2, length)
    array = (numbers % 100).astype(dtype)
    for call in ("permuted(x)", "permuted(x, axis=1)", "permutation(x, axis=1)"):
        found, places = (
            eval(call, {}, {"x": x, **_methods()}).copy_to_host() for x in (array, numbers)
        )
        assert np.array_equal(found, array.reshape(-1)[places]), call


def _methods():
    rng = rand.default_rng(8)
    return {"permuted": rng.permuted, "permutation": rng.permutation}


def test_shuffle_changes_arrays_and_lists_in_place():
    array = np.arange(24).reshape(4, 6)
    expected = rand.default_rng(9).permutation(array, axis=1).copy_to_host()
    host, device, strided = array.copy(), to_device(array), np.zeros((4, 12), int)[:, ::2]
    strided[...] = array
    turned = to_device(array.T.copy()).T
    for each in (host, device, strided, turned):
        assert rand.default_rng(9).shuffle(each, axis=1) is None
        assert np.array_equal(
            each if isinstance(each, np.ndarray) else each.copy_to_host(), expected
        )
    things = array.astype(object)
    rand.default_rng(9).shuffle(things, axis=1)
    assert np.array_equal(things, expected)
    letters = list("abcdefgh")
    rand.default_rng(9).shuffle(letters)
    assert sorted(letters) == list("abcdefgh")
    order = rand.default_rng(9).permutation(8).copy_to_host()
    assert letters == ["abcdefgh"[place] for place in order]


def test_choice_with_putting_back():
    rng = rand.default_rng(3)
    chosen = rng.choice(7, 7000).copy_to_host()
    assert stats.chisquare(np.bincount(chosen, minlength=7)).pvalue > LIMIT
    chances = np.array([0.1, 0.0, 0.2, 0.7, 0.0])
    chosen = rng.choice(5, 10_000, p=chances).copy_to_host()
    counts = np.bincount(chosen, minlength=5)
    assert counts[1] == counts[4] == 0
    used = [0, 2, 3]
    assert stats.chisquare(counts[used], 10_000 * chances[used]).pvalue > LIMIT
    words = np.array(["a", "bb", "ccc"])
    found = rng.choice(words, (2, 50)).copy_to_host()
    assert found.shape == (2, 50)
    assert set(found.ravel()) == set(words)


@pytest.mark.parametrize("p", [None, [0.4, 0.3, 0.2, 0.1]])
def test_choice_without_putting_back_is_one_after_the_other(p):
    rng, repetitions = rand.default_rng(3), 8 * scaled(150)
    counts = Counter(
        tuple(rng.choice(4, 2, replace=False, p=p).copy_to_host().tolist())
        for _ in range(repetitions)
    )
    chances = p or [0.25] * 4
    pairs = [(i, j) for i in range(4) for j in range(4) if i != j]
    expected = [repetitions * chances[i] * chances[j] / (1 - chances[i]) for i, j in pairs]
    assert set(counts) <= set(pairs)
    assert stats.chisquare([counts[pair] for pair in pairs], expected).pvalue > LIMIT


def test_a_choice_takes_what_has_hardly_a_chance_last():
    chosen = rand.default_rng(8).choice(3, 3, replace=False, p=[5e-324, 0.5, 0.5]).copy_to_host()
    assert chosen[-1] == 0
    assert sorted(chosen) == [0, 1, 2]


def test_a_choice_of_few_of_many_repeats_none():
    rng = rand.default_rng(3)
    chosen = np.concatenate(
        [rng.choice(10_000, 600, replace=False).copy_to_host() for _ in range(5)]
    ).reshape(5, 600)
    assert all(np.unique(row).size == 600 for row in chosen)
    assert stats.kstest(chosen.ravel() / 10_000, stats.uniform().cdf).pvalue > LIMIT
    # More than memory would hold, were all of them shuffled.
    assert len(set(rng.choice(2**62, 50, replace=False).copy_to_host().tolist())) == 50


def test_choice_along_an_axis_takes_sub_arrays():
    array = np.arange(2 * 3 * 4).reshape(2, 3, 4)
    for axis in (0, 1, 2, -1):
        found = rand.default_rng(5).choice(array, (2, 5), axis=axis).copy_to_host()
        places = rand.default_rng(5).choice(array.shape[axis], (2, 5)).copy_to_host()
        assert np.array_equal(found, np.take(array, places, axis))
    one = rand.default_rng(5).choice(to_device(array), axis=1).copy_to_host()
    assert np.array_equal(one, array[:, rand.default_rng(5).choice(3)])
