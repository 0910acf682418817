"""Validation within a stage: the validator with this run's archive, and its rows."""

from kernelzero.apis import api_set
from kernelzero.modules import Validator
from kernelzero.source import ast_digest, digest
from kernelzero.stages.context import Context
from kernelzero.stages.evaluate import load_suite
from kernelzero.store.records import Module, Validation


def validator(context: Context) -> Validator:
    """Modules are new against what this stage accepts as it goes, and in the Proposer's stage also against all earlier stages
    of the run; near is measured against every task that the run is evaluated on.
    """
    tasks = [task for name in context.config.evaluate.suites for task in load_suite(name, context.config)]
    return Validator(context.verifier, {task.name: task.source for task in tasks}, archive=_archive(context))


def _archive(context: Context) -> list[str]:
    if context.spec.kind != "proposer":
        return []
    done = context.store.query(
        "select distinct source from validations join modules using (module_id) where run_id = ? and valid and "
        "(round < ? or (round = ? and stage = ?)) order by source", [context.spec.run_id, context.spec.round, context.spec.round, context.spec.kind])
    return done["source"].to_list()


def validation_rows(context: Context, step: int, sources: list[str | None], results: list) -> list:
    """Module and Validation rows of one step, a Validation for every completion; `results` has one entry a source that is not None."""
    rows: list = []
    modules: dict[str, Module] = {}
    remaining = iter(results)
    for row, source in enumerate(sources):
        place = {**context.place, "step": step, "row": row}
        if source is None:
            rows.append(Validation(**place, module_id="", valid=False, failed_step="ast", reason="no_module", detail="the completion holds no module"))
            continue
        result = next(remaining)
        module_id = digest(source)
        modules.setdefault(module_id, _module(module_id, source))
        rows.append(Validation(**place, module_id=module_id, valid=result.valid, failed_step=result.failed_step, reason=result.reason,
                               detail=result.detail, missing_apis=tuple(result.missing_apis), duplicate_of=result.duplicate_of or ""))
    return [*modules.values(), *rows]


def _module(module_id: str, source: str) -> Module:
    try:
        return Module(module_id, source, tuple(api_set(source)), ast_digest(source), origin="proposer")
    except SyntaxError:
        return Module(module_id, source, (), origin="proposer")
