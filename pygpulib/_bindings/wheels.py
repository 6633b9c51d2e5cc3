"""Files of the vendor's packages that pip installs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def find_in_wheels(places: Iterable[str]) -> str | None:
    """Return the path of the first of several files that an installed package has.

    Parameters
    ----------
    places : iterable of str
        Paths below the folder of the vendor's namespace package, with slashes.

    Returns
    -------
    str or None
        None if there is none of them.

    Examples
    --------
    >>> find_in_wheels(["cu0/lib/libthat_nobody_has.so"]) is None
    True
    """
    from importlib.util import find_spec

    spec = find_spec("nvidia")
    folders = spec.submodule_search_locations if spec is not None else None
    for folder in folders or ():
        for place in places:
            path = os.path.join(folder, *place.split("/"))
            if os.path.isfile(path):
                return path
    return None
