"""Names, signatures, shapes, types and errors of `Generator`, against NumPy's."""

from __future__ import annotations

import inspect
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from pygpulib import rand
from pygpulib.core.array import ndarray
from pygpulib.core.creation import device_array, to_device
from pygpulib.core.device import current_driver
from pygpulib.core.driver_cpu import CpuDriver
from pygpulib.errors import ArgumentError, ArgumentTypeError, PyGpuLibError


def ours():
    return rand.default_rng(12)


def theirs():
    return np.random.default_rng(12)


PUBLIC = [name for name in dir(np.random.Generator) if not name.startswith("_")]


def test_every_method_of_numpy_is_there_with_its_parameters_and_defaults():
    for name in PUBLIC:
        expected = getattr(np.random.Generator, name)
        assert hasattr(rand.Generator, name), name
        if not callable(expected):
            continue
        found = inspect.signature(getattr(rand.Generator, name)).parameters
        wanted = inspect.signature(expected).parameters
        assert list(found) == list(wanted), name
        for each, parameter in wanted.items():
            assert found[each].default == parameter.default, (name, each)
            if each != "self":
                assert found[each].kind == parameter.kind, (name, each)


def test_every_method_is_documented():
    for name in PUBLIC:
        assert getattr(rand.Generator, name).__doc__, name


SCALAR_CALLS = """
random()
random(dtype=np.float32)
standard_normal()
standard_exponential()
standard_gamma(2.0)
normal()
normal(np.array(1.0))
uniform(1, 2)
exponential()
integers(10)
integers(10, dtype=np.int8)
integers(10, dtype=np.uint64)
integers(10, dtype=int)
integers(2, dtype=bool)
integers(0, 2, dtype=np.bool_)
binomial(5, 0.3)
poisson()
geometric(0.3)
zipf(2.0)
logseries(0.3)
hypergeometric(5, 6, 3)
negative_binomial(3, 0.3)
choice(5)
choice([1.5, 2.5])
choice(["a", "b"])
bytes(7)
"""


@pytest.mark.parametrize("call", SCALAR_CALLS.split("\n")[1:-1])
def test_without_size_numbers_come_as_numbers(call):
    found, expected = (eval(f"rng.{call}", {"rng": rng, "np": np}) for rng in (ours(), theirs()))
    assert type(found) is type(expected)
    if isinstance(expected, bytes):
        assert len(found) == len(expected)


ARRAY_CALLS = """
random(3)
random((2, 3))
random(())
random(0)
random((2, 0))
random(5, dtype="f4")
normal(size=())
normal([0, 1, 2])
normal([[0], [1]], [1, 2, 3])
normal([0, 1, 2], size=(2, 3))
normal([0, 1, 2], size=(0, 3))
normal(np.zeros((0, 3)))
standard_gamma([1, 2], dtype=np.float32)
standard_gamma(2.0, size=4)
integers(5, size=3)
integers([5, 6])
integers([[1], [2]], [5, 6])
integers(5, size=(2, 2), dtype="u1")
integers([1, 2], 5, size=(3, 2), dtype=np.int16)
integers(2, size=4, dtype=bool)
integers(0, size=0)
integers(-3, 3, 4, np.int32, True)
binomial([5, 6], 0.5)
binomial(10.0, 0.5, 3)
hypergeometric(5, [6, 7], 3)
poisson([1.0, 20.0], (3, 2))
triangular([0, 1], [1, 2], 4)
multinomial(5, [0.2, 0.8])
multinomial(5, [0.2, 0.8], size=3)
multinomial([5, 6], [0.2, 0.8])
multinomial([[5], [6]], [[0.2, 0.8], [0.5, 0.5], [1.0, 0.0]])
multinomial([5, 6], [[0.2, 0.8], [0.5, 0.5]], size=(3, 2))
multinomial(5, [1.0])
multinomial(5, [0.2, 0.8], size=0)
multivariate_hypergeometric([3, 4, 5], 6)
multivariate_hypergeometric([3, 4, 5], 6, size=(2, 2), method="count")
multivariate_normal([0, 1], np.eye(2))
multivariate_normal([0, 1], np.eye(2), size=3)
multivariate_normal([0, 1], np.eye(2), (2, 3), method="cholesky")
multivariate_normal([0, 1], np.eye(2), (2, 0), method="eigh")
dirichlet([1.0, 2.0, 0.5])
dirichlet([1.0, 2.0], size=(3, 2))
dirichlet([])
choice(5, 3)
choice(5, (2, 2), replace=False)
choice(5, ())
choice(0, 0)
choice([[1, 2, 3], [4, 5, 6]])
choice([[1, 2, 3], [4, 5, 6]], (2, 2), axis=1)
choice(np.zeros((2, 3, 4), "c16"), 5, axis=-1)
choice(5, 3, p=[0.2] * 5)
choice(5, 3, False, [0.2] * 5)
choice(["a", "bcd"], 4)
permutation(4)
permutation(0)
permutation([3.5, 4.5])
permutation([[1, 2], [3, 4]], axis=1)
permuted([[1, 2], [3, 4]])
permuted([[1, 2], [3, 4]], axis=1)
permuted(np.zeros((0, 3)), axis=0)
"""


