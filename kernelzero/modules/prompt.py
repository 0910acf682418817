"""The Proposer's prompt: an API set in, a module wanted.

compact: one comment line, for the tiny model, which answers with the bare source. chat: messages for an instruct model,
with the rules of each API from the vocabulary and one worked example of our own.
"""

from collections.abc import Iterable

from kernelzero.apis import VOCABULARY, check_api_set
from kernelzero.apis.vocabulary import EXAMPLE_INPUTS
from kernelzero.errors import UserError

_SYSTEM = (
    "You write PyTorch modules that serve as specifications for GPU kernels: self-contained, deterministic, "
    "numerically well behaved, and interesting to fuse."
)
_EXAMPLE_APIS = ("nn.Linear", "torch.mul", "torch.sigmoid")
_EXAMPLE = """import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gate = nn.Linear(width, width)

    def forward(self, x):
        return x * torch.sigmoid(self.gate(x))


def get_inputs():
    return [torch.randn(64, 128)]


def get_init_inputs():
    return [128]
"""
_RULES = """Rules
- One Python source: class Model(nn.Module) with forward, get_inputs() -> list of the arguments of forward,
  get_init_inputs() -> list of the arguments of __init__. Nothing else at the top level but imports and constants.
- Import only torch, torch.nn, torch.nn.functional and math.
- Every API of the list must take part in the result. Others may be used as well.
- forward draws no random numbers, keeps no state, does not change its inputs and reads no files.
- The output depends on every input, is finite, and is neither constant nor an input handed back.
- Inputs are small: at most a few million numbers in all."""


def proposer_prompt(apis: Iterable[str], style: str) -> str | list[dict[str, str]]:
    """The prompt for an API set: text for 'compact', messages for 'chat'. A UserError for an empty set or an
    unknown name."""
    names = check_api_set(apis)
    if style == "compact":
        return f"# apis: {', '.join(names)}\n"
    if style == "chat":
        return [{"role": "system", "content": _SYSTEM}, {"role": "user", "content": _request(names)}]
    raise UserError(f"unknown prompt style '{style}': give 'compact' or 'chat'")


def api_rule(name: str) -> str:
    """One line on an API: name, shapes, what must hold, and how a call looks."""
    api = VOCABULARY[name]
    parts = [api.shapes, *([api.arguments] if api.arguments else []), f"e.g. {api.example}"]
    return f"- {name}: " + "; ".join(parts)


def _request(names: tuple[str, ...]) -> str:
    shapes = [f"{name} {shape}" for name, shape in EXAMPLE_INPUTS.items() if any(_speaks_of(name, n) for n in names)]
    where = [f"(In the examples: {', '.join(shapes)}.)"] if shapes else []
    return "\n".join(
        [
            "Write a PyTorch module that uses all the APIs of a list.",
            "",
            _RULES,
            "",
            "Example",
            f"APIs: {', '.join(_EXAMPLE_APIS)}",
            f"```python\n{_EXAMPLE}```",
            "",
            "Your task",
            f"APIs: {', '.join(names)}",
            *(api_rule(name) for name in names),
            *where,
            "",
            "Answer with the complete module in one ```python block.",
        ]
    )


def _speaks_of(tensor: str, name: str) -> bool:
    words = "".join(c if c.isalnum() or c == "_" else " " for c in VOCABULARY[name].example).split()
    return tensor in words
