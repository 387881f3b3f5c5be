"""Settings of all tests."""

import os

from hypothesis import settings

# The first call of a compiled loop takes seconds, so examples have no deadline; continuous
# integration tries the same examples every time.
settings.register_profile("abstain", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("abstain")
