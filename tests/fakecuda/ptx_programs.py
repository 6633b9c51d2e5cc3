"""Small PTX programs for the tests of the interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.fakecuda.memory import DeviceMemory
from tests.fakecuda.ptx import launch, parse_module

HEADER = ".version 8.5\n.target sm_90\n.address_size 64\n"


class Device:
    """Device memory with arrays in it, and launches on them."""

    def __init__(self, capacity: int = 1 << 22) -> None:
        self.memory = DeviceMemory(capacity)
        self._arrays: dict[int, np.ndarray] = {}

    def put(self, array: np.ndarray) -> int:
        """Copy an array to the device and return its address."""
        address = self.memory.allocate(array.nbytes)
        self.memory.write(address, array.tobytes())
        self._arrays[address] = array
        return address

    def get(self, address: int) -> np.ndarray:
        """Copy an array back."""
        like = self._arrays[address]
        data = self.memory.read(address, like.nbytes)
        return np.frombuffer(data, like.dtype).reshape(like.shape)

    def run(
        self,
        text: str,
        *arguments: int | np.generic,
        grid: Any = 1,
        block: Any = 1,
        name: str = "k",
        **options: Any,
    ) -> int:
        """Launch a kernel; Python integers are addresses."""
        data = [np.uint64(a).tobytes() if isinstance(a, int) else a.tobytes() for a in arguments]
        module = parse_module(text)
        return launch(module, name, data, grid=grid, block=block, memory=self.memory, **options)


def kernel(body: str, parameters: Sequence[str] = (), *, before: str = "") -> str:
    """Return a module with the kernel `k`; `out` stands for 64-bit parameters by default."""
    listed = ", ".join(f".param .{'u64 ' + p if ' ' not in p else p}" for p in parameters)
    return f"{HEADER}{before}\n.visible .entry k({listed})\n{{\n{body}\n}}\n"


def kernel_on_threads(body: str, *, before: str = "") -> str:
    """Return a kernel k(out) whose body computes %value from %tid and stores it to out[%gid].

    Registers at hand: %p<8>, %h<8> (16 bits), %r<16>, %value, %tid, %gid (32 bits), %d<8>, %out.
    """
    return kernel(
        f"""
        .reg .pred %p<8>;
        .reg .b16 %h<8>;
        .reg .b32 %r<16>;
        .reg .b32 %value, %tid, %gid;
        .reg .b64 %d<8>;
        .reg .b64 %out;
        mov.u32 %tid, %tid.x;
        mov.u32 %r0, %ctaid.x;
        mov.u32 %r1, %ntid.x;
        mad.lo.u32 %gid, %r0, %r1, %tid;
        mov.u32 %value, 0;
        ld.param.u64 %out, [out];
        {body}
        STORE:
        mul.wide.u32 %d0, %gid, 4;
        add.u64 %d0, %out, %d0;
        st.global.u32 [%d0], %value;
        ret;
        """,
        ["out"],
        before=before,
    )


def run_on_threads(
    body: str, *, threads: int = 32, blocks: int = 1, before: str = "", **options: Any
) -> np.ndarray:
    """Run `kernel_on_threads` and return the values as uint32."""
    device = Device()
    out = device.put(np.zeros(threads * blocks, np.uint32))
    text = kernel_on_threads(body, before=before)
    device.run(text, out, grid=blocks, block=threads, **options)
    return device.get(out)


def evaluate(
    template: str,
    inputs: Sequence[np.ndarray],
    results: np.dtype | type | Sequence[np.dtype | type],
) -> Any:
    """Run one instruction for all elements of the inputs; return the results' arrays.

    The template has {0}, {1}, ... for the inputs and {d} (or {d0}, {d1}) for the results; arrays
    of bool are predicates.
    """
    several = isinstance(results, (list, tuple))
    dtypes = [np.dtype(r) for r in (results if several else [results])]
    arrays = [np.ascontiguousarray(a) for a in np.broadcast_arrays(*inputs)]
    body, parameters = ["mov.u32 %t, %tid.x; mov.u32 %c, %ctaid.x; mov.u32 %n, %ntid.x;"], []
    body.append("mad.lo.u32 %t, %c, %n, %t; setp.ge.u32 %q, %t, %size; @%q ret;")
    names: dict[str, str] = {}
    declared = [".reg .b32 %t, %c, %n, %size; .reg .b64 %a; .reg .pred %q; .reg .b16 %w;"]
    for place, array in enumerate(arrays):
        names[f"i{place}"] = f"%i{place}"
        parameters.append(f"in{place}")
        declared.append(_declaration(f"%i{place}", array.dtype))
        body.append(_address(f"in{place}", array.dtype))
        body.append(_load(f"%i{place}", array.dtype))
    for place, dtype in enumerate(dtypes):
        declared.append(_declaration(f"%o{place}", dtype))
    filled = template.format(
        *[f"%i{place}" for place in range(len(arrays))], d="%o0", d0="%o0", d1="%o1"
    )
    body.append(filled + ";")
    for place, dtype in enumerate(dtypes):
        parameters.append(f"out{place}")
        body.append(_address(f"out{place}", dtype))
        body.append(_store(f"%o{place}", dtype))
    size = "ld.param.u32 %size, [size];"
    text = kernel("\n".join([*declared, size, *body, "ret;"]), [*parameters, "u32 size"])
    device = Device()
    count = arrays[0].size
    pointers = [device.put(a) for a in arrays]
    outputs = [device.put(np.zeros(count, d)) for d in dtypes]
    # The last warp is not full, so that partial groups are tested, too.
    device.run(text, *pointers, *outputs, np.uint32(count), grid=count // 128 + 1, block=128)
    found = [device.get(o).reshape(arrays[0].shape) for o in outputs]
    return found if several else found[0]


def _declaration(register: str, dtype: np.dtype) -> str:
    kind = "pred" if dtype.kind == "b" else f"b{max(dtype.itemsize, 2) * 8}"
    return f".reg .{kind} {register};"


def _address(parameter: str, dtype: np.dtype) -> str:
    return (
        f"ld.param.u64 %a, [{parameter}]; {{ .reg .b64 %x;"
        f" mul.wide.u32 %x, %t, {dtype.itemsize}; add.u64 %a, %a, %x; }}"
    )


def _load(register: str, dtype: np.dtype) -> str:
    if dtype.kind == "b":
        return f"ld.global.u8 %w, [%a]; setp.ne.u16 {register}, %w, 0;"
    sign = "s" if dtype.kind == "i" else "u"
    return f"ld.global.{sign}{dtype.itemsize * 8} {register}, [%a];"


def _store(register: str, dtype: np.dtype) -> str:
    if dtype.kind == "b":
        return f"selp.u16 %w, 1, 0, {register}; st.global.u8 [%a], %w;"
    return f"st.global.b{dtype.itemsize * 8} [%a], {register};"


# ------------------------------------------------------------------------------------- values


def integers(dtype: Any, count: int = 60, seed: int = 0) -> np.ndarray:
    """Return edge cases and random integers of all magnitudes."""
    limits = np.iinfo(dtype)
    edges = [0, 1, 2, 3, 7, limits.max, limits.max - 1, limits.min, limits.min + 1, limits.max // 2]
    if limits.min < 0:
        edges += [-1, -2, -7]
    random = np.random.default_rng(seed)
    bits = random.integers(0, limits.bits, count)
    values = [int(random.integers(0, 1 << 63)) >> (63 - int(b)) for b in bits]
    if limits.min < 0:
        values = [v * (-1) ** int(random.integers(2)) for v in values]
    return np.array(edges + values, object).clip(limits.min, limits.max).astype(dtype)


def floats(dtype: Any, count: int = 60, seed: int = 0) -> np.ndarray:
    """Return edge cases and random floats of all exponents."""
    info = np.finfo(dtype)
    edges = [0.0, -0.0, 1, -1, 0.5, 1.5, 2.5, -2.5, np.inf, -np.inf, np.nan, info.max, info.min]
    tiny = [info.smallest_normal, -info.smallest_normal, info.smallest_subnormal, info.eps, 3.75]
    size = info.dtype.itemsize
    raw = np.random.default_rng(seed).integers(0, 256, count * size).astype(np.uint8)
    return np.concatenate([np.array(edges + tiny, dtype), raw.view(dtype)])


def pairs(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return all combinations of two sets of values."""
    x, y = np.meshgrid(a, b)
    return x.ravel(), y.ravel()


def same_floats(found: np.ndarray, expected: np.ndarray) -> None:
    """Check that floats are equal to the bit, all NaN taken as one."""
    size = found.dtype.itemsize
    unordered = np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(found), unordered)
    bits = f"u{size}"
    np.testing.assert_array_equal(
        np.where(unordered, 0, found.view(bits)), np.where(unordered, 0, expected.view(bits))
    )
