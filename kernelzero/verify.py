"""Verification by hand: what `kernelzero verify` does between sources and verdicts."""

from kernelzero import keck
from kernelzero.errors import UserError
from kernelzero.kernels import extract_answer, screen
from kernelzero.modules import Finding, contract


def verify_sources(
    verifier: keck.Verifier, reference: str, candidates: dict[str, str], policy: str = "strict", seeds: int = 3, backend: str = "triton"
) -> dict[str, keck.Verdict]:
    """The verdict on each candidate by its name, in order, with one warm start for all.

    candidates: name -> source, or a model's whole answer. UserError when the reference is not a task.
    """
    if policy not in ("strict", "kernelbench"):
        raise UserError(f"unknown policy '{policy}': strict (compute by own kernels only) or kernelbench (torch operators allowed)")
    if seeds < 1:
        raise UserError("--seeds must be at least 1")
    tree = contract.parse(reference)
    findings = [tree] if isinstance(tree, Finding) else contract.check_contract(tree, exact=False)
    if findings:
        raise UserError(f"the reference is not a task: {findings[0].detail}")
    found: dict[str, keck.Verdict | None] = {}
    tasks: dict[str, keck.Task] = {}
    for name, text in candidates.items():
        source, found[name] = _answer(reference, text, policy, backend)
        if found[name] is None:
            tasks[name] = keck.Task(reference, source, backend, policy, tuple(range(seeds)))
    return found | dict(zip(tasks, verifier.verify(list(tasks.values())), strict=True))


def _answer(reference: str, text: str, policy: str, backend: str) -> tuple[str | None, keck.Verdict | None]:
    """The source to judge, or the verdict that it needs no judging."""
    answer = extract_answer(text, backend, "stop")
    if answer.reason:
        stage = keck.Stage.NONE if answer.source is None else keck.Stage.EXTRACTED
        return answer.source, keck.Verdict(keck.Judgement(stage, answer.reason, answer.detail))
    refused = screen(answer.source, backend, policy, reference)
    return answer.source, keck.Verdict(keck.Judgement(keck.Stage.EXTRACTED, *refused)) if refused else None
