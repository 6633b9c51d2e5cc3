"""The vendor's packages that the tests are installed with."""

from __future__ import annotations

import sys

import pytest

# Elsewhere the extra `test` installs all of them, so their absence is to fail.
needs_vendor_packages = pytest.mark.skipif(
    sys.platform == "darwin", reason="NVIDIA makes no packages for macOS"
)
