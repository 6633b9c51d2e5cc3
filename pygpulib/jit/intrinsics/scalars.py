"""Names for the numbers in functions of the kernel language.

In Python they are NumPy scalars, in a kernel they are values; their promotion follows the rules of
the kernel language, which static types cannot state. So the names only tell a reader what is meant.
"""

from __future__ import annotations

from typing import Any, TypeAlias

Real: TypeAlias = Any
"""A float of either precision."""
Single: TypeAlias = Any
"""A float32."""
Double: TypeAlias = Any
"""A float64."""
Whole: TypeAlias = Any
"""An integer of any width."""
Truth: TypeAlias = Any
"""A truth value."""
Complex: TypeAlias = Any
"""A complex64 or complex128."""
