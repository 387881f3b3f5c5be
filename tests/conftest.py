"""Settings of all tests."""

import os
import shutil
import signal
from pkgutil import resolve_name

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

# Examples are the same for everybody, every time, and none is remembered: new ones are what `make
# fuzz` is for. The first call of a compiled loop takes seconds, so examples have no deadline.
_NEW_EXAMPLES = "ABSTAIN_FUZZ_MINUTES" in os.environ
settings.register_profile(
    "abstain",
    deadline=None,
    derandomize=not _NEW_EXAMPLES,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("abstain")
if not _NEW_EXAMPLES:
    # Hypothesis also draws constants from the source of what is imported by then, unless a folder
    # above it is called "test": other examples after other tests, and in another folder.
    providers.is_local_module_file = lambda path: False


# Of the system: no test downloads a browser.
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@pytest.fixture(scope="session")
def browser():
    """A Chromium of the system; without it or Playwright, what needs it is skipped."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="BROWSER TESTS SKIPPED: playwright is not installed"
    )
    if CHROMIUM is None:
        pytest.skip("BROWSER TESTS SKIPPED: there is no chromium on this machine")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def interruptible():
    """Ctrl-C interrupts, also where the tests run in the background and it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def forget(monkeypatch):
    """A call that forgets what was registered here, as any other process never knew it."""
    registries = [
        "scores._registry._SCORES",
        "calibration._registry._CALIBRATORS",
        "regions._base._REGIONS",
        "rules._rules._RULES",
        "shift._registry._ESTIMATORS",
    ]
    before = [resolve_name(f"abstain.{name}") for name in registries]
    built_in = [{key: one[key] for key in one if not one.is_own(key)} for one in before]

    def forget():
        monkeypatch.setattr("abstain.metrics._registry._own", {})
        for name, things in zip(registries, built_in, strict=True):
            monkeypatch.setattr(f"abstain.{name}._things", {**things})
            monkeypatch.setattr(f"abstain.{name}._own", set())

    forget()
    return forget
