import numpy as np

from pygpulib import cuda
from pygpulib.core.array import ndarray
from pygpulib.jit.staging import Staging


def test_where_no_host_array_is_used_in_place_all_are_copied_and_brought_back():
    first, second = np.arange(3), np.arange(3)
    second.flags.writeable = False
    staging = Staging(0, copies_all=True)
    given = [first, cuda.In(second), (first, 4)]
    one, two, (three, number) = staging.replace_all(given, [first, second, (first, 4)])
    assert isinstance(one, ndarray)
    assert isinstance(two, ndarray)
    assert one is three
    assert number == 4
    assert one.copy_to_host().tolist() == [0, 1, 2]
    one[0] = two[0] = 9
    staging.copy_back()
    assert first.tolist() == [9, 1, 2]
    assert second.tolist() == [0, 1, 2]


def test_mapped_arrays_are_used_in_place_everywhere():
    mapped = cuda.mapped_array((2, 3), np.float32)
    staging = Staging(0, copies_all=True)
    [device] = staging.replace_all([mapped], [mapped[:, ::2]])
    device[1, 1] = 5
    assert mapped[1, 2] == 5


def test_copies_of_mapped_arrays_are_copied():
    copy = cuda.mapped_array(3, np.float32).copy()
    copy[:] = 1
    staging = Staging(0, copies_all=True)
    [device] = staging.replace_all([copy], [copy])
    device[:] = 5
    assert copy.tolist() == [1, 1, 1]
    staging.copy_back()
    assert copy.tolist() == [5, 5, 5]


def test_elsewhere_only_unaligned_arrays_are_copied():
    aligned, unaligned = np.zeros(2), np.zeros(17, np.uint8)[1:].view(np.float64)
    record = np.zeros(1, "i4,f8")[0]
    staging = Staging(0, copies_all=False)
    values = [aligned, unaligned, record, 3]
    same, copied, *others = staging.replace_all(values, values)
    assert same is aligned
    assert isinstance(copied, ndarray)
    assert others == [record, 3]
