"""The base model of a run: warm-started once, cached by the hash of everything it depends on."""

import shutil
from pathlib import Path

from kernelzero_tasks import console
from kernelzero_tasks.run import RunHandle
from kernelzero_tasks.stages import STAGE, perform
from prefect import task
from prefect.cache_policies import NO_CACHE

from kernelzero.models import checkpoints
from kernelzero.stages.spec import StageResult, StageSpec


@task(name="base-model", task_run_name="base model", **{**STAGE, "cache_policy": NO_CACHE})
def base_model(run: RunHandle) -> str:
    """Folder of the model that both roles start from."""
    config = run.config
    if not config.base.warm_start:
        checkpoints.check(Path(config.base.model))
        return config.base.model
    from kernelzero.models.warm_start import cache_key, pairs
    key = cache_key(config, pairs(config))
    cached = run.home / "cache" / "base" / key
    mark = cached / "result.json"
    spec = StageSpec("warm_start", run.run_id, 0, config.model_dump(mode="json"), str(cached), str(run.database), config.warm_start.seed,
                     inputs_digest=key)
    if mark.is_file() and checkpoints.saved_digest(cached / "model"):
        checkpoints.check(cached / "model")
        console.cached(spec)
        result = StageResult(str(cached / "model"))
    else:
        if config.base.model != "tiny":
            checkpoints.check(Path(config.base.model))
        result = perform(run, spec)
    shutil.copy(cached / "co_occurrence.json", run.folder / "co_occurrence.json")
    return result.model
