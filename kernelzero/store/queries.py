"""The named queries of sql/queries: each file opens with comment lines that say what it answers, then its parameters.

    -- Which API sets did the Coder fail? Columns: module_id, apis, ...
    -- :run_id latest
    -- :failed_below 0.01

The first comment up to the first '?' is the question. A parameter stands in the SQL as $run_id; its default gives its type.
`latest` as a run_id means the newest run; a unique beginning of a run id will do.
"""

import difflib
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from kernelzero.errors import UserError

LATEST = "latest"
PREVIOUS = "previous"


@dataclass(frozen=True)
class NamedQuery:
    name: str
    question: str  # the whole leading comment: the question and what the columns are
    parameters: dict  # name -> default (int, float or str)
    sql: str


@cache
def load() -> dict[str, NamedQuery]:
    """All queries of the package by name."""
    entries = [e for e in files("kernelzero_sql").joinpath("queries").iterdir() if e.name.endswith(".sql")]
    queries = [parse(e.name.removesuffix(".sql"), e.read_text(encoding="utf-8")) for e in entries]
    return {query.name: query for query in sorted(queries, key=lambda q: q.name)}


def parse(name: str, text: str) -> NamedQuery:
    """One file; ValueError without a question, or when parameters declared and used differ."""
    question, parameters, lines = [], {}, text.splitlines()
    for line in lines:
        if not line.startswith("--"):
            break
        comment = line.removeprefix("--").strip()
        match = re.fullmatch(r":(\w+) ?(.*)", comment)
        if match:
            parameters[match[1]] = _value(match[2])
        else:
            question.append(comment)
    used = set(re.findall(r"\$(\w+)", re.sub(r"--[^\n]*", "", text)))
    if not question or used != set(parameters):
        raise ValueError(f"query {name}: needs a question, and parameters declared {sorted(parameters)} must be those used {sorted(used)}")
    return NamedQuery(name, " ".join(question), parameters, text)


def find(name: str) -> NamedQuery:
    """The query by name; UserError with the nearest name."""
    if name in load():
        return load()[name]
    close = difflib.get_close_matches(name, load(), n=1)
    hint = f"did you mean '{close[0]}'?" if close else f"there are: {', '.join(load())}"
    raise UserError(f"there is no query '{name}'; {hint}")


def bind(query: NamedQuery, given: dict) -> dict:
    """Defaults with the given values in place, each of its default's type; UserError for an unknown name or a wrong type."""
    unknown = [name for name in given if name not in query.parameters]
    if unknown:
        takes = ", ".join(query.parameters) or "no parameters"
        raise UserError(f"query '{query.name}' has no parameter '{unknown[0]}'; it takes: {takes}")
    bound = dict(query.parameters)
    for name, value in given.items():
        kind = type(query.parameters[name])
        try:
            bound[name] = kind(value)
        except (TypeError, ValueError):
            raise UserError(f"parameter '{name}' of query '{query.name}' takes {'a number' if kind is not str else 'text'}, got '{value}'") from None
    return bound


def _value(text: str):
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text.strip("'")