@pytest.mark.parametrize("call", ARRAY_CALLS.split("\n")[1:-1])
def test_arrays_have_the_shapes_and_dtypes_of_numpy(call):
    found, expected = (eval(f"rng.{call}", {"rng": rng, "np": np}) for rng in (ours(), theirs()))
    assert isinstance(found, ndarray)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)


ERRORS = """
normal(0, -1) | the argument scale is -1
normal(0, [1, -2]) | the argument scale holds -2
normal("a") | the argument loc is 'a'
normal(None) | the argument loc is None
normal([0, 1], size=3) | cannot be broadcast
normal([0, 1], size=()) | cannot be broadcast
normal([0, 1], [1, 2, 3]) | parameters of shapes \\(2,\\), \\(3,\\)
normal(size=-1) | negative length
normal(size=2.5) | the argument size is 2.5
random(3, dtype="i4") | random was asked for numbers of type int32
standard_normal(dtype="f2") | float16
random(4, out=np.empty(3)) | the argument size is \\(4,\\), and out has the shape \\(3,\\)
random(out=np.empty(6)[::2]) | cannot be filled as it lies in memory
random(out=np.empty(3, "f4")) | the argument out holds float32
standard_gamma([1, 2], out=np.empty(3)) | cannot be broadcast
standard_gamma(-1.0) | the argument shape is -1
integers(0) | there are no integers between the bounds
integers(5, 3) | there are no integers between the bounds
integers([1, 3], 3) | there are no integers between the bounds
integers(5, dtype=np.float32) | integers were asked for as float32
integers(300, dtype=np.uint8) | the argument high is outside of what uint8 holds
integers(-1, 3, dtype=np.uint8) | the argument low is outside of what uint8 holds
integers(3, dtype=bool) | the argument high is outside of what bool holds
integers([1, 2], [3, 4, 5]) | parameters of shapes
integers("a") | the argument low is 'a'
poisson(-1) | the argument lam is -1
poisson(1e20) | the argument lam is 1e\\+20
poisson(np.nan) | the argument lam is nan
beta(0, 1) | the argument a is 0
geometric(0) | the argument p is 0
geometric(1.5) | the argument p is 1.5
zipf(1.0) | the argument a is 1
logseries(1.0) | the argument p is 1
binomial(-1, 0.5) | the argument n is -1
binomial(2, 1.5) | the argument p is 1.5
binomial(2**63, 0.5) | does not fit into 64 bits
hypergeometric(1, 1, 5) | larger than ngood \\+ nbad
hypergeometric(-1, 1, 1) | the argument ngood is -1
hypergeometric(10**10, 1, 5) | too large
negative_binomial(0, 0.5) | the argument n is 0
negative_binomial(np.nan, 0.5) | the argument n is nan
binomial(2**64, 0.5) | does not fit into 64 bits
binomial(np.uint64(2**63), 0.5) | does not fit into 64 bits
normal(10**400) | the argument loc is 1000
normal([[1, 2], [3]]) | the argument loc is a list with rows of different lengths
normal(["a", "b"]) | the argument loc is an array of <U1
multivariate_normal([0], [[1]], tol="a") | the argument tol is 'a'
random(dtype="x") | 'x' is not a dtype
standard_gamma(1, dtype=object()) | is not a dtype
negative_binomial(1, 0) | the argument p is 0
negative_binomial(1e18, 1e-9) | do not fit into 64 bits
negative_binomial(1e300, 1e-10) | do not fit into 64 bits
negative_binomial(5, [1, 5e-324]) | do not fit into 64 bits
triangular(1, 0, 2) | not in order
triangular(0, 3, 2) | not in order
triangular(0, 0, 0) | not in order
uniform(0, np.inf) | not finite
uniform(2, 1) | the argument high is below
vonmises(0, -1) | the argument kappa is -1
wald(0, 1) | the argument mean is 0
weibull(-1) | the argument a is -1
power(0) | the argument a is 0
multinomial(3, [0.9, 0.6, 0.1]) | have the sum 1.5
multinomial(-3, [0.5, 0.5]) | the argument n is -3
multinomial(3, []) | no outcomes
multinomial(3, 0.5) | no outcomes
multivariate_hypergeometric([3, 4], 8) | nsample is 8, and colors has the sum 7
multivariate_hypergeometric([3, 4], 2, method="x") | the argument method is 'x'
multivariate_hypergeometric([3, -4], 2) | the argument colors holds -4
multivariate_hypergeometric([10**9, 4], 2, method="marginals") | the sum 1000000004
dirichlet([1, -1]) | the argument alpha holds -1
dirichlet(3.0) | the argument alpha has 0 axes
multivariate_normal([0], [[1, 2], [3, 4]]) | the argument cov has the shape \\(2, 2\\)
multivariate_normal([0, 1], [[1, 2], [3, 4]], check_valid="raise") | not a matrix of covariances
multivariate_normal([0, 1], [[1, 2], [2, 1]], method="cholesky") | not positive definite
multivariate_normal([0, 1], np.eye(2), method="x") | the argument method is 'x'
multivariate_normal([0, 1], np.eye(2), check_valid="x") | the argument check_valid is 'x'
multivariate_normal([[0, 1]], np.eye(2)) | the argument mean has 2 axes
choice(0) | nothing to choose from
choice(-1) | the number of things is -1
choice(2**63 + 1, 3) | the number of things is 9223372036854775809
permutation(10**19) | the number of things is 10000000000000000000
choice([], 3) | nothing to choose from
choice(2.5) | the argument a is 2.5
choice(5, 6, replace=False) | 6 elements were to be chosen from 5
choice(5, 3, p=[0.3] * 5) | have the sum 1.5
choice(5, 3, p=[0.2] * 4) | the argument p has the shape \\(4,\\)
choice(5, 3, p=[1, 0, 0, 0, 0], replace=False) | expected at most 1
choice(5, 3, p=[-0.2, 0.3, 0.3, 0.3, 0.3]) | the argument p holds -0.2
choice([1, 2], axis=1) | axis 1 is out of bounds
permutation(2.5) | the argument x is 2.5
permutation([1, 2], axis=1) | axis 1 is out of bounds
shuffle(5) | a int cannot be shuffled
shuffle((1, 2)) | a tuple cannot be shuffled
permuted([3, 4], axis=2) | axis 2 is out of bounds
permuted([3, 4], out=np.empty(3)) | the argument out has the shape \\(3,\\)
permuted(5) | the argument x is 5
permuted([1.5, 2.5], out=np.empty(2, int)) | the argument out holds int64
permuted([1.5, 2.5], out=np.empty(2, "f4")) | the argument out holds float32
choice(np.ones((2, 2)), axis=1.5) | the argument axis is 1.5
permuted(np.ones((2, 2)), axis="a") | the argument axis is 'a'
shuffle(np.ones((2, 2)), axis=None) | the argument axis is None
integers(3, dtype="x") | 'x' is not a dtype
"""


