"""The report: one dict of facts, and one HTML page that anybody can open."""

from __future__ import annotations

from abstain.report._monitor_report import MonitorReport
from abstain.report._report import Report
from abstain.report._trust import DOUBTFUL as DOUBTFUL

__all__ = ["MonitorReport", "Report"]
