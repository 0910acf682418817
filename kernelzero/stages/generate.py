"""Generation as a stage: the updated Proposer writes modules until enough of them are valid, new and not near a test task."""

from kernelzero.errors import UserError
from kernelzero.modules import extract_module
from kernelzero.stages.context import Context
from kernelzero.stages.metrics import metric_rows
from kernelzero.stages.proposals import api_sets
from kernelzero.stages.validating import validation_rows, validator
from kernelzero.store.records import Validation


def run(context: Context) -> dict:
    settings = context.config.generate
    context.forget_after(-1)
    model, tokenizer = context.load(context.spec.proposer)
    sampler = context.sampler(model, tokenizer)
    judge = validator(context)
    accepted: set[str] = set()
    seen = 0
    for batch in range(1, settings.max_batches + 1):
        sets = api_sets(context, settings.prompts, offset=(batch - 1) * settings.prompts)
        with context.sampling():
            completions = [c[0] for c in sampler.sample(context.prompts(sets), 1, context.seed("sample", batch))]
        with context.verifying():
            sources = [extract_module(c.text) for c in completions]
            results = judge.validate([(source, s.apis) for source, s in zip(sources, sets, strict=True) if source])
        rows = validation_rows(context, batch, sources, results)
        accepted |= {row.module_id for row in rows if isinstance(row, Validation) and row.valid and not row.duplicate_of}
        seen += len(sets)
        valid = sum(row.valid for row in rows if isinstance(row, Validation))
        context.store.write([*rows, *metric_rows(context.place, batch, {"valid_share": valid / len(sets), "accepted": len(accepted)})])
        context.progress(step=min(len(accepted), settings.modules), steps=settings.modules, valid_share=valid / len(sets))
        if len(accepted) >= settings.modules:
            break
    if not accepted:
        raise UserError(f"the Proposer wrote no valid module in {seen} completions of round {context.spec.round}; "
                        "`kernelzero sql validation_failures` shows why; lower proposer.learning_rate or raise generate.max_batches")
    return {"figures": {"modules": len(accepted), "completions": seen}}
