"""API sets for Proposer prompts: drawn once a stage, stored, and read back by a stage that resumes."""

import json
from pathlib import Path

import numpy

from kernelzero.apis import CoOccurrence, mix
from kernelzero.modules import proposer_prompt
from kernelzero.stages.base import co_occurrence
from kernelzero.stages.context import Context
from kernelzero.store.records import ApiSet


def api_sets(context: Context, wanted: int, offset: int = 0) -> list[ApiSet]:
    """`wanted` API sets with their prompts, a stated share of them from modules that the Coder failed so far.

    Resuming must not see the rows that this very stage has written since, so a set that was drawn stays drawn.
    """
    place, config = context.place, context.config
    kept = context.store.rows(ApiSet, **place, prompt_index=list(range(offset, offset + wanted)))
    if len(kept) == wanted:
        return kept
    failed = context.store.named("failed_api_sets", run_id=context.spec.run_id, failed_below=config.apis.failed_below,
                                 before_round=context.spec.round)
    drawn = mix(
        numpy.random.default_rng(context.seed("api_sets", offset)), wanted,
        frontier=[(row["module_id"], tuple(row["apis"])) for row in failed.to_dicts()], distribution=distribution(context),
        frontier_share=config.apis.frontier_share, sizes=config.apis.sizes)
    rows = [ApiSet(**place, prompt_index=offset + index, apis=tuple(draw.apis), source=draw.source,
                   from_module_id=draw.from_module_id, prompt=_text(proposer_prompt(draw.apis, config.base.style)))
            for index, draw in enumerate(drawn)]
    context.store.write(rows)
    return rows


def distribution(context: Context) -> CoOccurrence:
    """The corpus' co-occurrence distribution, updated with every module that this run accepted in earlier rounds."""
    beside = Path(context.spec.folder).parents[1] / "co_occurrence.json"
    base = CoOccurrence.from_dict(json.loads(beside.read_text())) if beside.is_file() else co_occurrence(context.config)
    accepted = context.store.query(
        "select distinct source from validations join modules using (module_id) where run_id = ? and round < ? and stage = 'generate' "
        "and valid and duplicate_of = '' order by source", [context.spec.run_id, context.spec.round])
    base.update(accepted["source"].to_list())
    return base


def _text(prompt) -> str:
    return prompt if isinstance(prompt, str) else json.dumps(prompt)
