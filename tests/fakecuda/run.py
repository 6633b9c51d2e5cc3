"""Run a program on the fake driver: ``python -m tests.fakecuda.run [options] program ...``."""

from __future__ import annotations

import argparse
import gc
import runpy
import sys

from tests.fakecuda.driver import Code, FakeCuda


def parse(words: list[str]) -> argparse.Namespace:
    """Return the options, the program and its arguments."""
    parser = argparse.ArgumentParser(prog="python -m tests.fakecuda.run", description=__doc__)
    parser.add_argument("--devices", type=int, default=1, help="number of GPUs")
    parser.add_argument("--cc", default="8.0", help="compute capability")
    parser.add_argument("--version", type=int, default=13000, help="of the driver, as 12040")
    parser.add_argument("--memory", type=int, default=1 << 28, help="bytes of each GPU")
    parser.add_argument("--deferred", action="store_true", help="do work as late as allowed")
    parser.add_argument("--broken", choices=["init"], help="what fails")
    parser.add_argument("--calls", action="store_true", help="print the calls at the end")
    parser.add_argument("--leaks", action="store_true", help="fail if something stays allocated")
    parser.add_argument("program", help="file of Python code, or - for standard input")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    return parser.parse_args(words)


def main(words: list[str]) -> int:
    """Run a program and return the process's exit status."""
    options = parse(words)
    major, minor = options.cc.split(".")
    fake = FakeCuda(
        options.devices,
        (int(major), int(minor)),
        options.version,
        options.memory,
        deferred=options.deferred,
    )
    if options.broken == "init":
        fake.fail("cuInit", Code.SYSTEM_DRIVER_MISMATCH, on_call=0)
    fake.install(hide_newer=True)
    sys.argv = [options.program, *options.arguments]
    if options.program == "-":
        exec(compile(sys.stdin.read(), "<stdin>", "exec"), {"__name__": "__main__"})
    else:
        runpy.run_path(options.program, run_name="__main__")
    return _report(fake, options)


def _report(fake: FakeCuda, options: argparse.Namespace) -> int:
    gc.collect()  # the program's variables
    calls = map(str, fake.calls) if options.calls else []
    left = fake.leaks(cached=False) if options.leaks else []
    for line in [*calls, *fake.internal_errors, *fake.faults, *left]:
        sys.stderr.write(line + "\n")
    return 1 if fake.internal_errors or left else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
