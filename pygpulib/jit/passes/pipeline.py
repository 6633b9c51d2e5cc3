"""Running passes one after the other."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from pygpulib._config import config
from pygpulib.errors import InternalError
from pygpulib.jit.ir.ops import Function
from pygpulib.jit.ir.printer import format_function
from pygpulib.jit.ir.rewrite import transform_program
from pygpulib.jit.ir.verifier import verify as verify_function
from pygpulib.jit.passes.carry_common import carry_common
from pygpulib.jit.passes.fold_constants import fold_constants
from pygpulib.jit.passes.remove_dead_ops import remove_dead_ops
from pygpulib.jit.passes.share_common import share_common
from pygpulib.jit.passes.simplify_scopes import simplify_scopes

Pass = Callable[[Function], Function]
"""Returns another function that does the same, or the very function if there is nothing to do."""

COMMON_PASSES: tuple[Pass, ...] = (
    # The code of inlined functions meets that of the kernel, so that all the others see both.
    simplify_scopes,
    # Spliced branches and folded operands make more expressions the same.
    fold_constants,
    share_common,
    # It looks for expressions of one iteration in another, which sharing has made easy to find.
    carry_common,
    # What all of them left without a use.
    remove_dead_ops,
)
"""The passes that do not depend on the back end."""


def optimize(function: Function) -> Function:
    """Run the passes that do not depend on the back end.

    Parameters
    ----------
    function : Function
        What the front end made.

    Returns
    -------
    Function
        The same, faster.
    """
    return run_passes(function, COMMON_PASSES, verify=config.verify_ir)


def run_passes(
    function: Function,
    passes: Sequence[Pass],
    *,
    verify: bool = False,
    dump: bool = config.dump_ir,
) -> Function:
    """Run passes in their order.

    The result is always verified: the check costs a fraction of the passes, and no code generator
    has to defend itself.

    Parameters
    ----------
    function : Function
        Where to start.
    passes : sequence of callable
        What to run.
    verify : bool
        Verify the function at the start and after each pass that changed it, too.
    dump : bool
        Print the function at the start and after each pass that changed it, to stderr.

    Returns
    -------
    Function
        What the last pass returned.

    Raises
    ------
    InternalError
        If the IR is malformed; the message says after which pass, if ``verify`` is given.
    """
    _inspect(function, "the front end", verify, dump)
    for run in passes:
        new = transform_program(function, run)
        if new is not function:
            function = new
            _inspect(function, run.__name__, verify, dump)
    if not verify:
        verify_function(function)
    return function


def _inspect(function: Function, origin: str, verify: bool, dump: bool) -> None:
    if dump:
        sys.stderr.write(f"; after {origin}\n{format_function(function)}\n")
    if verify:
        try:
            verify_function(function)
        except InternalError as error:
            error.add_note(f"found after {origin}")
            raise
