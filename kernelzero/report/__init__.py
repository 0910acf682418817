"""What people look at: the HTML page of a run, and tables for the terminal. Reads the store; computes nothing that SQL can.

matplotlib and jinja2 are imported where a page is written.
"""

from kernelzero.report.page import write_report

__all__ = ["write_report"]
