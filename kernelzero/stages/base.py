"""The warm start as a stage: corpus, tokenizer, SFT, and the co-occurrence distribution of the corpus' API sets."""

import json
import time
from pathlib import Path

from kernelzero import corpus
from kernelzero.apis import CoOccurrence
from kernelzero.models.warm_start import pairs, warm_start
from kernelzero.stages.context import Context

CO_OCCURRENCE_SAMPLES = 2000


def co_occurrence(config) -> CoOccurrence:
    """Estimated from the API sets of the generator's modules."""
    triples = corpus.generate(CO_OCCURRENCE_SAMPLES, config.warm_start.seed, mistakes=0.0)
    return CoOccurrence.from_sources([t.module for t in triples])


def run(context: Context) -> dict:
    started = time.perf_counter()
    target = Path(context.spec.folder) / "model"
    digest = warm_start(context.config, target, pairs(context.config),
                        on_step=lambda step, steps, loss: context.progress(step=step, steps=steps, loss=loss))
    context.clock.training_s = time.perf_counter() - started
    (Path(context.spec.folder) / "co_occurrence.json").write_text(json.dumps(co_occurrence(context.config).to_dict()))
    return {"model": str(target), "digest": digest}
