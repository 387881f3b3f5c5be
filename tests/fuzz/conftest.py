"""Shares the time out among the fuzz tests, and prints how many inputs they tried, by area."""

import os
from collections import Counter

import pytest


@pytest.fixture(scope="session")
def seconds_of_a_share(request):
    """What a test with a share of one has of the time; none where a few examples will do."""
    minutes = float(os.environ.get("ABSTAIN_FUZZ_MINUTES", 0))
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 1))
    items = request.session.items
    shares = sum(getattr(getattr(item, "function", None), "share", 0.0) for item in items)
    return 60 * minutes * workers / shares


def pytest_terminal_summary(terminalreporter):
    by_area: dict[str, Counter[str]] = {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", ()):
                if name == "fuzz" and report.when == "call":
                    area, counts = value
                    by_area.setdefault(area, Counter()).update(counts)
    if not by_area:
        return
    terminalreporter.section("inputs tried")
    for area, counts in sorted(by_area.items()):
        listed = ", ".join(f"{count:,} {what}" for what, count in sorted(counts.items()))
        terminalreporter.write_line(f"{area:20} {counts.total():>9,}   {listed}")
    total = sum(counts.total() for counts in by_area.values())
    terminalreporter.write_line(f"{'all':20} {total:>9,}")
