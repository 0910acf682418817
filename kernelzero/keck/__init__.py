"""Keck, the verifier: record, replay, judge, time, pool. What candidates and modules do stays in confined processes.

Imports no model code and no torch. Entry points: `Verifier` here, or `connect` to a running `python -m
kernelzero.keck.service`.
"""

from kernelzero.keck.client import RemoteVerifier, connect, running_service
from kernelzero.keck.limits import Limits
from kernelzero.keck.reasons import MEANING, Reason
from kernelzero.keck.runs import Case, ModuleJob, ModuleRun
from kernelzero.keck.verdict import Judgement, Measurement, Stage, Task, Verdict
from kernelzero.keck.verifier import KECK_VERSION, Verifier, judgement_key

__all__ = [
    "KECK_VERSION",
    "MEANING",
    "Case",
    "Judgement",
    "Limits",
    "Measurement",
    "ModuleJob",
    "ModuleRun",
    "Reason",
    "RemoteVerifier",
    "Stage",
    "Task",
    "Verdict",
    "Verifier",
    "connect",
    "judgement_key",
    "running_service",
]
