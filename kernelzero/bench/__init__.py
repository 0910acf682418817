"""Evaluation: the suites (`mini` and KernelBench checkouts), which tasks fit a device, and pass@k, fast_p@k with
intervals.

Knows no model and no verifier: it reads task files and counts verdicts. No torch is imported here; `footprint` runs it
in a process of its own.
"""

from kernelzero.bench.footprint import Fit, Footprint, fits, footprints
from kernelzero.bench.metrics import (
    Interval,
    Sample,
    Summary,
    TaskSamples,
    bootstrap,
    fast_p_at_k,
    paired_difference,
    pass_at_k,
    summarise,
)
from kernelzero.bench.suites import SuiteTask, load_kernelbench, load_suite

__all__ = [
    "Fit",
    "Footprint",
    "Interval",
    "Sample",
    "SuiteTask",
    "Summary",
    "TaskSamples",
    "bootstrap",
    "fast_p_at_k",
    "fits",
    "footprints",
    "load_kernelbench",
    "load_suite",
    "paired_difference",
    "pass_at_k",
    "summarise",
]
