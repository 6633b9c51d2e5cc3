"""Floating-point arithmetic of PTX, against exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tests.fakecuda.ptx_programs import evaluate, floats, pairs, same_floats

DTYPES = {"f16": "f2", "f32": "f4", "f64": "f8"}
MODES = ["rn", "rz", "rm", "rp"]


def rounded(exact: Fraction, dtype: str, mode: str) -> float:
    """Round to a type, by the definition: pick between the two neighbours."""
    info = np.finfo(dtype)
    size, sign = abs(exact), -1 if exact < 0 else 1
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if size < Fraction(2) ** exponent:
        exponent -= 1
    unit = Fraction(2) ** (max(exponent, int(info.minexp)) - int(info.nmant))
    steps, rest = divmod(size / unit, 1)
    if mode == "rn":
        up = rest > Fraction(1, 2) or (rest == Fraction(1, 2) and steps % 2 == 1)
    else:
        up = rest > 0 and mode == ("rp" if sign > 0 else "rm")
    size = (steps + up) * unit
    largest = Fraction(float(info.max))
    if size > largest:
        # Directed modes reach infinity only away from zero.
        infinite = mode == "rn" or mode == ("rp" if sign > 0 else "rm")
        return sign * (np.inf if infinite else float(info.max))
    return sign * float(size)


def expected(function, naive, values, dtype, mode):
    """Return correctly rounded results; non-finite and zero results follow the naive ones."""
    result = np.array(naive, dtype)
    for place, row in enumerate(zip(*[v.tolist() for v in values], strict=True)):
        if np.isfinite(row).all():
            exact = function(*map(Fraction, row))
            if exact is not None and exact != 0:
                result[place] = rounded(exact, dtype, mode)
            elif exact == 0 and mode == "rm" and np.count_nonzero(row) and function is not product:
                result[place] = -0.0
    return result


def product(a, b):
    return a * b


def quotient(a, b):
    return a / b if b else None


def close_exponents(dtype, count, seed):
    """Return values between 1/4 and 4, whose sums and products really need rounding."""
    random = np.random.default_rng(seed)
    return (random.choice([-1, 1], count) * 2.0 ** random.uniform(-2, 2, count)).astype(dtype)


def operands(dtype, count, number):
    if number == 3:
        values = [np.concatenate([floats(dtype, count, s), close_exponents(dtype, count, s)])
                  for s in range(3)]  # fmt: skip
        random = np.random.default_rng(9)
        return [random.permutation(v) for v in values]
    a, b = pairs(floats(dtype, 8), floats(dtype, 8, seed=1))
    close = [close_exponents(dtype, count, seed) for seed in (4, 5)]
    return [np.concatenate([a, close[0]]), np.concatenate([b, close[1]])]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize(
    ("name", "function"),
    [("add", lambda a, b: a + b), ("sub", lambda a, b: a - b), ("mul", product), ("div", quotient)],
)
def test_arithmetic_in_all_rounding_modes(name, function, kind, mode):
    dtype = DTYPES[kind]
    a, b = operands(dtype, 100, 2)
    found = evaluate(f"{name}.{mode}.{kind} {{d}}, {{0}}, {{1}}", [a, b], dtype)
    with np.errstate(all="ignore"):
        naive = {"add": a + b, "sub": a - b, "mul": a * b, "div": a / b}[name]
    if name in ("add", "sub") and mode == "rm":
        # Equal zeros of equal signs keep their sign.
        other = b if name == "add" else -b
        naive = np.where((naive == 0) & ~((a == 0) & (other == 0) & (np.signbit(a) == np.signbit(other))), -0.0, naive)  # noqa: E501  # fmt: skip
    if name == "div":
        exact = lambda x, y: x / y if y and x else None  # noqa: E731
    else:
        exact = lambda x, y: function(x, y) or None  # noqa: E731
    same_floats(found, expected(exact, naive, [a, b], dtype, mode))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_fma_rounds_once(kind, mode):
    dtype = DTYPES[kind]
    a, b, c = operands(dtype, 150, 3)
    # Sums that nearly cancel show a second rounding best.
    with np.errstate(all="ignore"):
        c = np.where(np.arange(len(c)) % 3 == 0, -(a * b), c).astype(dtype)
        # Only a range that holds all products tells apart what is finite.
        naive = (a.astype(np.longdouble) * b + c).astype(dtype)
    found = evaluate(f"fma.{mode}.{kind} {{d}}, {{0}}, {{1}}, {{2}}", [a, b, c], dtype)
    # An exact zero: -0 when rounding down, unless both terms are +0.
    exact = lambda x, y, z: x * y + z or None  # noqa: E731
    want = expected(exact, naive, [a, b, c], dtype, mode)
    if mode == "rm":
        zero = [np.isfinite(r).all() and Fraction(r[0]) * Fraction(r[1]) + Fraction(r[2]) == 0
                for r in zip(a.tolist(), b.tolist(), c.tolist(), strict=True)]  # fmt: skip
        positive = ~np.signbit(a) ^ np.signbit(b)
        both_plus = ((a == 0) | (b == 0)) & (c == 0) & positive & ~np.signbit(c)
        want = np.where(np.array(zero) & ~both_plus, -0.0, want).astype(dtype)
        want = np.where(np.array(zero) & both_plus, 0.0, want).astype(dtype)
    same_floats(found, want)


def test_fma_at_the_ends_of_the_exponents():
    random = np.random.default_rng(7)
    count = 400
    # Products whose errors are subnormal or vanish, and factors that only just do not overflow.
    exponents = random.choice([-1073, -900, -600, -537, -520, -400, -100, 0, 400, 500, 511, 1000],
                              (3, count))  # fmt: skip
    with np.errstate(all="ignore"):
        a, b, c = (np.ldexp(random.uniform(1, 2, count), e) for e in exponents)
        c = np.where(np.arange(count) % 2 == 0, -(a * b), c)
        naive = (a.astype(np.longdouble) * b + c).astype(float)
    finite = np.isfinite(c)
    a, b, c, naive = a[finite], b[finite], c[finite], naive[finite]
    found = evaluate("fma.rn.f64 {d}, {0}, {1}, {2}", [a, b, c], "f8")
    exact = lambda x, y, z: x * y + z or None  # noqa: E731
    same_floats(found, expected(exact, naive, [a, b, c], "f8", "rn"))


def test_fma_in_half_precision():
    a, b, c = operands("f2", 150, 3)
    found = evaluate("fma.rn.f16 {d}, {0}, {1}, {2}", [a, b, c], "f2")
    with np.errstate(all="ignore"):
        naive = (a.astype(float) * b + c).astype("f2")
    exact = lambda x, y, z: x * y + z or None  # noqa: E731
    same_floats(found, expected(exact, naive, [a, b, c], "f2", "rn"))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_square_roots_and_reciprocals(kind, mode):
    dtype = DTYPES[kind]
    a = np.concatenate([floats(dtype, 40), close_exponents(dtype, 60, 1)])
    with np.errstate(all="ignore"):
        naive_root, naive_inverse = np.sqrt(a), (1 / a).astype(dtype)
    found = evaluate(f"rcp.{mode}.{kind} {{d}}, {{0}}", [a], dtype)
    same_floats(found, expected(lambda x: 1 / x if x else None, naive_inverse, [a], dtype, mode))
    roots = evaluate(f"sqrt.{mode}.{kind} {{d}}, {{0}}", [a], dtype)
    nearest = evaluate(f"sqrt.rn.{kind} {{d}}, {{0}}", [a], dtype)
    same_floats(nearest, naive_root)
    for root, value in zip(roots.tolist(), a.tolist(), strict=True):
        if not (np.isfinite(value) and value > 0):
            continue
        kind_of = np.dtype(dtype).type
        below, above = (float(np.nextafter(kind_of(root), kind_of(s))) for s in (0, np.inf))
        square = Fraction(value)
        if mode in ("rz", "rm"):
            assert Fraction(root) ** 2 <= square < Fraction(above) ** 2
        elif mode == "rp":
            assert Fraction(below) ** 2 < square <= Fraction(root) ** 2


@pytest.mark.parametrize("name", ["add", "sub", "mul"])
def test_half_precision(name):
    a, b = operands("f2", 200, 2)
    with np.errstate(all="ignore"):
        want = {"add": np.add, "sub": np.subtract, "mul": np.multiply}[name](a, b)
    same_floats(evaluate(f"{name}.rn.f16 {{d}}, {{0}}, {{1}}", [a, b], "f2"), want)
    packed = [np.resize(x, 2 * len(x)).view("u4") for x in (a, b)]
    found = evaluate(f"{name}.f16x2 {{d}}, {{0}}, {{1}}", packed, "u4").view("f2")
    same_floats(found, np.resize(want, 2 * len(want)))


def test_packed_fma():
    a, b, c = (np.resize(x, 300) for x in operands("f2", 150, 3))
    found = evaluate("fma.rn.f16x2 {d}, {0}, {1}, {2}", [x.view("u4") for x in (a, b, c)], "u4")
    single = evaluate("fma.rn.f16 {d}, {0}, {1}, {2}", [a, b, c], "f2")
    same_floats(found.view("f2"), single)


def test_subnormal_values_stay_without_ftz_and_go_with_it():
    tiny = np.array([1e-40, -1e-40, 2e-38, 1.5e-45], np.float32)
    with np.errstate(all="ignore"):
        half = tiny * np.float32(0.5)
    same_floats(evaluate("mul.f32 {d}, {0}, 0f3F000000", [tiny], "f4"), half)
    flushed = evaluate("mul.ftz.f32 {d}, {0}, 0f3F000000", [tiny], "f4")
    # 2e-38 is normal; its half is not and is flushed on the way out.
    same_floats(flushed, np.array([0.0, -0.0, 0.0, 0.0], np.float32))
    kept = evaluate("add.ftz.f32 {d}, {0}, 0f00000000", [tiny], "f4")
    same_floats(kept, np.array([0.0, 0.0, 2e-38, 0.0], np.float32))
    fused = evaluate("fma.rn.ftz.f32 {d}, {0}, 0f3F800000, {0}", [tiny], "f4")
    same_floats(fused, np.array([0.0, -0.0, 4e-38, 0.0], np.float32))
    assert evaluate("setp.gt.ftz.f32 {d}, {0}, 0f00000000", [tiny], bool).tolist() == [
        False, False, True, False,
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["add", "mul"])
def test_saturation_clamps_to_0_and_1(name):
    a, b = operands("f4", 50, 2)
    with np.errstate(all="ignore"):
        exact = a + b if name == "add" else a * b
    want = np.where(np.isnan(exact), 0, np.clip(exact, 0, 1)) + np.float32(0)
    found = evaluate(f"{name}.sat.f32 {{d}}, {{0}}, {{1}}", [a, b], "f4")
    same_floats(found, want.astype("f4"))


@pytest.mark.parametrize("kind", ["f16", "f32", "f64"])
@pytest.mark.parametrize("name", ["min", "max"])
def test_min_and_max(name, kind):
    dtype = DTYPES[kind]
    a, b = pairs(floats(dtype, 8), floats(dtype, 8, seed=1))

    def choose(x, y):
        if np.isnan(x) or np.isnan(y):
            return y if np.isnan(x) else x
        key = lambda v: (v, not np.signbit(v))  # noqa: E731
        return {"min": min, "max": max}[name](x, y, key=key)

    want = np.array([choose(x, y) for x, y in zip(a, b, strict=True)], dtype)
    found = evaluate(f"{name}.{kind} {{d}}, {{0}}, {{1}}", [a, b], dtype)
    same_floats(found, want)
    if kind != "f64":
        found = evaluate(f"{name}.NaN.{kind} {{d}}, {{0}}, {{1}}", [a, b], dtype)
        same_floats(found, np.where(np.isnan(a) | np.isnan(b), np.nan, want).astype(dtype))
        ones = {"f16": 0x7FFF, "f32": 0x7FFFFFFF}[kind]
        size = np.dtype(dtype).itemsize
        assert set(found.view(f"u{size}")[np.isnan(found)].tolist()) == {ones}


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_signs_and_properties(kind):
    dtype = DTYPES[kind]
    a = floats(dtype)
    b = a[::-1].copy()
    same_floats(evaluate(f"neg.{kind} {{d}}, {{0}}", [a], dtype), -a)
    same_floats(evaluate(f"abs.{kind} {{d}}, {{0}}", [a], dtype), abs(a))
    found = evaluate(f"copysign.{kind} {{d}}, {{0}}, {{1}}", [a, b], dtype)
    same_floats(found, np.copysign(b, a))
    normal = np.isfinite(a) & (abs(a) >= np.finfo(dtype).smallest_normal)
    for name, want in {
        "finite": np.isfinite(a),
        "infinite": np.isinf(a),
        "number": ~np.isnan(a),
        "notanumber": np.isnan(a),
        "normal": normal,
        "subnormal": np.isfinite(a) & ~normal & (a != 0),
    }.items():
        found = evaluate(f"testp.{name}.{kind} {{d}}, {{0}}", [a], bool)
        np.testing.assert_array_equal(found, want)


def test_approximations_are_close():
    a = np.random.default_rng(0).uniform(0.1, 3, 100).astype(np.float32)
    exact = a.astype(np.float64)
    for name, want in {
        "sin.approx": np.sin(exact),
        "cos.approx": np.cos(exact),
        "ex2.approx": 2**exact,
        "lg2.approx": np.log2(exact),
        "rsqrt.approx": exact**-0.5,
        "rcp.approx": 1 / exact,
        "sqrt.approx": exact**0.5,
        "tanh.approx": np.tanh(exact),
    }.items():
        found = evaluate(f"{name}.f32 {{d}}, {{0}}", [a], "f4")
        np.testing.assert_allclose(found, want, rtol=1e-6, atol=1e-7)
    found = evaluate("div.full.f32 {d}, {0}, {1}", [a, a[::-1]], "f4")
    np.testing.assert_allclose(found, exact / exact[::-1], rtol=1e-6)
    found = evaluate("rcp.approx.ftz.f64 {d}, {0}", [exact], "f8")
    np.testing.assert_allclose(found, 1 / exact, rtol=1e-6)


@pytest.mark.parametrize(("opcode", "function"), [("neg", np.negative), ("abs", np.abs)])
def test_signs_of_bfloat16(opcode, function):
    patterns = np.arange(1 << 16, dtype="u2")
    values = (patterns.astype("u4") << 16).view("f4")
    found = evaluate(f"{opcode}.bf16 {{d}}, {{0}}", [patterns], "u2")
    np.testing.assert_array_equal(found, (function(values).view("u4") >> 16).astype("u2"))
