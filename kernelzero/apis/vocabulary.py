"""The API vocabulary: what `vocabulary.toml` says, and the one canonical name of every spelling.

A canonical name is 'torch.relu', 'F.relu' or 'nn.ReLU': the three are distinct APIs. Spellings of the same one
(methods, operators, deprecated names) are aliases. What it does not do: describe every overload, or decide what a
kernel may call. Containers (nn.Sequential, nn.Parameter, ...) and tensor factories (torch.zeros, ...) compute
nothing and are no APIs.
"""

import difflib
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from types import MappingProxyType

from kernelzero.errors import UserError

# Shapes of the tensors that the examples speak of; `index` holds int64 class indices below 4, the rest normal floats.
EXAMPLE_INPUTS = MappingProxyType(
    {
        "x": (4, 8),
        "y": (4, 8),
        "w": (8, 6),
        "v": (8,),
        "seq": (2, 4, 8),
        "img": (2, 4, 8, 8),
        "vol": (2, 4, 4, 8, 8),
        "index": (4,),
    }
)


@dataclass(frozen=True)
class Api:
    """One API. kind: 'module' (nn), 'functional' (F) or 'operator' (torch). shapes, arguments, example: words for a
    prompt."""

    name: str
    kind: str
    category: str
    shapes: str
    arguments: str
    example: str
    aliases: tuple[str, ...]


_KINDS = {"nn": "module", "F": "functional", "torch": "operator"}


def _load() -> dict[str, Api]:
    table = tomllib.loads(files("kernelzero.apis").joinpath("vocabulary.toml").read_text(encoding="utf-8"))
    found = {}
    for category, rows in table.items():
        for name, (shapes, arguments, example, *aliases) in rows.items():
            kind = _KINDS[name.split(".")[0]]
            found[name] = Api(name, kind, category, shapes, arguments, example, tuple(aliases))
    return dict(sorted(found.items()))


VOCABULARY: MappingProxyType = MappingProxyType(_load())
_SPELLINGS = {name: name for name in VOCABULARY} | {
    alias: api.name for api in VOCABULARY.values() for alias in api.aliases
}


def short(dotted: str) -> str:
    """'torch.nn.functional.gelu' -> 'F.gelu', 'torch.nn.modules.linear.Linear' -> 'nn.Linear'; others stay as they
    are."""
    if dotted.startswith("torch.nn.functional."):
        return "F." + dotted.removeprefix("torch.nn.functional.")
    if dotted.startswith("torch.nn.modules."):
        return "nn." + dotted.rsplit(".", 1)[1]
    if dotted.startswith("torch.nn."):
        return "nn." + dotted.removeprefix("torch.nn.")
    if dotted.startswith("torch.Tensor."):
        return "Tensor." + dotted.removeprefix("torch.Tensor.")
    if dotted.startswith("nn.functional."):
        return "F." + dotted.removeprefix("nn.functional.")
    return dotted


def canonical(name: str) -> str | None:
    """The canonical name of any spelling (dotted name, 'Tensor.method', operator), or None when it is not in the
    vocabulary.

    A trailing underscore (an in-place method such as 'Tensor.add_') names the same API.
    """
    spelling = short(name)
    found = _SPELLINGS.get(spelling)
    if found is None and spelling.endswith("_") and not spelling.endswith("__"):
        found = _SPELLINGS.get(spelling[:-1])
    return found


def check_api_set(apis: Iterable[str]) -> tuple[str, ...]:
    """The set with canonical names, sorted, without doubles; a UserError when it is empty or names an unknown API."""
    given = [apis] if isinstance(apis, str) else list(apis)
    if not given:
        raise UserError("the API set is empty: name at least one API, such as torch.relu")
    names = set()
    for api in given:
        name = canonical(api)
        if name is None:
            close = difflib.get_close_matches(api, list(VOCABULARY), n=1)
            hint = (
                f"; did you mean '{close[0]}'?" if close else "; the known ones are in kernelzero/apis/vocabulary.toml"
            )
            raise UserError(f"unknown API '{api}'{hint}")
        names.add(name)
    return tuple(sorted(names))
