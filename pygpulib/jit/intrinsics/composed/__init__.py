"""Mathematical functions written in the kernel language itself.

They are ordinary Python: the front end compiles them where a kernel uses them, and the tests run
them on NumPy scalars. Whoever expands them keeps every operation as written (strict), because
several depend on the exact rounding. Constants of single precision are ``numpy.float32`` objects,
since a Python literal is a float64.
"""