@pytest.mark.parametrize("case", ERRORS.split("\n")[1:-1])
def test_what_numpy_refuses_is_refused_in_words(case):
    call, _, message = case.partition(" | ")
    with pytest.raises(Exception) as expected:  # noqa: PT011
        eval(f"rng.{call}", {"rng": theirs(), "np": np})
    with pytest.raises(PyGpuLibError, match=message) as found:
        eval(f"rng.{call}", {"rng": ours(), "np": np})
    kinds = (ValueError, TypeError)
    wanted = next((kind for kind in kinds if isinstance(expected.value, kind)), Exception)
    # Where NumPy takes a wrong type for a wrong value, or the other way around, we say it is one.
    if call.split("(")[0] not in {"normal", "choice", "permutation", "integers", "dirichlet"}:
        assert isinstance(found.value, wanted)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("binomial(2.5, 0.5)", "the argument n is 2.5"),
        ("integers(2.5)", "the argument low is 2.5"),
        ("random(out=[1.0])", "the argument out is a list"),
        ("standard_exponential(method='x')", "the argument method is 'x'"),
        ("bytes(-1)", "the argument length is -1"),
        ("bytes(2.5)", "the argument length is 2.5"),
        ("normal(1j)", "the argument loc is 1j"),
        ("multivariate_normal([0], [[1]], tol=[1e-8, 0])", "the argument tol has 1 axes"),
        ("shuffle([1, 2], axis=1)", "the argument axis is 1, and x is a list"),
        ("multivariate_hypergeometric([3, 2.5], 2)", "the argument colors is an array of float64"),
    ],
)
def test_what_numpy_lets_pass_or_refuses_otherwise_is_refused_in_words(call, message):
    with pytest.raises(PyGpuLibError, match=message):
        eval(f"rng.{call}", {"rng": ours(), "np": np})


