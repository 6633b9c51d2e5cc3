import mpmath as mp
import pytest

from tools import derive_coefficients as tool

QUICK = [fit for fit in tool.FITS if fit.degree <= 6]


@pytest.fixture(autouse=True)
def _digits():
    with mp.workdps(60):
        yield


@pytest.mark.parametrize("fit", QUICK, ids=lambda fit: fit.name)
def test_file_holds_what_the_tool_derives(fit):
    assert tool.render(fit) in tool.TARGET.read_text()


def test_error_of_a_fit_is_the_largest_on_the_interval():
    fit = tool.Fit("EXP", "exp(x)", 3, -1.0, 1.0, mp.exp, lambda x: mp.mpf(1))
    coefficients, worst = tool.remez(fit)
    errors = [abs(tool.evaluate(coefficients, x) - mp.exp(x)) for x in mp.linspace(-1, 1, 501)]
    assert max(errors) == pytest.approx(worst, rel=1e-3)
    assert worst == pytest.approx(0.005528, rel=1e-3)  # E. W. Cheney's example of a best cubic


def test_every_name_is_written_once():
    text = tool.TARGET.read_text()
    for fit in tool.FITS:
        assert text.count(f"\n{fit.name} = (") == 1
