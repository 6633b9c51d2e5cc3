"""Every error and warning that pygpulib raises, in one tree.

A message has three parts: the first line says what is wrong in the user's words, the lines
below say what was expected and show the source, and a last line that starts with ``help:``
says what to do.
"""

from __future__ import annotations

from pygpulib._record import record


@record(eq=True)
class Span:
    """A range of source text, as Python's own AST counts it (lines from 1, columns from 0)."""

    filename: str
    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        return f"{self.filename}:{self.line}"


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return a number with what it counts, as messages say it.

    Parameters
    ----------
    count : int
        How many.
    noun : str
        The name of one.
    plural : str, optional
        The name of several; default: `noun` and an s.

    Examples
    --------
    >>> counted(1, "argument"), counted(0, "argument"), counted(2, "axis", "axes")
    ('1 argument', '0 arguments', '2 axes')
    """
    return f"{count} {noun if count == 1 else plural or noun + 's'}"


class PyGpuLibError(Exception):
    """Base class of every error of this package.

    Parameters
    ----------
    problem : str
        What is wrong, in the user's words.
    detail : str, optional
        What was expected, or the source excerpt; may have several lines.
    help : str, optional
        What to do about it.
    """

    def __init__(self, problem: str, *, detail: str = "", help: str = "") -> None:
        self.problem = problem
        self.detail = detail
        self.help = help
        parts = [problem]
        if detail:
            parts.append(detail)
        if help:
            parts.append(f"help: {help}")
        super().__init__("\n".join(parts))

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.args, self.__dict__)


def _rebuild(
    cls: type[PyGpuLibError], args: tuple[object, ...], state: dict[str, object]
) -> PyGpuLibError:
    """Rebuild a pickled error, whatever its constructor asks for."""
    error = cls.__new__(cls, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class ArgumentError(PyGpuLibError, ValueError):
    """An argument has a value that the function does not take."""


class ShapeError(ArgumentError):
    """The shapes of arrays do not fit each other or the operation."""


class AxisError(ArgumentError, IndexError):
    """An axis or index is outside the array."""


class LayoutError(ArgumentError):
    """The memory layout of an array does not allow the operation."""


class CopyNeededError(LayoutError, NotImplementedError):
    """The result would need a copy, and the operation only gives views."""


class DTypeError(PyGpuLibError, TypeError):
    """A dtype is not supported, or two dtypes do not go together."""


class ArgumentTypeError(PyGpuLibError, TypeError):
    """An argument is of a Python type that the function does not take."""


class DeviceError(PyGpuLibError):
    """Something is wrong with a device, its memory, or a launch.

    Attributes
    ----------
    code : int
        Status that a library of the vendor returned, 0 if none was involved.
    """

    code = 0


class NoDeviceError(DeviceError):
    """The device that was asked for does not exist on this machine."""


class DeviceIndexError(NoDeviceError, IndexError):
    """There is no device of this number."""


class DeviceMismatchError(DeviceError, ValueError):
    """Arrays or streams of different devices meet in one operation."""


class ExportError(DeviceMismatchError, BufferError):
    """Memory cannot be handed to another library in the way that it asks for."""


class MemoryManagerError(DeviceError, RuntimeError):
    """A plug-in for device memory cannot be used."""


class DeviceMemoryError(DeviceError, MemoryError):
    """The device has no memory left for the request."""


class LaunchError(DeviceError, ValueError):
    """A kernel launch was refused before anything ran."""


class LaunchTypeError(DeviceError, TypeError):
    """A kernel launch was given arguments or sizes of the wrong type or number."""


class NotAKernelError(LaunchTypeError, RuntimeError):
    """A device function was launched as if it were a kernel."""


class SpecializationError(PyGpuLibError, RuntimeError):
    """A kernel that is tied to certain types was asked for others."""


class KernelFault(DeviceError):
    """A kernel failed while it ran."""


class DeviceLostError(KernelFault):
    """A kernel failed so badly that this process can no longer use the device."""


class DriverError(DeviceError):
    """The device's driver refused a request."""


class ImageError(DeviceError):
    """The device's driver does not accept the machine code of a kernel."""


class LibraryError(DeviceError):
    """A library of the vendor is missing, too old, or without a function."""


class CompileError(PyGpuLibError):
    """A kernel or device function cannot be compiled.

    Attributes
    ----------
    span : Span or None
        Where in the user's source.
    """

    def __init__(
        self,
        problem: str,
        *,
        span: Span | None = None,
        detail: str = "",
        help: str = "",
    ) -> None:
        super().__init__(problem, detail=detail, help=help)
        self.span = span


class UnsupportedSyntaxError(CompileError):
    """The kernel uses a Python construct that the kernel language does not have."""


class KernelTypeError(CompileError, TypeError):
    """An operation in a kernel does not accept the types of its operands."""


class KernelValueError(CompileError, ValueError):
    """A constant in a kernel has a value that the operation does not take."""


class UndefinedNameError(CompileError, NameError):
    """A kernel uses a name that is defined nowhere."""


class UnsupportedFeatureError(CompileError, NotImplementedError):
    """The feature exists in the language but not on this back end or in this version."""


class SourceUnavailableError(CompileError, OSError):
    """The Python source of a kernel cannot be found."""


class InternalError(PyGpuLibError):
    """A bug in pygpulib itself; please report it with the attached text."""


class PyGpuLibWarning(RuntimeWarning):
    """Something went wrong where no error can be raised, or deserves attention."""


class PerformanceWarning(PyGpuLibWarning):
    """A program is right but will be slower than it has to be."""


class HostFallbackWarning(PerformanceWarning):
    """A function on arrays of a GPU computes on the host, because no library of the GPU has it."""


class BackendWarning(PyGpuLibWarning):
    """A GPU cannot be used because something is wrong with its driver; the CPU is used."""


class ConfigurationWarning(PyGpuLibWarning):
    """Options that do not go together; one of them is ignored."""


# ------------------------------------------------------------------------------- numba's names
#
# For programs that catch what numba raises. Where numba has one class and this package several,
# the name means their common base.

NumbaError = PyGpuLibError
TypingError = CompileError
LoweringError = CompileError
UnsupportedError = CompileError
NumbaTypeError = KernelTypeError
NumbaValueError = KernelValueError
RequireLiteralValue = KernelTypeError
DeprecationError = PyGpuLibError
KernelRuntimeError = KernelFault
CudaSupportError = NoDeviceError
CudaDriverError = DeviceError
CudaAPIError = DeviceError
CudaRuntimeError = DeviceError
LinkerError = CompileError
NumbaWarning = PyGpuLibWarning
NumbaPerformanceWarning = PerformanceWarning
NumbaInvalidConfigWarning = ConfigurationWarning
NumbaDebugInfoWarning = PyGpuLibWarning
NumbaDeprecationWarning = PyGpuLibWarning
