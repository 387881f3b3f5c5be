"""The report: one dict of facts, and one HTML page that anybody can open."""

from abstain.report._report import Report

__all__ = ["Report"]
