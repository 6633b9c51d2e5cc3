"""How Sphinx builds the documentation. The build needs no network."""

from __future__ import annotations

from importlib.metadata import version as version_of

project = "pygpulib"
author = "pygpulib developers"
project_copyright = "2026, pygpulib developers"
version = release = version_of("pygpulib")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.doctest",
    "sphinx.ext.napoleon",
]

html_theme = "furo"
html_title = f"pygpulib {release}"

# References to these projects cannot be resolved without fetching their inventories.
nitpick_ignore_regex = [(r"py:.*", r"(np|numpy|scipy|llvmlite)\..*")]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say it in words, with shapes and dtypes

napoleon_google_docstring = False
napoleon_preprocess_types = True
napoleon_use_rtype = False
napoleon_custom_sections = ["Accuracy", "Source"]

# The examples in docstrings are run by pytest; here it is the pages' turn.
doctest_test_doctest_blocks = ""
doctest_global_setup = "import numpy as np\nfrom pygpulib import cuda"
