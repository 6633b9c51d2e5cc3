from __future__ import annotations

import ctypes
import dataclasses
import struct
from typing import Any

import pytest

from tests.fakecuda import programs
from tests.fakecuda.assemble import assemble
from tests.fakecuda.client import Client
from tests.fakecuda.driver import Code, FakeCuda
from tests.fakecuda.driver.library import cuda_header
from tests.fakecuda.driver.modules import Kernel, ptx_version

OPTIONS = cuda_header().enums["CUjit_option"]
ATTRIBUTES = cuda_header().enums["CUfunction_attribute"]
ONE = (1, 1, 1)


@pytest.fixture
def client(fake_driver: FakeCuda) -> Client:
    client = Client()
    client.start()
    return client


def _words(first: int, count: int) -> bytes:
    return struct.pack(f"{count}i", *(3 * i + first for i in range(count)))


def _fill(client: Client, kernel: int, address: int, count: int, first: int, **more: Any) -> Code:
    arguments = ctypes.c_uint64(address), ctypes.c_uint32(count), ctypes.c_int32(first)
    return client.launch(kernel, (-(-count // 32), 1, 1), (32, 1, 1), *arguments, **more)


# ---------------------------------------------------------------------------------------- launches


@pytest.mark.parametrize("count", [1, 31, 100])
def test_a_kernel_runs(client: Client, fake_driver: FakeCuda, count: int) -> None:
    address = client.allocate(4 * count)
    kernel = client.kernel(programs.FILL, "fill")
    assert _fill(client, kernel, address, count, 5) is Code.SUCCESS
    assert client.download(address, 4 * count) == _words(5, count)
    (launch,) = fake_driver.launches
    assert (launch.kernel, launch.grid, launch.block) == (
        "fill",
        (-(-count // 32), 1, 1),
        (32, 1, 1),
    )
    assert launch.arguments == (struct.pack("Q", address), struct.pack("I", count), b"\5\0\0\0")


def test_arguments_are_taken_at_the_launch_and_the_kernel_runs_in_its_stream(
    client: Client, fake_driver: FakeCuda
) -> None:
    stream = client.stream()
    address = client.allocate(40)
    kernel = client.kernel(programs.FILL, "fill")
    values = ctypes.c_uint64(address), ctypes.c_uint32(10), ctypes.c_int32(1)
    client.launch(kernel, ONE, (32, 1, 1), *values, stream=stream)
    for value in values:
        value.value = 0
    done = client.download(address, 40) == _words(1, 10)
    assert done is not fake_driver.deferred
    client.call("cuStreamSynchronize", stream)
    assert client.download(address, 40) == _words(1, 10)


def test_arguments_come_as_one_buffer_too(client: Client) -> None:
    address = client.allocate(40)
    kernel = client.kernel(programs.FILL, "fill")
    data = struct.pack("QIi", address, 10, 2)
    buffer = ctypes.create_string_buffer(data, len(data))
    size = ctypes.c_size_t(len(data))
    extra = (ctypes.c_void_p * 5)(1, ctypes.addressof(buffer), 2, ctypes.addressof(size), 0)
    launch = ("cuLaunchKernel", kernel, *ONE, 32, 1, 1, 0, None, None, extra)
    client.call(*launch)
    assert client.download(address, 40) == _words(2, 10)
    size.value = 15
    assert client.status(*launch) is Code.INVALID_VALUE


def test_a_launch_with_attributes(client: Client) -> None:
    config = cuda_header().types["CUlaunchConfig"](
        gridDimX=1, gridDimY=1, gridDimZ=1, blockDimX=1, blockDimY=1, blockDimZ=1
    )
    kernel = client.kernel(programs.NOTHING, "nothing")
    client.call("cuLaunchKernelEx", config, kernel, None, None)
    config.blockDimX = 2000
    assert client.status("cuLaunchKernelEx", config, kernel, None, None) is Code.INVALID_VALUE


@pytest.mark.parametrize(
    ("grid", "block"),
    [
        ((0, 1, 1), ONE),
        ((1, 65536, 1), ONE),
        ((1, 1, 65536), ONE),
        ((2**31, 1, 1), ONE),
        (ONE, (0, 1, 1)),
        (ONE, (1025, 1, 1)),
        (ONE, (1, 1, 65)),
        (ONE, (32, 32, 2)),
    ],
)
def test_sizes_out_of_range_are_refused(
    client: Client, grid: tuple[int, int, int], block: tuple[int, int, int]
) -> None:
    kernel = client.kernel(programs.NOTHING, "nothing")
    assert client.launch(kernel, grid, block) is Code.INVALID_VALUE
    assert client.launch(kernel, ONE, (32, 32, 1)) is Code.SUCCESS


def test_limits_of_a_kernel_are_kept(client: Client, fake_driver: FakeCuda) -> None:
    address = client.allocate(4)
    kernel = client.kernel(programs.SHARED, "shared")
    pointer = ctypes.c_uint64(address)
    assert client.launch(kernel, ONE, (129, 1, 1), pointer) is Code.INVALID_VALUE
    assert client.launch(kernel, ONE, ONE, pointer, shared=44 * 1024) is Code.SUCCESS
    assert client.launch(kernel, ONE, ONE, pointer, shared=44 * 1024 + 1) is Code.INVALID_VALUE
    number = ATTRIBUTES["CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES"]
    assert client.get("cuFuncGetAttribute", number, kernel) == 44 * 1024
    assert client.status("cuFuncSetAttribute", kernel, number, 160 * 1024) is Code.INVALID_VALUE
    client.call("cuFuncSetAttribute", kernel, number, 159 * 1024)
    assert client.launch(kernel, ONE, ONE, pointer, shared=159 * 1024) is Code.SUCCESS
    assert client.launch(kernel, ONE, ONE) is Code.INVALID_VALUE
    inside = fake_driver.system.handles.find(Kernel, kernel)
    inside.registers = 255
    inside.function = dataclasses.replace(inside.function, directives={})
    assert client.launch(kernel, ONE, (512, 1, 1), pointer) is Code.LAUNCH_OUT_OF_RESOURCES
    assert client.download(address, 4) == b"\7\0\0\0"


def test_a_kernel_tells_its_needs(client: Client) -> None:
    kernel = client.kernel(programs.SHARED, "shared")

    def ask(name: str) -> object:
        return client.get("cuFuncGetAttribute", ATTRIBUTES[f"CU_FUNC_ATTRIBUTE_{name}"], kernel)

    assert ask("MAX_THREADS_PER_BLOCK") == 128
    assert ask("SHARED_SIZE_BYTES") == 4096
    assert ask("LOCAL_SIZE_BYTES") == 0
    assert (ask("PTX_VERSION"), ask("BINARY_VERSION")) == (70, 80)
    used = assemble(programs.SHARED, "sm_80").kernels["shared"]
    assert ask("NUM_REGS") == used.registers > 0
    assert client.status("cuFuncGetAttribute", ctypes.c_int(), 99, kernel) is Code.INVALID_VALUE


def test_a_kernel_tells_of_local_and_constant_memory(client: Client) -> None:
    text = """.version 7.0
.target sm_75
.address_size 64
.const .align 8 .b8 table[80];
.visible .entry keep(.param .u64 out)
{
    .local .align 8 .b8 own[400];
    .reg .b32 %r<3>; .reg .b64 %d<4>;
    ld.param.u64 %d1, [out];
    mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4;
    mov.u64 %d3, own; add.u64 %d3, %d3, %d2;
    st.local.u32 [%d3], %r1; ld.local.u32 %r2, [own+36];
    st.global.u32 [%d1], %r2;
    ret;
}
"""
    kernel = client.kernel(text, "keep")
    found = [
        client.get("cuFuncGetAttribute", ATTRIBUTES[f"CU_FUNC_ATTRIBUTE_{name}_SIZE_BYTES"], kernel)
        for name in ("LOCAL", "CONST")
    ]
    assert found == [400, 80]


def test_cooperative_launches_fit_on_the_device(client: Client) -> None:
    kernel = client.kernel(programs.NOTHING, "nothing")
    per = client.get("cuOccupancyMaxActiveBlocksPerMultiprocessor", kernel, 1024, 0)
    assert per == 2
    launch = ("cuLaunchCooperativeKernel", kernel)
    client.call(*launch, 4 * per, 1, 1, 1024, 1, 1, 0, None, None)
    code = client.status(*launch, 4 * per + 1, 1, 1, 1024, 1, 1, 0, None, None)
    assert code is Code.COOPERATIVE_LAUNCH_TOO_LARGE


def test_occupancy_is_limited_by_shared_memory(client: Client) -> None:
    kernel = client.kernel(programs.NOTHING, "nothing")
    ask = "cuOccupancyMaxActiveBlocksPerMultiprocessor"
    assert client.get(ask, kernel, 32, 0) == 32
    assert client.get(ask, kernel, 32, 40 * 1024) == 4  # a KiB of each is the system's
    grid = ctypes.c_int()
    best = client.get("cuOccupancyMaxPotentialBlockSize", grid, kernel, None, 0, 0, at=1)
    assert (best, grid.value) == (1024, 8)


# ------------------------------------------------------------------------------------------ faults


def test_a_fault_shows_when_something_waits_and_stays(
    client: Client, fake_driver: FakeCuda
) -> None:
    address = client.allocate(40)
    kernel = client.kernel(programs.FILL, "fill")
    stream = client.stream()
    assert _fill(client, kernel, address, 11, 0, stream=stream) is Code.SUCCESS
    assert _fill(client, kernel, address, 1, 0, stream=stream) is Code.SUCCESS
    assert client.status("cuStreamSynchronize", stream) is Code.ILLEGAL_ADDRESS
    assert client.status("cuMemAlloc_v2", ctypes.c_uint64(), 16) is Code.ILLEGAL_ADDRESS
    assert client.status("cuCtxSynchronize") is Code.ILLEGAL_ADDRESS
    assert client.get("cuDeviceGetCount") == 1
    (fault,) = fake_driver.faults
    assert "fill" in fault


def test_a_reset_ends_a_fault(client: Client) -> None:
    _fill(client, client.kernel(programs.FILL, "fill"), 4096, 1, 0)
    assert client.status("cuCtxSynchronize") is Code.ILLEGAL_ADDRESS
    client.call("cuDevicePrimaryCtxReset_v2", 0)
    client.start()
    assert client.allocate(16)


@pytest.mark.fake_gpus(device_count=2)
@pytest.mark.parametrize("allowed", [False, True])
def test_kernels_see_memory_of_peers_only_if_allowed(client: Client, allowed: bool) -> None:
    other = client.start(1)
    address = client.allocate(40)
    client.start(0)
    if allowed:
        client.call("cuCtxEnablePeerAccess", other, 0)
    _fill(client, client.kernel(programs.FILL, "fill"), address, 10, 4)
    code = client.status("cuCtxSynchronize")
    assert code is (Code.SUCCESS if allowed else Code.ILLEGAL_ADDRESS)
    client.call("cuCtxSetCurrent", other)
    assert (client.download(address, 40) == _words(4, 10)) is allowed


def test_kernels_use_page_locked_registered_and_managed_memory(client: Client) -> None:
    own = ctypes.create_string_buffer(44)
    start = ctypes.addressof(own) + 3 & ~3
    client.call("cuMemHostRegister_v2", start, 40, 0)
    kernel = client.kernel(programs.FILL, "fill")
    managed = client.get("cuMemAllocManaged", 40, 1)
    for address in (ctypes.addressof(client.host(40)), start, managed):
        _fill(client, kernel, address, 10, 6)
        client.call("cuCtxSynchronize")
        assert ctypes.string_at(address, 40) == _words(6, 10)
    client.call("cuMemHostUnregister", start)
    _fill(client, kernel, start, 10, 7)
    assert client.status("cuCtxSynchronize") is Code.ILLEGAL_ADDRESS


def test_kernels_use_memory_only_after_its_stream_allocated_it() -> None:
    with FakeCuda(deferred=True) as fake:
        client = Client()
        client.start()
        stream, other = client.stream(), client.stream()
        address = client.get("cuMemAllocAsync", 40, stream)
        kernel = client.kernel(programs.FILL, "fill")
        _fill(client, kernel, address, 10, 8, stream=stream)
        client.call("cuStreamSynchronize", stream)
        assert client.download(address, 40) == _words(8, 10)
        later = client.get("cuMemAllocAsync", 40, stream)
        _fill(client, kernel, later, 10, 8, stream=other)
        assert client.status("cuStreamSynchronize", other) is Code.ILLEGAL_ADDRESS
    assert fake.internal_errors == []


# ----------------------------------------------------------------------------------------- modules


def _load_with_logs(client: Client, text: str) -> tuple[Code, str, str]:
    logs = ctypes.create_string_buffer(4096), ctypes.create_string_buffer(4096)
    names = ("INFO_LOG_BUFFER", "INFO_LOG_BUFFER_SIZE_BYTES", "ERROR_LOG_BUFFER",
             "ERROR_LOG_BUFFER_SIZE_BYTES")  # fmt: skip
    options = (ctypes.c_int * 4)(*(OPTIONS[f"CU_JIT_{name}"] for name in names))
    values = (ctypes.c_void_p * 4)(ctypes.addressof(logs[0]), 4096, ctypes.addressof(logs[1]), 4096)
    module = ctypes.c_void_p()
    image = text.encode() + b"\0"
    code = client.status("cuModuleLoadDataEx", module, image, 4, options, values)
    assert bool(module.value) is (code is Code.SUCCESS)
    assert (values[1], values[3]) in {(len(logs[0].value), 4096), (4096, len(logs[1].value))}
    return code, logs[0].value.decode(), logs[1].value.decode()


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        (programs.NONSENSE, Code.INVALID_PTX, "Not a name of any known instruction: 'foo'"),
        (programs.TOO_NEW_TARGET, Code.INVALID_PTX, "SM version specified by .target is higher"),
        (programs.TOO_NEW_VERSION, Code.UNSUPPORTED_PTX_VERSION, "Unsupported .version 9.5"),
        ("nothing at all", Code.INVALID_IMAGE, "neither PTX nor machine code"),
        ("\x7fELF", Code.NO_BINARY_FOR_GPU, "machine code that no test assembled"),
    ],
)
def test_bad_modules_are_refused_with_a_log(
    client: Client, text: str, code: Code, message: str
) -> None:
    found, _, error = _load_with_logs(client, text)
    assert found is code
    assert message in error


@pytest.mark.fake_gpus(use_assembler=False)
@pytest.mark.parametrize("text", [programs.TOO_NEW_TARGET, ".version 7.0\n.target sm_80\nnonsense"])
def test_bad_modules_are_refused_without_the_assembler(client: Client, text: str) -> None:
    code, _, error = _load_with_logs(client, text)
    assert code is Code.INVALID_PTX
    assert error.startswith("ptxas")


def test_a_good_module_leaves_a_log_of_what_it_needs(client: Client) -> None:
    code, info, error = _load_with_logs(client, programs.FILL)
    assert (code, error) == (Code.SUCCESS, "")
    assert "Compiling entry function 'fill' for 'sm_80'" in info


@pytest.mark.fake_gpus(compute_capability=(13, 0))
def test_a_gpu_of_the_future_runs_what_todays_run(client: Client) -> None:
    address = client.allocate(40)
    _fill(client, client.kernel(programs.FILL, "fill"), address, 10, 1)
    assert client.download(address, 40) == _words(1, 10)


def test_machine_code_of_a_known_text_is_loaded(client: Client, fake_driver: FakeCuda) -> None:
    made = assemble(programs.FILL, "sm_80")
    fake_driver.accept(made.cubin, programs.FILL)
    module = client.get("cuModuleLoadData", made.cubin)
    kernel = client.get("cuModuleGetFunction", module, b"fill")
    address = client.allocate(40)
    _fill(client, kernel, address, 10, 1)
    assert client.download(address, 40) == _words(1, 10)


def test_ptx_is_linked_to_machine_code(client: Client) -> None:
    link = client.get("cuLinkCreate_v2", 0, None, None, at=3)
    text = programs.FILL.encode() + b"\0"
    add = ("cuLinkAddData_v2", link, 1, text, len(text), b"fill", 0, None, None)
    cubin, size = ctypes.c_void_p(), ctypes.c_size_t()
    assert client.status("cuLinkComplete", link, cubin, size) is Code.INVALID_VALUE
    client.call(*add)
    assert client.status(*add[:2], 0, *add[3:]) is Code.NOT_SUPPORTED
    client.call("cuLinkComplete", link, cubin, size)
    assert ctypes.string_at(cubin, size.value) == assemble(programs.FILL, "sm_80").cubin
    module = client.get("cuModuleLoadData", cubin)
    client.call("cuLinkDestroy", link)
    assert client.status("cuLinkDestroy", link) is Code.INVALID_HANDLE
    assert client.get("cuModuleGetFunction", module, b"fill")


def test_modules_have_kernels_and_variables_until_they_are_unloaded(
    client: Client, fake_driver: FakeCuda
) -> None:
    module = client.load(programs.VARIABLE)
    size = ctypes.c_size_t()
    address = client.get("cuModuleGetGlobal_v2", size, module, b"total")
    assert size.value == 4
    kernel = client.get("cuModuleGetFunction", module, b"add")
    assert client.get("cuModuleGetFunction", module, b"add") == kernel
    client.launch(kernel, ONE, ONE, ctypes.c_int32(2))
    assert client.download(address, 4) == b"\x2a\0\0\0"
    assert client.status("cuMemFree_v2", address) is Code.INVALID_VALUE
    missing = ctypes.c_void_p()
    assert client.status("cuModuleGetFunction", missing, module, b"total") is Code.NOT_FOUND
    assert (
        client.status("cuModuleGetGlobal_v2", ctypes.c_uint64(), size, module, b"add")
        is Code.NOT_FOUND
    )
    assert fake_driver.leaks(cached=False) == []
    assert len(fake_driver.leaks()) == 1
    client.call("cuModuleUnload", module)
    assert client.status("cuModuleUnload", module) is Code.INVALID_HANDLE
    assert client.launch(kernel, ONE, ONE, ctypes.c_int32(2)) is Code.INVALID_HANDLE
    assert fake_driver.leaks() == []


def test_unknown_options_are_refused(client: Client) -> None:
    options, values = (ctypes.c_int * 1)(999), (ctypes.c_void_p * 1)(0)
    image = programs.NOTHING.encode() + b"\0"
    code = client.status("cuModuleLoadDataEx", ctypes.c_void_p(), image, 1, options, values)
    assert code is Code.INVALID_VALUE


@pytest.mark.parametrize(
    ("driver", "ptx"),
    [(10020, (6, 5)), (11000, (7, 0)), (11080, (7, 8)), (12040, (8, 4)), (12050, (8, 5)),
     (12060, (8, 5)), (12080, (8, 7)), (13000, (9, 0)), (13010, (9, 1))],
)  # fmt: skip
def test_drivers_know_their_version_of_ptx(driver: int, ptx: tuple[int, int]) -> None:
    assert ptx_version(driver) == ptx
