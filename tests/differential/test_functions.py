"""The functions of ``math``, ``cmath`` and NumPy under their public names, for every dtype.

How accurate they are is tested elsewhere, one by one against exact arithmetic; here every name is
called in kernels, alone and mixed, and compared with the host's function of the same name.
"""

import cmath
import math
import zlib

import numpy as np
import pytest

from pygpulib.core.dtypes import ALL_DTYPES
from tests.helpers import contract
from tests.helpers.ways import define, run_interpreted, run_native

REALS = [row.numpy for row in ALL_DTYPES if not row.is_complex]

# Names of `math`, and NumPy's for the same function if it has it.
SAME = (
    *("cos", "cosh", "degrees", "exp", "expm1", "fabs", "isfinite", "isinf", "isnan", "log"),
    *("log10", "log1p", "log2", "radians", "sin", "sinh", "sqrt", "tan", "tanh", "exp2", "cbrt"),
)
ARCS = ("acos", "acosh", "asin", "asinh", "atan", "atanh")
ONE = {
    **{name: name for name in SAME},
    **{name: name.replace("a", "arc", 1) for name in ARCS},
    **dict.fromkeys(("erf", "erfc", "gamma", "lgamma")),
}
TWO = ("atan2", "copysign", "fmod", "hypot", "pow", "remainder")
ONLY_NUMPY = ["ceil", "floor", "trunc", "deg2rad", "rad2deg", "rint", "square"]
ONLY_NUMPY += ["reciprocal", "sign", "signbit"]
ONLY_NUMPY_TWO = ["maximum", "minimum", "fmax", "fmin"]
EXACT = {
    *("ceil", "floor", "trunc", "fabs", "isnan", "isinf", "isfinite", "copysign", "nextafter"),
    *("fmod", "remainder", "rint", "square", "sign", "signbit", "maximum", "minimum", "fmax"),
    *("fmin", "sqrt"),
}
LOOSE = {"gamma", "lgamma", "pow", "power"}


def operands(dtype: np.dtype) -> np.ndarray:
    rng = np.random.default_rng(zlib.crc32(dtype.name.encode()))
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        return np.arange(0 if dtype.kind == "u" else -9, 12).astype(dtype)
    values = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -3.25, 30.5, 0.001, np.inf, -np.inf, np.nan]
    return np.concatenate([values, rng.normal(size=40), rng.normal(size=20) * 9]).astype(dtype)


def on_host(function, *columns):
    """Apply a function of `math` to each row in float64; nan where it raises a domain error."""
    results, holds = [], []
    for row in zip(*(column.tolist() for column in columns), strict=True):
        try:
            results.append(float(function(*map(float, row))))
        except OverflowError:
            results.append(math.inf)
        except ValueError:
            results.append(math.nan)
            holds.append(False)
            continue
        holds.append(True)
    return np.array(results), np.array(holds)


