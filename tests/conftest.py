"""Settings of all tests."""

import os
import signal

import pytest
from hypothesis import settings

# The first call of a compiled loop takes seconds, so examples have no deadline; continuous
# integration tries the same examples every time.
settings.register_profile("abstain", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("abstain")


@pytest.fixture
def interruptible():
    """Ctrl-C interrupts, also where the tests run in the background and it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
