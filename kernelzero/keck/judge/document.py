"""Verdicts as a document that programs read: `kernelzero verify --json`. The schema is versioned and only grows.

`docs/verdict.schema.json` is generated from these classes (`python -m kernelzero.keck.judge.document`); a field is added with a
default and the version's second number goes up, a changed or removed one moves the first. NaN and infinities are the
strings 'NaN', 'Infinity' and '-Infinity', so that every JSON reader takes the document.
"""

import dataclasses
import json
import math
from typing import Literal

from pydantic import BaseModel, Field

from kernelzero.keck.judge.reasons import MEANING, NEXT, Reason
from kernelzero.keck.judge.verdict import Verdict

SCHEMA = "kernelzero.verdicts/1.0"
INTERPRETER_LEAVES = (
    "that it compiles past TTIR: registers, shared memory, PTX",
    "races between programs that use atomics, and on the card's own memory model",
    "the card's own precision of tl.dot (TF32)",
    "the time: the speedup is the roofline's estimate",
)
Status = Literal["correct", "rejected", "not_judged"]
Number = bool | int | float | Literal["NaN", "Infinity", "-Infinity"]


class FirstDifference(BaseModel):
    """The first element past the bound, in row-major order."""

    seed: int
    scale: float = Field(description="factor on floating-point inputs")
    values: str = Field(description="'drawn', or special values: large, tiny, offset, ...")
    call: int = Field(description="which call on one module, from 1")
    output: int = Field(description="which tensor of the outputs, from 0")
    shape: list[int]
    index: list[int]
    expected: Number
    got: Number
    error: Number | None = Field(description="absolute, against float64; null where elements must be equal")
    tolerance: Number | None
    wrong: int = Field(description="elements past the tolerance")
    worst: list[int] = Field(description="index of the element furthest past it")


class Speed(BaseModel):
    """Seconds for one call. timer 'roofline' is an estimate, 'cuda' a measurement."""

    timer: str
    device: str
    reference_s: float
    kernel_s: float
    speedup: float
    own_share: float = Field(description="share of kernel_s in the candidate's own kernels")
    launches: int
    bytes_moved: int
    reference_launches: int
    reference_bytes: int
    versions: dict[str, str]


class VerdictDocument(BaseModel):
    """One candidate. status says how it ended; stage and reason are set unless it was not judged."""

    candidate: str
    status: Status
    stage: str | None = Field(description="the last stage reached")
    reason: str = Field(description="a word of the fixed list, '' when correct or not judged")
    meaning: str = Field(description="the reason in words")
    detail: str
    next: str = Field(description="what to look at next")
    max_error: Number | None = Field(description="largest error in units of the tolerance")
    tolerance: str
    flaky: bool = Field(description="right in some cases only, or within 20% of the tolerance")
    first_difference: FirstDifference | None
    speed: Speed | None
    not_judged: str = Field(description="why it was not judged, else ''")
    retry: bool = Field(description="whether trying again may help")
    seconds: float
    stages_s: dict[str, float] = Field(description="seconds by stage: reference, record, replay, judge")


class VerdictsDocument(BaseModel):
    """What one `kernelzero verify` said."""

    version: str = Field(SCHEMA, description="name and version of this schema")
    reference: str
    backend: str
    policy: str
    seeds: int
    judged_by: Literal["interpreter"] = Field("interpreter", description="what ran the kernels")
    unproven: list[str] = Field(description="what a verdict 'correct' from it leaves open")
    verdicts: list[VerdictDocument]


def status_of(verdict: Verdict) -> Status:
    if verdict.judgement is None:
        return "not_judged"
    return "correct" if verdict.correct else "rejected"


def _number(value):
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def _difference(judgement) -> FirstDifference | None:
    if judgement is None or judgement.difference is None:
        return None
    fields = {key: _number(value) for key, value in dataclasses.asdict(judgement.difference).items()}
    return FirstDifference(tolerance=fields.pop("bound"), **fields)


def document(name: str, verdict: Verdict) -> VerdictDocument:
    """One verdict as its document; `name` is what the candidate is called."""
    judgement, measured = verdict.judgement, verdict.measurement
    reason = Reason(judgement.reason) if judgement and judgement.reason else None
    speed = None
    if measured:
        known = {key: value for key, value in dataclasses.asdict(measured).items() if key in Speed.model_fields}
        speed = Speed(**known)
    return VerdictDocument(
        candidate=name,
        status=status_of(verdict),
        stage=str(judgement.stage) if judgement else None,
        reason=str(reason or ""),
        meaning=MEANING[reason] if reason else "",
        detail=judgement.detail if judgement else "",
        next=NEXT[reason] if reason else "",
        max_error=_number(judgement.max_error) if judgement else None,
        tolerance=judgement.tolerance if judgement else "",
        flaky=bool(judgement and judgement.flaky),
        first_difference=_difference(judgement),
        speed=speed,
        not_judged=verdict.not_judged,
        retry=verdict.retry,
        seconds=verdict.seconds,
        stages_s=verdict.stages_s,
    )


def documents(reference: str, backend: str, policy: str, seeds: int, verdicts: dict[str, Verdict]) -> VerdictsDocument:
    """Everything that one verification of one or several candidates said."""
    return VerdictsDocument(
        reference=reference,
        backend=backend,
        policy=policy,
        seeds=seeds,
        unproven=list(INTERPRETER_LEAVES),
        verdicts=[document(name, verdict) for name, verdict in verdicts.items()],
    )


if __name__ == "__main__":
    print(json.dumps(VerdictsDocument.model_json_schema(), indent=1))