def run_all(texts: list[str], columns: tuple, outs: tuple) -> tuple:
    """Compile expressions of x and y into one kernel and run it both ways."""
    lines = ["def kernel(xs, ys, outs):", "    i = cuda.grid(1)", "    if i < xs.size:"]
    lines.append("        x, y = xs[i], ys[i]")
    lines += [f"        outs[{at}][i] = {text}" for at, text in enumerate(texts)]
    kernel = define("\n".join(lines) + "\n", "kernel", math=math, cmath=cmath)
    results = []
    for run in (run_native, run_interpreted):
        fresh = tuple(out.copy() for out in outs)
        run(kernel, (len(columns[0]) + 31) // 32, 32, *columns, fresh)
        results.append(fresh)
    return tuple(results)


def working_dtype(dtype: np.dtype) -> np.dtype:
    """Return what functions of a dtype compute in."""
    return np.dtype("f4") if dtype in (np.float16, np.float32) else np.dtype("f8")


@pytest.mark.parametrize("dtype", REALS, ids=str)
def test_real_functions(dtype):
    x = operands(dtype)
    y = np.roll(x, 5)
    work = working_dtype(dtype)
    cases = [
        *((f"math.{name}(x)", getattr(math, name), (x,)) for name in ONE),
        *((f"math.{name}(x, y)", getattr(math, name), (x, y)) for name in TWO),
    ]
    for name, other in ONE.items():
        if other is not None:
            cases.append((f"np.{other}(x)", getattr(math, name), (x,)))
    texts = [text for text, _, _ in cases]
    outs = tuple(np.zeros(len(x), work) for _ in cases)
    with np.errstate(all="ignore"):
        native, interpreted = run_all(texts, (x, y), outs)
        for at, (text, function, columns) in enumerate(cases):
            name = function.__name__
            wide, holds = on_host(function, *(column.astype(work) for column in columns))
            expected = wide.astype(work)
            ulps = 0 if name in EXACT else 16 if name in LOOSE else 3
            for actual in (native[at], interpreted[at]):
                near = contract.within_ulps(actual, expected, ulps)
                near |= np.abs(actual - expected) <= (1e-14 if name == "lgamma" else 0)
                contract.assert_all(near | ~holds, text, x=x, y=y, actual=actual, expected=expected)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_functions_of_numpy_alone(dtype):
    x = operands(np.dtype(dtype))
    y = np.roll(x, 7)
    calls = [(name, f"np.{name}(x)", (x,)) for name in ONLY_NUMPY]
    calls += [(name, f"np.{name}(x, y)", (x, y)) for name in ONLY_NUMPY_TWO]
    calls += [("power", "np.power(x, y)", (x, y)), ("nextafter", "np.nextafter(x, y)", (x, y))]
    outs = []
    with np.errstate(all="ignore"):
        for name, _, columns in calls:
            # On some processors NumPy's powers are several units in the last place off.
            wide = [each.astype("g") for each in columns] if name == "power" else columns
            expected = getattr(np, name)(*wide)
            outs.append(expected.astype(dtype) if name == "power" else expected)
    native, interpreted = run_all([text for _, text, _ in calls], (x, y), tuple(outs))
    for (name, text, _), expected, *actual in zip(calls, outs, native, interpreted, strict=True):
        for column in actual:
            same = (
                contract.within_ulps(column, expected, 0 if name in EXACT else 4)
                if (expected.dtype.kind == "f")
                else column == expected
            )
            if name in ("maximum", "minimum", "fmax", "fmin", "sign"):  # which zero is not promised
                same |= (column == 0) & (expected == 0)
            contract.assert_all(same, text, x=x, y=y, actual=column, expected=expected)


def test_functions_with_several_results():
    x = operands(np.dtype("f8"))
    finite = x[np.isfinite(x)]
    texts = ["math.modf(x)[0]", "math.modf(x)[1]", "math.frexp(x)[0]", "math.frexp(x)[1]"]
    texts += ["math.ldexp(x, 3)", "math.log(abs(x) + 1, 3)", "divmod(x, 2.5)[1]", "round(x, 1)"]
    outs = tuple(np.zeros(len(finite)) for _ in texts)
    expected = [
        [
            *(*math.modf(value), *math.frexp(value), math.ldexp(value, 3)),
            *(math.log(abs(value) + 1, 3), divmod(value, 2.5)[1], round(value, 1)),
        ]
        for value in finite.tolist()
    ]
    for results in run_all(texts, (finite, finite), outs):
        np.testing.assert_allclose(np.transpose(results), expected, rtol=1e-15)


COMPLEX = ("exp", "log", "log10", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh")


@pytest.mark.parametrize(
    ("dtype", "names"),
    [
        ("c8", [f"np.{name}(x)" for name in (*COMPLEX, *(ONE[name] for name in ARCS))]),
        ("c16", ["cmath.rect(abs(x), cmath.phase(x))", "complex(*cmath.polar(x))"]),
        ("f4", ["cmath.sqrt(x)", "cmath.exp(x)", "cmath.cosh(x)"]),
        ("i4", ["cmath.sqrt(x)", "cmath.atanh(x)", "cmath.log(x, 3)"]),
    ],
)
def test_complex_functions(dtype, names):
    """Functions of ``cmath`` take real numbers too, and then give complex ones."""
    rng = np.random.default_rng(3)
    z = rng.normal(size=60) * 2 + 1j * rng.normal(size=60)
    z = z.astype(dtype) if dtype[0] == "c" else (z.real * 2).astype(dtype)
    work = np.dtype("c8" if dtype in ("c8", "f4") else "c16")
    bound = 8 * np.finfo(work).eps
    for results in run_all(names, (z, z), tuple(np.zeros(len(z), work) for _ in names)):
        for text, actual in zip(names, results, strict=True):
            expected = np.array([_complex_on_host(text, complex(value)) for value in z])
            with np.errstate(all="ignore"):
                near = np.abs(actual - expected) <= bound * np.abs(expected) + bound / 8
            contract.assert_all(
                near | ~np.isfinite(expected), text, x=z, actual=actual, expected=expected
            )


def _complex_on_host(text: str, x: complex) -> complex:
    try:
        return complex(eval(text, {"cmath": cmath, "np": np, "x": x}))
    except (ValueError, ZeroDivisionError, OverflowError):
        return complex(math.nan)
