"""Members of enumerations in kernels."""

from __future__ import annotations

import enum

import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.errors import KernelTypeError
from tests.helpers.bodies import launch, run_both


class Color(enum.Enum):
    RED = 3
    GREEN = 1
    BLUE = 2
    CRIMSON = RED


class Mixed(enum.Enum):
    TEXT = "text"
    NUMBER = 2.5


class Shape(enum.IntEnum):
    CIRCLE = 10
    SQUARE = 20


class Flags(enum.IntFlag):
    A = 1
    B = 2


class Mode(enum.Flag):
    READ = 1
    WRITE = 2


FAVOURITE = Color.BLUE


def test_constants():
    def body(i, out):
        out[0] = FAVOURITE == Color.BLUE
        out[1] = FAVOURITE is Color.RED
        out[2] = Color["CRIMSON"] != Color.RED
        out[3] = Color.GREEN.value + Color["BLUE"].value
        out[4] = Mixed.NUMBER.value
        out[5] = Mixed.TEXT.value == "text"
        out[6] = len(Color.GREEN.name)
        out[7] = Color.RED == 3
        out[8] = Color(2) is Color.BLUE
        out[9] = 5 if Color.RED else 6
        out[10] = FAVOURITE in (Color.RED, Color.BLUE)
        out[11] = Color.RED is not Color.GREEN

    run_both(body, 1, np.zeros(12))


def test_integer_members_are_numbers():
    def body(i, a, out):
        out[0] = Shape.CIRCLE + 1
        out[1] = Shape.SQUARE > Shape.CIRCLE
        out[2] = Shape.CIRCLE == 10
        out[3] = a[Shape.CIRCLE]
        out[4] = -Shape.SQUARE
        out[5] = max(Shape.SQUARE, 3)
        out[6] = Shape.SQUARE.value // 3
        out[7] = Flags.A | Flags.B
        out[8] = np.float32(Shape.CIRCLE)
        out[9] = int(Shape.CIRCLE)
        out[10] = Shape.CIRCLE in (10, 20)
        for k in range(Shape.CIRCLE):
            out[11] += k
        out[12] = Mode.READ == Mode.WRITE

    run_both(body, 1, np.arange(30.0), np.zeros(13))


@pytest.mark.parametrize("color", list(Color))
@pytest.mark.parametrize("shape", list(Shape))
def test_members_are_arguments(color, shape):
    def body(i, color, shape, out):
        out[0] = color == Color.GREEN
        out[1] = color is Color.RED
        out[2] = color.value
        out[3] = shape + 0.5
        out[4] = shape is Shape.SQUARE
        out[5] = shape == 20
        out[6] = 1 if shape else 2

    run_both(body, 1, color, shape, np.zeros(7))


def test_members_are_chosen_at_run_time():
    def body(i, out):
        color = Color.RED if i % 2 else Color.BLUE
        shape = Shape.CIRCLE
        for k in range(i):
            if k == 3:
                shape = Shape.SQUARE
                color = Color.GREEN
        out[i, 0] = color.value
        out[i, 1] = shape * 2
        out[i, 2] = color is Color.BLUE
        number = shape if i % 3 else 7.5
        out[i, 3] = number

    run_both(body, 8, np.zeros((8, 4)))


def test_members_in_tuples():
    def body(i, pair, out):
        color, shape = pair
        out[i] = shape if color is Color.RED else i

    run_both(body, 3, (Color.RED, Shape.SQUARE), np.zeros(3))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (lambda i, c: c.name, "Color has no attribute 'name' in kernels"),
        (lambda i, c: c.colour, "Color has no attribute 'colour' in kernels"),
        (lambda i, c: c + 1, "+ does not take Color and int64"),
        (lambda i, c: c < Color.RED, "< does not take Color and Color"),
        (lambda i, c: Color(9), "9 is not a valid Color"),
        (lambda i, c: Color(i), "Color does not take int64"),
    ],
)
def test_what_members_do_not_have(body, words):
    with pytest.raises(KernelTypeError) as caught:
        launch(body, 1, Color.RED)
    assert words in str(caught.value)


def test_members_are_not_stored():
    def body(i, a):
        a[i] = Color.RED

    with pytest.raises(KernelTypeError, match="Color cannot be stored in an element"):
        launch(body, 1, np.zeros(3))


def test_a_launch_compiles_once_per_class():
    @cuda.jit
    def kernel(color, out):
        out[0] = color.value

    out = np.zeros(1)
    for color in Color:
        kernel[1, 1](color, out)
        assert out[0] == color.value
    assert len(kernel.signatures) == 1
