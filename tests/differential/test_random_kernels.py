from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pygpulib.errors import UndefinedNameError
from tests.helpers.kernel_programs import make_kernel
from tests.helpers.kernels import interpret

ARGUMENTS = ((3, 5), (2.5, 0), (-7, 20.5))


@given(st.integers(0, 2**32))
def test_the_interpreter_agrees_with_python(seed):
    kernel, text = make_kernel(Random(seed))
    for x, y in ARGUMENTS:
        expected, actual = np.zeros(16), np.zeros(16)
        try:
            kernel(expected, x, y)
            is_defined = True
        except NameError:
            is_defined = False
        try:
            interpret(kernel, actual, x, y)
        except UndefinedNameError:
            return  # refused when compiled, even if only a path that is not taken reads the name
        if is_defined:
            np.testing.assert_array_equal(actual, expected, err_msg=text)
