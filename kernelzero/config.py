"""Every number of a run: pydantic models, the TOML profiles, and overrides by `--set coder.steps=2`.

Importable without torch. A setting's description is its documentation: `kernelzero settings` prints this file's tables.
Unknown names are refused with the nearest known one; nothing here is read from the environment.
"""

import difflib
import json
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from kernelzero.errors import UserError


class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Base(Settings):
    model: str = Field("tiny", description="'tiny' (made here by the warm start) or a folder or Hub id of a causal language model")
    style: Literal["compact", "chat"] = Field("compact", description="prompt style: one comment line, or chat messages")
    warm_start: bool = Field(True, description="fine-tune the base on the generator's corpus before round 0")
    dtype: Literal["float32", "bfloat16"] = Field("float32", description="dtype of the weights")
    device: Literal["cpu", "cuda"] = "cpu"


class WarmStart(Settings):
    samples: int = Field(8000, ge=64, description="triples that the generator writes")
    proposer_share: float = Field(0.4, ge=0, le=1, description="share of them used as API set -> module; the rest as module -> kernel")
    mistakes: float = Field(0.3, ge=0, lt=1, description="rate of planted mistakes in the Coder's answers, times an operator's difficulty")
    steps: int = Field(500, ge=1, description="optimizer steps of SFT")
    batch: int = Field(32, ge=1, description="samples a step")
    learning_rate: float = Field(3e-3, gt=0)
    vocabulary: int = Field(1200, ge=300, description="BPE tokens")
    hidden: int = Field(128, ge=32)
    layers: int = Field(4, ge=1)
    heads: int = Field(4, ge=1)
    intermediate: int = Field(384, ge=32)
    seed: int = Field(0, description="of the corpus, the initial weights and the order; apart from the run's seed, so that the cache serves many runs")


class Sampling(Settings):
    temperature: float = Field(1.0, gt=0, description="of every rollout; 1.0 keeps importance ratios unbiased")
    max_prompt_tokens: int = Field(256, ge=16)
    max_new_tokens: int = Field(160, ge=8, description="of an answer; a longer one is cut off and so wrong")
    batch: int = Field(128, ge=1, description="sequences that one generate call holds")


class Apis(Settings):
    frontier_share: float = Field(0.5, ge=0, le=1, description="share of prompts with the API set of a module the Coder failed; the rest: co-occurrence")
    failed_below: float = Field(0.01, ge=0, le=1, description="a module counts as failed when less than this share of its newest kernels is correct")
    sizes: tuple[int, int] = Field((1, 3), description="smallest and largest API set drawn from the co-occurrence distribution")


class Grpo(Settings):
    steps: int = Field(20, ge=0, description="optimizer steps a round")
    prompts: int = Field(16, ge=1, description="prompts (groups) a step")
    group: int = Field(8, ge=2, description="completions a prompt")
    learning_rate: float = Field(2e-4, gt=0)
    warmup_steps: int = Field(0, ge=0)
    adam_beta2: float = Field(0.95, gt=0, lt=1)
    beta: float = Field(0.0, ge=0, description="weight of the KL to the stage's first weights; 0 loads no reference model")
    loss: Literal["dr_grpo", "dapo", "grpo", "bnpo"] = "dr_grpo"
    scale_rewards: Literal["none", "group", "batch"] = Field("none", description="'group' cancels lambda in an all-correct group")
    epsilon_high: float = Field(0.28, gt=0, description="upper clip; no effect while a step is on policy")
    micro_batch: int = Field(64, ge=1, description="completions a forward and backward pass holds")


class Proposer(Grpo):
    frozen: bool = Field(False, description="ablation: never update the Proposer")
    kernels: int = Field(8, ge=1, description="n: kernels that the frozen Coder writes for a proposed module")
    shape: Literal["quadratic", "tent"] = Field("quadratic", description="Frontier Reward: 4p(1-p), or 1-|2p-1|")
    invalid_penalty: float = Field(-0.5, le=0, description="reward of a module that fails validation")
    duplicate_scale: float = Field(0.25, ge=0, le=1, description="factor on the reward of a module that repeats one of its step or of the archive")


class Generate(Settings):
    prompts: int = Field(96, ge=1, description="API sets a batch")
    modules: int = Field(80, ge=1, description="accepted modules wanted")
    max_batches: int = Field(6, ge=1, description="give up after so many batches; the Coder then sees some modules twice")


class Coder(Grpo):
    reward: Literal["ca_grpo", "correct", "speed", "mixed"] = Field("ca_grpo", description="CA-GRPO, or an ablation: c; c*s; c*(1+lambda*s) without a gate")
    tau: float = Field(0.5, ge=0, le=1, description="gate: the share of a group that must be correct before speed is rewarded")
    lam: float = Field(0.5, ge=0, description="lambda: weight of the normalised speedup")
    speedup_cap: float = Field(4.0, gt=1, description="speedup over eager at which the normalised speedup reaches 1 (log scale)")
    speedup_floor: float = Field(1.01, ge=1, description="no credit below it: the timer's resolution")


