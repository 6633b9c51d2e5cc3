from contextlib import AbstractContextManager

class _Library:
    # Held by whoever calls into LLVM.
    _lock: AbstractContextManager[None]

lib: _Library
