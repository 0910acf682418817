"""The stages as Prefect tasks: what is done already is not done again, a killed stage is tried once more, rows say how it went.

Whether a stage is done, the database knows: a finished row whose inputs are the same and whose checkpoint is whole. Prefect's own
result cache plays no part.
"""

import time
from dataclasses import asdict, replace
from pathlib import Path

from kernelzero_tasks import console, device
from kernelzero_tasks.artifacts import stage_table
from kernelzero_tasks.run import RunHandle
from kernelzero_tasks.tracking import track_stage
from prefect import task
from prefect.cache_policies import NO_CACHE

from kernelzero.errors import UserError
from kernelzero.models import checkpoints
from kernelzero.stages.process import StageFailed, discard, run_stage
from kernelzero.stages.spec import StageResult, StageSpec, derive_seed, digest_of
from kernelzero.store.records import Checkpoint, StageRun

HOURS = 3600


def _worth_retrying(task_, task_run, state) -> bool:
    """A stage that died (memory, a signal) may live the next time; bad input stays bad."""
    return isinstance(state.result(raise_on_failure=False), StageFailed)


STAGE = dict(retries=1, retry_delay_seconds=1, retry_condition_fn=_worth_retrying, timeout_seconds=12 * HOURS, cache_policy=NO_CACHE,
             persist_result=False)


@task(name="proposer-grpo", task_run_name="proposer GRPO, round {round}", **STAGE)
def proposer_grpo(run: RunHandle, round: int, proposer: str, coder: str) -> str:
    """The Proposer's checkpoint after its steps; with `proposer.frozen` the one it came with."""
    if run.config.proposer.frozen or run.config.proposer.steps == 0:
        return proposer
    return _perform(run, "proposer", round, ("base", "sampling", "apis", "proposer", "verifier", "backend"), proposer, coder).model


@task(name="generate-modules", task_run_name="module generation, round {round}", **STAGE)
def generate_modules(run: RunHandle, round: int, proposer: str) -> None:
    _perform(run, "generate", round, ("base", "sampling", "apis", "generate", "verifier"), proposer)


@task(name="coder-ca-grpo", task_run_name="coder CA-GRPO, round {round}", **STAGE)
def coder_grpo(run: RunHandle, round: int, coder: str) -> str:
    """The Coder's checkpoint after its steps."""
    if run.config.coder.steps == 0:
        return coder
    return _perform(run, "coder", round, ("base", "sampling", "coder", "verifier", "backend"), coder=coder).model


@task(name="evaluate-coder", task_run_name="evaluation, round {round}", **STAGE)
def evaluate_coder(run: RunHandle, round: int, coder: str) -> dict:
    """Figures by suite and metric."""
    return _perform(run, "evaluate", round, ("base", "sampling", "evaluate", "verifier", "backend"), coder=coder).figures


def _perform(run: RunHandle, kind: str, round: int, sections: tuple[str, ...], proposer: str = "", coder: str = "") -> StageResult:
    config = run.config.model_dump(mode="json")
    upstream = _upstream(run, kind, round)
    digest = digest_of([kind, round, config["seed"], {s: config[s] for s in sections}, upstream,
                        [checkpoints.saved_digest(p) or p for p in (proposer, coder) if p]])
    # an evaluation's seed is the same in every round: two checkpoints see the same draws
    seed = derive_seed(config["seed"], kind) if kind == "evaluate" else derive_seed(config["seed"], kind, round)
    spec = StageSpec(kind, run.run_id, round, config, str(run.folder / f"round-{round}" / kind), str(run.database), seed, proposer,
                     coder, run.keck, digest)
    finished = _finished(run, spec)
    if finished:
        console.skipped(spec)
        return finished
    return perform(run, spec)


def _upstream(run: RunHandle, kind: str, round: int) -> list:
    """What a stage reads from the database was made by these finished stages: their inputs' digests, in order."""
    same_round = {"generate": ("proposer",), "coder": ("generate",)}.get(kind, ())
    return [[row.round, row.stage, row.detail.get("inputs_digest")] for row in run.store.rows(StageRun, run_id=run.run_id)
            if row.stage in ("proposer", "generate", "coder") and (row.round < round and kind in ("proposer", "generate")
                                                                    or row.round == round and row.stage in same_round)]


def perform(run: RunHandle, spec: StageSpec) -> StageResult:
    """Run the stage's process with the device to itself, and record it."""
    place = {"run_id": run.run_id, "round": spec.round, "stage": spec.kind}
    started = time.perf_counter()
    run.store.write([StageRun(**place, status="running", detail={"inputs_digest": spec.inputs_digest})])
    try:
        with device.held(run.config, lambda holder: console.waiting(spec, holder)), console.following(spec, run) as follow:
            result = run_stage(spec, follow)
    except BaseException as error:
        run.store.write([StageRun(**place, status="failed", seconds=time.perf_counter() - started,
                                  detail={"inputs_digest": spec.inputs_digest, "error": str(error) or type(error).__name__})])
        raise
    result = replace(result, seconds=time.perf_counter() - started)
    rows = [_stage_row(spec, result)]
    if result.model:
        rows.append(Checkpoint(run.run_id, spec.round, "base" if spec.kind == "warm_start" else spec.kind, result.model, result.digest))
    run.store.write(rows)
    run.store.publish()
    discard(Path(spec.folder) / "trainer")
    track_stage(run, spec, result)
    stage_table(run, spec)
    console.finished(spec, result)
    return result


def _stage_row(spec: StageSpec, result: StageResult) -> StageRun:
    return StageRun(spec.run_id, spec.round, spec.kind, "finished", result.seconds, result.sampling_s, result.verifying_s,
                    result.training_s, result.peak_memory_mb, {"inputs_digest": spec.inputs_digest, "result": asdict(result)})


def _finished(run: RunHandle, spec: StageSpec) -> StageResult | None:
    """The stage's result when it is done: same inputs, and its checkpoint still there and whole."""
    rows = run.store.rows(StageRun, run_id=run.run_id, round=spec.round, stage=spec.kind, status="finished")
    if not rows:
        return None
    detail = rows[0].detail
    if detail["inputs_digest"] != spec.inputs_digest:
        console.changed(spec)
        return None
    result = StageResult(**detail["result"])
    if result.model:
        try:
            checkpoints.check(Path(result.model))
        except UserError as error:
            console.note(f"{error}")
            return None
    return result
