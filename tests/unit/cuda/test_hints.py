import warnings

import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.errors import ArgumentError, ConfigurationWarning, LaunchError, PyGpuLibWarning


@pytest.mark.parametrize("bounds", [None, 128, (128,), (128, 2), (128, 2, 1), [64, 1]])
def test_launch_bounds(bounds):
    cuda.jit(launch_bounds=bounds)


@pytest.mark.parametrize("bounds", [(1, 2, 3, 4), (), 0, -1, (128, 0), "128", 1.5, True, (None,)])
def test_wrong_launch_bounds(bounds):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        cuda.jit(launch_bounds=bounds)
    assert isinstance(caught.value, ArgumentError)
    many = isinstance(bounds, tuple) and len(bounds) > 3
    assert str(caught.value) == (
        f"the option launch_bounds of cuda.jit is {bounds!r}\n"
        f"{'Got 4 launch bounds: at most 3 are possible' * many}{chr(10) * many}"
        "expected a positive integer or a tuple of one to three: threads per block, blocks per "
        "multiprocessor, blocks per cluster"
    )


@pytest.mark.parametrize("carveout", [None, -1, 0, 50, 100, "MaxL1", "maxshared", "Default"])
def test_carveouts(carveout):
    cuda.jit(shared_memory_carveout=carveout)


@pytest.mark.parametrize("carveout", [-2, 101, 50.0, "half", "", True, (1,)])
def test_wrong_carveouts(carveout):
    with pytest.raises(ArgumentError) as caught:
        cuda.jit(shared_memory_carveout=carveout)
    assert str(caught.value) == (
        f"the option shared_memory_carveout of cuda.jit is {carveout!r}\n"
        "Invalid carveout value: an integer must be between -1 and 100, a name 'MaxL1', "
        "'MaxShared' or 'default'"
    )


FLAGS = {
    "cache": "whether the machine code is kept on disk",
    "debug": "whether kernels check bounds and raise exceptions",
    "device": "whether it is a function that kernels call",
    "fastmath": "whether floating-point arithmetic may be approximate",
    "fma": "whether multiply and add may be contracted into one rounding",
    "forceinline": "whether the function is always inlined",
    "lineinfo": "whether the code tells which lines it comes from",
    "lto": "whether code is optimized when it is linked",
    "opt": "whether the code is optimized",
}


@pytest.mark.parametrize("value", ["yes", "", 7, -1, 1.0, [], ("a",), np.array([True])])
@pytest.mark.parametrize("name", FLAGS)
def test_what_is_neither_true_nor_false(name, value):
    with pytest.raises(ArgumentError) as caught:
        cuda.jit(**{name: value})
    assert str(caught.value) == (
        f"the option {name} of cuda.jit is {value!r}\nexpected True or False: {FLAGS[name]}"
    )


@pytest.mark.parametrize("value", [True, False, None, 1, 0, np.True_, np.False_])
@pytest.mark.parametrize("name", FLAGS)
def test_what_is_true_or_false(name, value):
    cuda.jit(**{name: value})


@pytest.mark.parametrize("liberties", [set(), {"nnan", "contract"}, frozenset({"fast"})])
def test_names_of_liberties_allow_approximations(liberties):
    @cuda.jit(fastmath=liberties)
    def kernel():
        pass

    assert kernel.options.fastmath is bool(liberties)


@pytest.mark.parametrize("inline", [None, True, False, "always", "never", lambda *_: True])
def test_inlining(inline):
    cuda.jit(inline=inline)


@pytest.mark.parametrize("inline", ["sometimes", "", 2, 1.0, ["always"]])
def test_wrong_inlining(inline):
    with pytest.raises(ArgumentError) as caught:
        cuda.jit(inline=inline)
    assert str(caught.value) == (
        f"the option inline of cuda.jit is {inline!r}\nexpected 'always', 'never', True or False"
    )


@pytest.mark.parametrize("count", [0, -1, 3.0, "32", True])
def test_wrong_numbers_of_registers(count):
    with pytest.raises(ArgumentError) as caught:
        cuda.jit(max_registers=count)
    assert str(caught.value) == (
        f"the option max_registers of cuda.jit is {count!r}\n"
        "expected a positive integer: registers per thread"
    )


@pytest.mark.parametrize(
    ("name", "effect"),
    [
        ("opt", "code for debugging that is optimized is not supported by CUDA"),
        (
            "lineinfo",
            "debug and lineinfo are mutually exclusive, because code for debugging is full of line "
            "information",
        ),
    ],
)
def test_options_that_do_not_go_with_debug(name, effect):
    with pytest.warns(ConfigurationWarning) as caught:
        cuda.jit(debug=True, **{name: True})
    (warning,) = caught
    assert str(warning.message) == (
        f"cuda.jit was given debug=True and {name}=True: {effect}\n"
        f"help: leave {name} out, or set debug=False"
    )
    assert warning.filename == __file__
    assert issubclass(ConfigurationWarning, PyGpuLibWarning)


def test_options_that_go_with_debug():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cuda.jit(debug=True)
        cuda.jit(debug=True, opt=False, lineinfo=False)
        cuda.jit(debug=False, opt=True, lineinfo=True)


def test_larger_blocks_than_the_bound_are_refused():
    @cuda.jit(launch_bounds=(64, 2))
    def fill(a):
        i = cuda.grid(1)
        if i < a.size:
            a[i] = 1

    a = np.zeros(200)
    for block in (65, (9, 8), (4, 4, 5)):
        with pytest.raises(LaunchError) as caught:
            fill[1, block](a)
        threads = int(np.prod(block))
        assert str(caught.value) == (
            f"the block of a launch has {threads} threads, but the kernel fill was made for 64 at "
            "most\nits option launch_bounds says so\n"
            "help: use smaller blocks, or a larger bound"
        )
    assert not a.any()
    fill[1, (8, 8)](a[:20])
    fill.forall(a.size)(a)
    assert list(fill.get_max_threads_per_block().values()) == [64]
    assert a.all()
