"""The interpreter: the executable meaning of the IR.

It is slow and simple. All threads of some blocks are lanes of NumPy arrays that run in step under
masks; every access to memory is checked. Tests compare passes and code generators with it.
"""

from pygpulib.jit.backends.interp.launch import run
from pygpulib.jit.backends.interp.state import Fault, Outcome

__all__ = ["Fault", "Outcome", "run"]