def test_covariances_that_are_none_are_worth_a_warning():
    with pytest.warns(RuntimeWarning, match="not a matrix of covariances"):
        ours().multivariate_normal([0, 1], [[1, 2], [2, 1]])
    ours().multivariate_normal([0, 1], [[1, 2], [2, 1]], check_valid="ignore")


def test_a_read_only_array_is_neither_filled_nor_shuffled():
    array = np.arange(5.0)
    array.flags.writeable = False
    with pytest.raises(PyGpuLibError, match="cannot be filled"):
        ours().random(out=array)
    with pytest.raises(PyGpuLibError, match="read-only"):
        ours().shuffle(array)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_out_is_filled_in_host_and_device_memory(dtype, order):
    for call in ("random", "standard_normal", "standard_exponential"):
        host = np.full((3, 5), -9.0, dtype, order=order)
        device = device_array((3, 5), dtype, order=order)
        for out in (host, device):
            assert getattr(ours(), call)(dtype=dtype, out=out) is out
        assert np.array_equal(host, device.copy_to_host())
        assert np.all(host != -9.0)
    out = np.empty((2, 3), dtype, order=order)
    ours().standard_gamma(np.array([1e-9, 1e6, 1e12]), dtype=dtype, out=out)
    assert np.all(out[:, 0] < 1)
    assert np.all(abs(out[:, 1] / 1e6 - 1) < 0.1)
    assert np.all(out[:, 2] > 1e11)


def test_parameters_may_be_arrays_of_the_device():
    mean = np.array([0.0, 1e6, 1e12])
    on_device, on_host = (ours().normal(m).copy_to_host() for m in (to_device(mean), mean))
    assert np.array_equal(on_device, on_host)
    assert np.allclose(on_host, mean, rtol=1e-3, atol=10)


def test_not_a_number_gives_not_a_number_and_no_endless_loop():
    nan = np.nan
    rng = ours()
    for call, arguments in {
        "normal": (nan, 1),
        "gamma": (nan,),
        "beta": (nan, 1),
        "chisquare": (nan,),
        "noncentral_chisquare": (3, nan),
        "noncentral_f": (3, 4, nan),
        "standard_t": (nan,),
        "wald": (nan, 1),
        "vonmises": (0, nan),
        "weibull": (nan,),
    }.items():
        assert np.isnan(getattr(rng, call)(*arguments)), call
    assert rng.gamma(0.0) == 0.0
    assert rng.gamma(np.inf) == np.inf
    assert rng.noncentral_chisquare(0.5, np.inf) == np.inf
    assert rng.weibull(0) == 0.0
    assert -np.pi <= rng.vonmises(0, np.inf) <= np.pi


def test_the_representation_names_the_bit_generator():
    assert str(ours()) == "Generator(Philox4x3210)"
    assert repr(ours()).startswith("Generator(Philox4x3210) at 0x")


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize("kind", [np.asmatrix, np.ma.asarray])
def test_subclasses_of_arrays_are_filled_and_returned(kind):
    plain, special = np.zeros((3, 4)), kind(np.zeros((3, 4)))
    rand.default_rng(5).random(out=plain)
    assert rand.default_rng(5).random(out=special) is special
    assert np.array_equal(np.asarray(special), plain)


@pytest.mark.parametrize(
    ("call", "plain"),
    [
        ("exponential(2**64)", "exponential(2.0**64)"),
        ("normal(-(2**80), Fraction(1, 4), 3)", "normal(-(2.0**80), 0.25, 3)"),
        ("gamma(np.array(2**70, object), Decimal('0.5'))", "gamma(2.0**70, 0.5)"),
        ("binomial(True, 0.25, 5)", "binomial(1, 0.25, 5)"),
        ("binomial([True, False], True)", "binomial([1, 0], 1)"),
        ("hypergeometric(np.array([True, False]), 6, 3)", "hypergeometric([1, 0], 6, 3)"),
        ("binomial(np.uint64(2**63 - 1), 0.5)", "binomial(2**63 - 1, 0.5)"),
        ("binomial(np.float16(3), np.float16(0.5), 4)", "binomial(3, 0.5, 4)"),
        ("poisson(np.array([1, 2], 'i1'))", "poisson([1.0, 2.0])"),
    ],
)
def test_whatever_is_a_number_is_taken_as_one(call, plain):
    names = {"np": np, "Fraction": Fraction, "Decimal": Decimal}
    found, expected = (eval(f"rng.{each}", {"rng": ours(), **names}) for each in (call, plain))
    np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))


