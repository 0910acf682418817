"""Verification of one candidate by hand: what `kernelzero verify` does between two sources and a verdict."""

from kernelzero import keck
from kernelzero.errors import UserError
from kernelzero.kernels import extract_answer, screen
from kernelzero.modules import Finding, contract


def verify_sources(reference: str, candidate: str, policy: str = "strict", seeds: int = 3, backend: str = "triton") -> keck.Verdict:
    """The verdict on a candidate, which may be a model's whole answer. UserError when the reference is not a task."""
    if policy not in ("strict", "kernelbench"):
        raise UserError(f"unknown policy '{policy}': strict (compute by own kernels only) or kernelbench (torch operators allowed)")
    if seeds < 1:
        raise UserError("--seeds must be at least 1")
    tree = contract.parse(reference)
    findings = [tree] if isinstance(tree, Finding) else contract.check_contract(tree, exact=False)
    if findings:
        raise UserError(f"the reference is not a task: {findings[0].detail}")
    answer = extract_answer(candidate, backend, "stop")
    if answer.reason:
        stage = keck.Stage.NONE if answer.source is None else keck.Stage.EXTRACTED
        return keck.Verdict(keck.Judgement(stage, answer.reason, answer.detail))
    refused = screen(answer.source, backend, policy, reference)
    if refused:
        return keck.Verdict(keck.Judgement(keck.Stage.EXTRACTED, *refused))
    with keck.Verifier(workers=1) as verifier:
        return verifier.verify([keck.Task(reference, answer.source, backend, policy, tuple(range(seeds)))])[0]
