"""Small programs in the IR, built as the front end builds them."""

from __future__ import annotations

from pygpulib.core import dtypes
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.builder import Builder

K = ir.BinaryKind


def function_of(b: Builder, params: tuple[ir.Value, ...], name: str = "kernel") -> ir.Function:
    """Close the builder's outermost block as a kernel."""
    b.append(ir.Return(()))
    return ir.Function(name, params, ir.Block((), tuple(b._open[0])))


def array_params(name: str) -> tuple[ir.Value, ir.Value, ir.Value]:
    """Return the parameters of a one-dimensional array: pointer, extent, stride."""
    numbers = (ir.Value(dtypes.int64, f"{name}.{part}") for part in ("shape0", "stride0"))
    return (ir.Value(ir.Pointer(), name), *numbers)


def mandelbrot() -> ir.Function:
    """One point per thread: ``image[x] = escape(complex(re[x], im[x]), limit)``, in uint8."""
    f64, i64 = dtypes.float64, dtypes.int64
    arrays = [array_params(name) for name in ("re", "im", "image")]
    re_, im_, image = (params[0] for params in arrays)
    limit = ir.Value(i64, "limit")
    b = Builder()
    x = b.cast(b.register(ir.Register.TID_X), i64)
    c_re, c_im = b.load(re_, x, 8, f64), b.load(im_, x, 8, f64)
    with b.collect() as scope:
        zero = b.constant(0.0, f64)
        z_re, z_im, index = ir.Value(f64, "z.real"), ir.Value(f64, "z.imag"), ir.Value(i64, "i")
        with b.collect() as body:
            square = b.binary(K.SUBTRACT, b.binary(K.MULTIPLY, z_re, z_re),
                              b.binary(K.MULTIPLY, z_im, z_im))  # fmt: skip
            twice = b.binary(K.MULTIPLY, z_re, z_im)
            new_re = b.binary(K.ADD, square, c_re)
            new_im = b.binary(K.ADD, b.binary(K.ADD, twice, twice), c_im)
            norm = b.binary(K.ADD, b.binary(K.MULTIPLY, new_re, new_re),
                            b.binary(K.MULTIPLY, new_im, new_im))  # fmt: skip
            has_left = b.compare(ir.CompareKind.GE, norm, b.constant(4.0, f64))
            then_block = ir.Block((), (ir.Return((index,)),))
            else_block = ir.Block((), (ir.Yield(()),))
            b.append(ir.If(has_left, then_block, else_block, ()))
            b.append(ir.Continue((new_re, new_im)))
        zero_i, one = b.constant(0, i64), b.constant(1, i64)
        loop = ir.Block((index, z_re, z_im), tuple(body))
        b.append(ir.For(zero_i, limit, one, (zero, zero), loop, (ir.Value(f64), ir.Value(f64))))
        b.append(ir.Return((limit,)))
    count = ir.Value(i64)
    b.append(ir.Scope(ir.Block((), tuple(scope)), (count,), "escape"))
    b.store(image, x, b.cast(count, dtypes.uint8), 1)
    return function_of(b, (*arrays[0], *arrays[1], *arrays[2], limit))
