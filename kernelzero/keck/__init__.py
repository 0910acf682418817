"""Keck, the verifier. What candidates and modules do stays in confined processes; only data leaves them.

The house, from the ground up; a room imports from those above it in this list:

    confine/    sandbox, limits, frames          language/  what a tape may say
    judge/      cases, comparison, reasons, verdict
    reference/  the module's side                record/    the candidate's side       replay/  ours
    timing/     roofline                         pool/      the processes that do the three jobs
    references.py, judging.py, verifier.py       what is known of a module; one task; a batch
    service/    one verifier for many processes

Imports no model code and no torch. Entry points: `Verifier`, or `connect` to a running `python -m
kernelzero.keck.service.server`.
"""

from kernelzero.keck.confine.limits import Limits
from kernelzero.keck.judge.reasons import MEANING, Reason
from kernelzero.keck.judge.verdict import Judgement, Measurement, Stage, Task, Verdict
from kernelzero.keck.judging import KECK_VERSION
from kernelzero.keck.reference.runs import Case, ModuleJob, ModuleRun
from kernelzero.keck.service.client import RemoteVerifier, connect, running_service
from kernelzero.keck.verifier import Verifier, judgement_key

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
