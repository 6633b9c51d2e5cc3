"""Modules of LLVM, made from text."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING

from pygpulib.errors import InternalError

if TYPE_CHECKING:
    import llvmlite.binding as llvm


def parse_module(text: str, context: llvm.ContextRef) -> llvm.ModuleRef:
    """Return a verified module; the caller closes it.

    Parameters
    ----------
    text : str
        LLVM IR.
    context : ContextRef
        Where it lives.

    Raises
    ------
    InternalError
        If LLVM refuses the text, which is attached.
    """
    import llvmlite.binding as llvm

    try:
        module = llvm.parse_assembly(text, context)
        try:
            module.verify()
        except RuntimeError:
            module.close()
            raise
    except RuntimeError as cause:
        raise InternalError(
            "LLVM refuses the code that pygpulib generated", detail=f"{cause}\n\n{text}"
        ) from cause
    return module


@cache
def guard_forks() -> None:
    """Let forks wait until no other thread is inside LLVM.

    Locks taken there, those of llvmlite and of LLVM, would never be released in the child.
    """
    import llvmlite.binding as llvm

    if hasattr(os, "register_at_fork"):
        lock = llvm.ffi.lib._lock
        os.register_at_fork(
            before=lock.__enter__, after_in_parent=lock.__exit__, after_in_child=lock.__exit__
        )