@pytest.mark.parametrize("corners", [(np.nan, 1, 2), (0, np.nan, 2), (0, 1, np.nan)])
def test_triangles_without_a_number_give_none(corners):
    assert np.isnan(ours().triangular(*corners))
    assert np.isnan(theirs().triangular(*corners))


@pytest.mark.parametrize("method", ["svd", "eigh", "cholesky"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_covariances_are_finite(method, value):
    with pytest.raises(ArgumentError, match=f"cov holds {value}\nexpected a finite number"):
        ours().multivariate_normal([0, 0], [[1, 0], [0, value]], method=method)


@pytest.fixture
def lent(monkeypatch):
    """Let arrays speak the CUDA array interface, whatever else this process has imported."""
    if isinstance(current_driver(), CpuDriver):
        monkeypatch.setattr(CpuDriver, "exports_cuda_interface", True)


class OfAnotherLibrary:
    """An array that only speaks the CUDA array interface."""

    def __init__(self, array, *, is_read_only=False):
        self.array = to_device(array)
        interface = self.array.__cuda_array_interface__
        address, _ = interface["data"]
        self.__cuda_array_interface__ = {**interface, "data": (address, is_read_only)}


@pytest.mark.usefixtures("lent")
def test_arrays_of_other_libraries_are_chosen_from_and_shuffled():
    array = np.arange(12.0).reshape(3, 4)
    for call in ("choice(x, 5)", "permutation(x, axis=1)", "permuted(x, axis=0)"):
        found, expected = (
            eval(f"rng.{call}", {"rng": ours(), "x": x}) for x in (OfAnotherLibrary(array), array)
        )
        np.testing.assert_array_equal(found.copy_to_host(), expected.copy_to_host())
    other = OfAnotherLibrary(array)
    ours().shuffle(other, axis=1)
    expected = ours().permutation(array, axis=1).copy_to_host()
    np.testing.assert_array_equal(other.array.copy_to_host(), expected)
    with pytest.raises(ArgumentError, match="the array to shuffle is read-only"):
        ours().shuffle(OfAnotherLibrary(array, is_read_only=True))
    fixed = np.zeros((4, 3)).T
    fixed.flags.writeable = False
    for out in (OfAnotherLibrary(array, is_read_only=True), fixed):
        rng = ours()
        with pytest.raises(ArgumentError, match="the argument out is read-only"):
            rng.permuted(array, axis=1, out=out)
        assert rng.get_state() == ours().get_state()
    wider = np.empty(3, np.complex128)
    assert ours().permuted([1.0, 2.0, 3.0], out=wider) is wider
    assert sorted(wider.real) == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("call", ["choice", "permutation", "permuted"])
def test_ragged_lists_are_no_arrays(call):
    with pytest.raises(ArgumentTypeError, match="is a list with rows of different lengths"):
        getattr(ours(), call)([[1, 2], [3]])


@pytest.mark.usefixtures("lent")
def test_arrays_of_other_libraries_are_parameters_and_outputs():
    scales = np.array([1.0, 1e6])
    found = ours().exponential(OfAnotherLibrary(scales))
    np.testing.assert_array_equal(found.copy_to_host(), ours().exponential(scales).copy_to_host())
    out = OfAnotherLibrary(np.zeros(5))
    assert ours().random(out=out) is out
    np.testing.assert_array_equal(out.array.copy_to_host(), ours().random(5).copy_to_host())


@pytest.mark.usefixtures("lent")
def test_outputs_that_are_read_only_are_refused_and_stay_as_they_are():
    on_host, on_device = np.zeros(3), OfAnotherLibrary(np.zeros(3), is_read_only=True)
    on_host.flags.writeable = False
    for out in (on_host, on_device):
        with pytest.raises(ArgumentError, match="the argument out cannot be filled"):
            ours().random(out=out)
    assert not on_host.any()
    assert not on_device.array.copy_to_host().any()
