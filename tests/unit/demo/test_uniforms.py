"""The demonstration's random numbers are checked and drawn."""

from __future__ import annotations

import io

import numpy as np

from pygpulib.demo import show, uniforms


def test_even_and_uneven_numbers():
    numbers = np.random.default_rng(1).random(100_000, np.float32)
    assert abs(uniforms.deviation(uniforms.count_in_bins(numbers))) < 4
    assert uniforms.deviation(uniforms.count_in_bins(numbers**2)) > 100
    assert uniforms.deviation(np.full(uniforms.BINS, 50)) < -10


def test_picture():
    counts = np.full(uniforms.BINS, 10)
    counts[3] = 0
    image = uniforms.draw_histogram(counts)
    assert image.shape == (uniforms.HEIGHT, 2 * uniforms.BINS)
    assert len(set(image[:, 6])) == 1
    assert np.count_nonzero(image[:, 0] == image[-1, 0]) in range(
        uniforms.HEIGHT // 2, uniforms.HEIGHT // 2 + 2
    )


def test_report(tmp_path):
    out = io.StringIO()
    assert show.show_uniforms(tmp_path / "uniforms.png", out) == 0
    assert (tmp_path / "uniforms.png").read_bytes().startswith(b"\x89PNG")
    assert "1,000,000 from XORWOW" in out.getvalue()
