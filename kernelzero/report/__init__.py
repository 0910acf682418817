"""What people look at: the HTML page of a run, and tables for the terminal. Reads the store; computes nothing that SQL can.

matplotlib and jinja2 are imported where a page is written.
"""

from kernelzero.report.page import write_report
from kernelzero.report.rows import print_rows
from kernelzero.report.tables import print_description, print_verdicts, settings_table

__all__ = ["print_description", "print_rows", "print_verdicts", "settings_table", "write_report"]