class Evaluate(Settings):
    suites: tuple[str, ...] = Field(("mini",), description="'mini'; with a checkout, 'kernelbench:1' and so on")
    samples: int = Field(16, ge=1, description="n: samples a task")
    kernelbench: str = Field("", description="folder of a KernelBench checkout")
    kernelbench_memory_gb: float = Field(0.5, gt=0, description="tasks whose tensors need more are left out on this device")
    kernelbench_seconds: float = Field(20.0, gt=0, description="on a CPU, tasks of which one interpreted replay takes longer are left out")
    limit: int = Field(0, ge=0, description="first so many tasks of each suite; 0 for all")


class Verifier(Settings):
    policy: Literal["strict", "kernelbench"] = "strict"
    workers: int = Field(2, ge=1, description="candidates judged at once")
    seeds: tuple[int, ...] = Field((0, 1, 2), min_length=1)
    scales: tuple[float, ...] = Field((1.0, 3.0), min_length=1)
    seconds: float = Field(20.0, gt=0, description="wall-clock limit of a candidate")
    memory_mb: int = Field(2048, ge=256, description="memory limit of a candidate's processes")


class Config(Settings):
    """The whole configuration of a run."""

    profile: str
    seed: int = Field(0, ge=0)
    rounds: int = Field(4, ge=0)
    backend: Literal["triton"] = Field("triton", description="what the Coder writes")
    base: Base = Base()
    warm_start: WarmStart = WarmStart()
    sampling: Sampling = Sampling()
    apis: Apis = Apis()
    proposer: Proposer = Proposer()
    generate: Generate = Generate()
    coder: Coder = Coder()
    evaluate: Evaluate = Evaluate()
    verifier: Verifier = Verifier()

    @model_validator(mode="after")
    def _consistent(self):
        if self.apis.sizes[0] < 1 or self.apis.sizes[0] > self.apis.sizes[1]:
            raise ValueError(f"apis.sizes is {list(self.apis.sizes)}: give smallest and largest, both at least 1")
        for name in ("proposer", "coder"):
            stage = getattr(self, name)
            total = stage.prompts * stage.group
            if stage.micro_batch < total and total % stage.micro_batch:
                fits = [m for m in range(1, total + 1) if total % m == 0 and m <= stage.micro_batch]
                raise ValueError(f"{name}.micro_batch {stage.micro_batch} does not divide {name}.prompts x {name}.group = {total}; {fits[-1]} would")
        if any(s.startswith("kernelbench") for s in self.evaluate.suites) and not self.evaluate.kernelbench:
            raise ValueError("evaluate.suites names kernelbench but evaluate.kernelbench is empty: give the folder of a checkout")
        return self


def profiles() -> dict[str, str]:
    """Name -> first comment line of every profile in the package."""
    found = sorted(p for p in files("kernelzero.profiles").iterdir() if p.name.endswith(".toml"))
    return {p.name.removesuffix(".toml"): p.read_text().splitlines()[0].lstrip("# ") for p in found}


def load(profile: str, overrides: list[str] = ()) -> Config:
    """The profile by name, or a TOML file by path, with `section.key=value` overrides (JSON values, or plain strings)."""
    if profile.endswith(".toml"):
        path = Path(profile)
        if not path.is_file():
            raise UserError(f"profile file {profile} does not exist; give a path to a TOML file or one of: {', '.join(profiles())}")
        text, name = path.read_text(), path.stem
    elif profile in profiles():
        text, name = files("kernelzero.profiles").joinpath(f"{profile}.toml").read_text(), profile
    else:
        raise UserError(f"unknown profile '{profile}'; the profiles are: {', '.join(profiles())}" + _nearest(profile, profiles()))
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"profile {profile} is not valid TOML: {error}") from None
    for item in overrides:
        _override(values, item)
    return build({"profile": name, **values})


def build(values: dict) -> Config:
    """Config from plain values; a UserError names the first wrong setting."""
    try:
        return Config.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            raise UserError(f"unknown setting '{where}'" + _nearest(where, known_settings())) from None
        message = first["msg"].removeprefix("Value error, ")
        raise UserError(f"setting {where}: {message} (given: {first['input']!r})" if where else message) from None


def known_settings() -> list[str]:
    """Dotted names of all settings."""
    names = []
    for name, field in Config.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            names += [f"{name}.{inner}" for inner in field.annotation.model_fields]
        else:
            names.append(name)
    return names


def _override(values: dict, item: str) -> None:
    key, equals, text = item.partition("=")
    if not equals or not key:
        raise UserError(f"--set takes section.key=value, as in --set coder.steps=2; got '{item}'")
    if key not in known_settings():
        raise UserError(f"unknown setting '{key}'" + _nearest(key, known_settings()))
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        value = text
    *sections, last = key.split(".")
    for section in sections:
        values = values.setdefault(section, {})
    values[last] = value


def _nearest(name: str, known) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean '{close[0]}'?" if close else ""
