from hypothesis import settings

# Compiling inside a property makes time limits per example meaningless. `quick` repeats the same
# examples in every run, so that a change and not chance decides whether the tests pass;
# `--hypothesis-profile=fuzz` searches.
settings.register_profile("quick", max_examples=25, derandomize=True, deadline=None, database=None)
settings.register_profile("fuzz", max_examples=2000, deadline=None, print_blob=True)
settings.load_profile("quick")
