"""Torch modules that the Proposer writes: contract, prompt, extraction from a completion, validation in three steps.

A module's code runs in Keck's sandbox only. This folder may import apis and the values of keck, and imports torch only
where tensors are compared.
"""

from kernelzero.modules.extract import extract_module
from kernelzero.modules.near import Decontamination
from kernelzero.modules.prompt import proposer_prompt
from kernelzero.modules.reasons import Finding, Reason, Step
from kernelzero.modules.structure import structure
from kernelzero.modules.validate import ValidationResult, Validator, VerifierFault, check_source

__all__ = [
    "Decontamination",
    "Finding",
    "Reason",
    "Step",
    "ValidationResult",
    "Validator",
    "VerifierFault",
    "check_source",
    "extract_module",
    "proposer_prompt",
    "structure",
]
