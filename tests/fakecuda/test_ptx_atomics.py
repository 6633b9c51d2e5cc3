"""Atomic operations of PTX, against a loop over the threads."""

from __future__ import annotations

import numpy as np
import pytest

from tests.fakecuda.ptx_programs import Device, integers, kernel

OPERATIONS = {
    "add": lambda old, x, c: old + x,
    "min": lambda old, x, c: min(old, x),
    "max": lambda old, x, c: max(old, x),
    "and": lambda old, x, c: old & x,
    "or": lambda old, x, c: old | x,
    "xor": lambda old, x, c: old ^ x,
    "exch": lambda old, x, c: x,
    "inc": lambda old, x, c: 0 if old >= x else old + 1,
    "dec": lambda old, x, c: x if old == 0 or old > x else old - 1,
    "cas": lambda old, x, c: c if old == x else old,
}
CASES = [
    *[(name, kind) for name in ("add",) for kind in ("u32", "s32", "u64")],
    *[(name, kind) for name in ("min", "max") for kind in ("u32", "s32", "u64", "s64")],
    *[(name, kind) for name in ("and", "or", "xor", "exch") for kind in ("b32", "b64")],
    *[(name, "u32") for name in ("inc", "dec")],
    *[("cas", kind) for kind in ("b16", "b32", "b64")],
    *[("add", kind) for kind in ("f32", "f64", "f16")],
]
SIZES = {"f16": 2, "b16": 2}


def program(operation: str, kind: str, space: str, *, returns: bool) -> str:
    """Return a kernel: out[t] = atom(memory[place[t]], values[t], others[t])."""
    size = int(kind[1:]) // 8
    bits = size * 8
    suffix = ".noftz" if kind == "f16" else ""
    third = ", %third" if operation == "cas" else ""
    act = (
        f"atom.{space}.{operation}{suffix}.{kind} %old, [%m], %value{third};"
        if returns
        else f"red.{space}.{operation}{suffix}.{kind} [%m], %value;"
    )
    shared = space == "shared"
    return kernel(
        f"""
        .reg .b32 %t, %place, %count;
        .reg .b64 %a, %m, %x;
        .reg .b{bits} %value, %third, %old, %y;
        .reg .pred %p;
        mov.u32 %t, %tid.x;
        mul.wide.u32 %x, %t, 4;
        ld.param.u64 %a, [place]; add.u64 %a, %a, %x; ld.global.u32 %place, [%a];
        mul.wide.u32 %x, %t, {size};
        ld.param.u64 %a, [values]; add.u64 %a, %a, %x; ld.global.b{bits} %value, [%a];
        ld.param.u64 %a, [others]; add.u64 %a, %a, %x; ld.global.b{bits} %third, [%a];
        ld.param.u32 %count, [count];
        setp.lt.u32 %p, %t, %count;
        ld.param.u64 %m, [memory]; add.u64 %m, %m, %x;
        mov.b64 %a, buffer; add.u64 %a, %a, %x;
        @%p ld.global.b{bits} %y, [%m];
        @%p st.shared.b{bits} [%a], %y;
        bar.sync 0;
        mul.wide.u32 %x, %place, {size};
        {"mov.b64 %m, buffer;" if shared else "ld.param.u64 %m, [memory];"}
        add.u64 %m, %m, %x;
        {act}
        bar.sync 0;
        mul.wide.u32 %x, %t, {size};
        ld.param.u64 %m, [memory]; add.u64 %m, %m, %x;
        {f"@%p ld.shared.b{bits} %y, [%a]; @%p st.global.b{bits} [%m], %y;" if shared else ""}
        {"ld.param.u64 %a, [out]; add.u64 %a, %a, %x; " if returns else ""}
        {f"st.global.b{bits} [%a], %old;" if returns else ""}
        ret;
        """,
        ["place", "values", "others", "memory", "out", "u32 count"],
        before=".shared .align 8 .b8 buffer[512];",
    )


def operands(operation: str, dtype: np.dtype, threads: int) -> tuple[np.ndarray, np.ndarray]:
    if dtype.kind == "f":
        values = np.random.default_rng(1).uniform(-2, 2, threads).astype(dtype)
        return values, values
    values = np.resize(integers(dtype, 60, seed=3), threads)
    if operation == "cas":
        return np.arange(threads).astype(dtype) % 4, (np.arange(threads) * 7 % 4).astype(dtype)
    if operation in ("inc", "dec"):
        values = values % 5
    return values, values


@pytest.mark.parametrize("targets", [1, 2, 40, 100])
@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize(("operation", "kind"), CASES)
def test_threads_take_turns(operation, kind, space, targets):
    if operation == "cas" and kind == "b16":
        dtype = np.dtype("u2")
    else:
        dtype = np.dtype(kind.replace("b", "u").replace("s", "i")[0] + str(int(kind[1:]) // 8))
    threads = 100
    place = np.random.default_rng(targets).integers(0, targets, threads).astype(np.uint32)
    values, others = operands(operation, dtype, threads)
    count = min(targets, 512 // dtype.itemsize)
    place %= count
    start = np.resize(values[::-1], count).astype(dtype)
    for returns in (True, False):
        if not returns and operation in ("cas", "exch"):
            continue
        device = Device()
        addresses = [device.put(x) for x in (place, values, others, start, np.zeros_like(values))]
        text = program(operation, kind, space, returns=returns)
        device.run(text, *addresses, np.uint32(count), block=threads)
        memory, out = check_by_loop(operation, start, place, values, others)
        np.testing.assert_array_equal(device.get(addresses[3]), memory)
        if returns:
            np.testing.assert_array_equal(device.get(addresses[4]), out)


def check_by_loop(operation, start, place, values, others):
    memory, out = start.copy(), np.zeros_like(values)
    function = OPERATIONS[operation]
    limit = 1 << (start.dtype.itemsize * 8)
    for thread, target in enumerate(place):
        out[thread] = memory[target]
        if start.dtype.kind == "f":
            memory[target] = memory[target] + values[thread]
            continue
        new = function(int(memory[target]), int(values[thread]), int(others[thread]))
        memory[target] = np.array(new % limit, f"u{start.dtype.itemsize}").view(start.dtype)
    return memory, out


def test_packed_halves_are_added():
    device = Device()
    start = np.float16([1, 2]).view("u4")
    target = device.put(start)
    device.run(
        kernel(
            """.reg .b64 %a; .reg .b32 %v;
            ld.param.u64 %a, [target];
            mov.b32 %v, 0x3C003800;  // (0.5, 1.0)
            red.global.add.noftz.f16x2 [%a], %v;
            ret;""",
            ["target"],
        ),
        target,
        block=10,
    )
    assert device.get(target).view("f2").tolist() == [6.0, 12.0]


def test_shuffled_threads_add_up_all_the_same():
    device = Device()
    counter = device.put(np.zeros(1, np.uint32))
    seen = device.put(np.zeros(256, np.uint32))
    device.run(
        kernel(
            """.reg .b64 %a, %b, %x; .reg .b32 %old, %t;
            ld.param.u64 %a, [counter];
            ld.param.u64 %b, [seen];
            atom.global.add.u32 %old, [%a], 1;
            mul.wide.u32 %x, %old, 4;
            add.u64 %b, %b, %x;
            mov.u32 %t, 1;
            atom.global.exch.b32 %t, [%b], %t;
            ret;""",
            ["counter", "seen"],
        ),
        counter,
        seen,
        grid=2,
        block=128,
        schedule="shuffled",
    )
    assert device.get(counter).tolist() == [256]
    assert device.get(seen).tolist() == [1] * 256
