"""The typed, structured intermediate representation.

Control flow stays structured (``If``, ``For``, ``Loop``, ``Scope``): that is what makes masked
SIMD code and the splitting at barriers simple. Values are in static single assignment form.
Only scalars and pointers exist here: the front end has already taken complex numbers, tuples and
arrays apart.
"""
