"""What a results database says: tables for the terminal, and one self-contained HTML file."""

from budget_envs.evaluation.report.html import write_html
from budget_envs.evaluation.report.model import Cell, Comparison, ReportData, RunReport
from budget_envs.evaluation.report.plain import as_plain
from budget_envs.evaluation.report.summary import summarize
from budget_envs.evaluation.report.terminal import print_report

__all__ = [
    "Cell",
    "Comparison",
    "ReportData",
    "RunReport",
    "as_plain",
    "print_report",
    "summarize",
    "write_html",
]
