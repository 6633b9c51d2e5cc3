import os

# What an earlier run left on disk must not decide what a test sees; the tests of the cache use
# folders of their own. Set before the package is imported, and inherited by other processes.
os.environ.setdefault("PYGPULIB_CACHE", "0")

from hypothesis import settings

# Compiling inside a property makes time limits per example meaningless. `quick` repeats the same
# examples in every run, so that a change and not chance decides whether the tests pass;
# `--hypothesis-profile=fuzz` searches.
settings.register_profile("quick", max_examples=25, derandomize=True, deadline=None, database=None)
settings.register_profile("fuzz", max_examples=2000, deadline=None, print_blob=True)
settings.load_profile("quick")
