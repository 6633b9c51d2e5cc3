import ctypes
import math
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pygpulib.errors import InternalError
from pygpulib.jit.backends.cpu import engine
from pygpulib.jit.backends.cpu.target import host_target

UNARY = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)


def build(text, symbol="f", level=1, imports=None):
    return engine.load(engine.assemble(text, host_target(), level), symbol, imports)


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_code_runs_at_every_level(level):
    text = """
    @table = internal constant [3 x double] [double 1.0, double 10.0, double 100.0]
    define double @f(double %x) {
      %slot = alloca double
      store double %x, ptr %slot
      %place = getelementptr double, ptr @table, i64 2
      %scale = load double, ptr %place
      %value = load double, ptr %slot
      %product = fmul double %value, %scale
      ret double %product
    }"""
    assert UNARY(build(text, level=level))(2.5) == 250.0


@pytest.mark.parametrize("name", ["sin", "tgamma", "erf", "cbrt", "log1p"])
def test_functions_of_the_c_library_are_found(name):
    text = f"""
    declare double @{name}(double)
    define double @f(double %x) {{
      %y = call double @{name}(double %x)
      ret double %y
    }}"""
    reference = {"tgamma": math.gamma, "cbrt": lambda x: x ** (1 / 3)}.get(
        name, getattr(math, name, None)
    )
    assert UNARY(build(text))(0.7) == pytest.approx(reference(0.7), rel=1e-15)


def test_functions_that_the_code_generator_calls_are_found():
    text = "define double @f(double %x) {\n %y = frem double %x, 2.5\n ret double %y\n}"
    assert UNARY(build(text))(13.0) == math.fmod(13.0, 2.5)


def test_imports_win_over_the_process():
    text = """
    declare double @sin(double)
    define double @f(double %x) {
      %y = call double @sin(double %x)
      ret double %y
    }"""
    double = UNARY(lambda x: 2 * x)
    address = ctypes.cast(double, ctypes.c_void_p).value
    assert UNARY(build(text, imports={"sin": address}))(4.0) == 8.0


def test_several_symbols_come_from_one_object():
    text = """
    define double @f(double %x) { ret double %x }
    define double @g(double %x) {
      %y = fneg double %x
      ret double %y
    }"""
    addresses = engine.load_all(engine.assemble(text, host_target()), ("f", "g"))
    assert UNARY(addresses["f"])(3.0) == 3.0
    assert UNARY(addresses["g"])(3.0) == -3.0


def test_the_same_symbol_can_be_loaded_many_times():
    addresses = [
        build(f"define double @f(double %x) {{ ret double {value}.0 }}") for value in range(5)
    ]
    assert [UNARY(address)(0.0) for address in addresses] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    "text",
    [
        "define void @f( {",
        "define i32 @f() {\n ret i64 0\n}",
        "define void @f() {\n call void @nobody()\n ret void\n}",
        # Parses, and breaks a rule of the verifier.
        "define void @f(i1 %c) {\na:\n br i1 %c, label %b, label %d\nb:\n %x = add i32 1, 2\n"
        " br label %d\nd:\n %y = add i32 %x, 1\n ret void\n}",
    ],
)
def test_text_that_llvm_refuses_is_an_internal_error_with_the_text(text):
    with pytest.raises(InternalError, match="LLVM refuses") as caught:
        engine.assemble(text, host_target())
    assert text in str(caught.value)


def test_a_missing_function_is_an_internal_error(capfd):
    text = "declare void @no_such_function()\ndefine void @f() {\n call void @no_such_function()\n"
    with pytest.raises(InternalError, match="machine code of f cannot be loaded"):
        build(text + " ret void\n}")
    capfd.readouterr()


def test_the_texts_for_people():
    text = """
    define double @f(double %x) {
      %slot = alloca double
      store double %x, ptr %slot
      %value = load double, ptr %slot
      ret double %value
    }"""
    assert "alloca" not in engine.optimized_text(text, host_target())
    assert "ret" in engine.assembly_text(text, host_target())


def test_compiling_while_the_interpreter_ends():
    # Registered before anything of the package, this runs after all that the package registers.
    program = f"""
import atexit, sys
sys.path.insert(0, {str(Path(__file__).parents[3])!r})
def compile_late():
    import ctypes
    from tests.unit.launch.test_engine import UNARY, build
    text = "define double @f(double %x) {{ ret double %x }}"
    print(UNARY(build(text))(3.0))
atexit.register(compile_late)
from tests.helpers.native_kernels import COUNT_TEXT, count_blocks, load_kernel
load_kernel(COUNT_TEXT)
"""
    found = subprocess.run(
        [sys.executable, "-c", program],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (found.returncode, found.stdout, found.stderr) == (0, "3.0\n", "")


def test_compiling_in_many_threads():
    found = {}

    def compile_one(value):
        text = f"define double @f(double %x) {{ ret double {value}.0 }}"
        found[value] = UNARY(build(text))(0.0)

    threads = [threading.Thread(target=compile_one, args=(value,)) for value in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {value: float(value) for value in range(8)}


def test_code_and_constants_are_loaded_together_whatever_else_is_mapped():
    program = """
import mmap
from pygpulib.jit.backends.cpu import engine
from pygpulib.jit.backends.cpu.target import host_target
import ctypes

kept = []
for number in range(24):
    size = (1, 60_000)[number % 2]
    text = f'''
@table = internal constant [{size} x double] [double {number}.0{", double 1.0" * (size - 1)}]
define double @read(i64 %i) {{
  %place = getelementptr double, ptr @table, i64 %i
  %number = load double, ptr %place
  ret double %number
}}'''
    address = engine.load(engine.assemble(text, host_target()), "read")
    assert ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int64)(address)(0) == number
    # Addresses only: nothing is written there.
    kept.append(mmap.mmap(-1, (1 << 33, 1 << 16, 1 << 20)[number % 3], prot=mmap.PROT_READ))
    if number % 4 == 3:
        kept.pop(number % len(kept)).close()
"""
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
