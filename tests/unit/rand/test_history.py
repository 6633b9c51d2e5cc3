"""Notes of what generators were told and asked for."""

from __future__ import annotations

import pytest

from pygpulib.rand import history
from pygpulib.rand.history import History, Setting, replay
from pygpulib.rand.request import Distribution, make_request

RAW = make_request(Distribution.RAW, "uint32")
SINGLE = make_request(Distribution.UNIFORM, "float32")
DOUBLE = make_request(Distribution.UNIFORM, "float64")
NORMAL = make_request(Distribution.NORMAL, "float32", 5, 2)
BINOMIAL = make_request(Distribution.BINOMIAL, "uint32", 5, 0.5)
SMALL, LARGE = (make_request(Distribution.POISSON, "uint32", mean) for mean in (3, 2000))


def events_of(words):
    """Return what a replay does, with distributions by name."""
    events = []
    replay(
        words,
        lambda setting, value: events.append((setting.name, value)),
        lambda request, size: events.append((request.distribution.value, request.dtype, size)),
    )
    return events


def test_requests_that_move_a_generator_alike_are_one_event():
    notes = History()
    for request in (RAW, SINGLE, SMALL, DOUBLE, BINOMIAL, NORMAL, LARGE):
        notes.ask(request, 10)
    assert events_of(notes.words) == [
        ("uniform", "float32", 30),
        ("uniform", "float64", 20),
        ("normal", "float32", 10),
        ("poisson", "uint32", 10),
    ]


def test_an_anew_started_generator_keeps_its_settings_only():
    notes = History()
    notes.tell(Setting.SEED, 3, restarts=False)
    notes.tell(Setting.OFFSET, 7, restarts=True)
    notes.ask(SINGLE, 5)
    notes.tell(Setting.SEED, 4, restarts=False)
    notes.tell(Setting.OFFSET, 9, restarts=True)
    assert events_of(notes.words) == [("SEED", 4), ("OFFSET", 9)]


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(history, "MAX_EVENTS", 4)


def test_too_many_events_are_forgotten_until_the_next_start(few):
    notes = History()
    for _ in range(3):
        notes.ask(SINGLE, 1)
        notes.ask(DOUBLE, 1)
    assert notes.words is None
    notes.tell(Setting.SEED, 3, restarts=False)
    assert notes.words is None
    notes.tell(Setting.OFFSET, 0, restarts=True)
    notes.ask(DOUBLE, 1)
    expected = [("SEED", 3), ("OFFSET", 0), ("uniform", "float64", 1)]
    assert events_of(notes.words) == expected


def test_many_settings_are_not_forgotten(few):
    notes = History()
    notes.tell(Setting.OFFSET, 5, restarts=True)
    for seed in range(20):
        notes.tell(Setting.SEED, seed, restarts=False)
    assert ("OFFSET", 5) in events_of(notes.words)
    assert events_of(notes.words)[-1] == ("SEED", 19)


def test_a_history_is_gone_on_with():
    notes = History()
    notes.tell(Setting.DIMENSIONS, 2, restarts=False)
    notes.ask(SINGLE, 4)
    other = History(notes.words)
    other.ask(SINGLE, 6)
    assert events_of(other.words) == [("DIMENSIONS", 2), ("uniform", "float32", 10)]
    assert History(None).words is None
