"""Which table each record goes to, its key, and its column types: the one place that knows both sides.

Column names are the field names of `records`; `tests/store` compares them with what `sql/schema` makes. Knows no DuckDB.
"""

import json
import math
import typing
from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cache

from kernelzero.store import records as r


@dataclass(frozen=True)
class Table:
    """kind: identity rows are inserted once; event rows replace the row of the same key. stamped: carries started_at, updated_at."""

    name: str
    key: tuple[str, ...]
    identity: bool = False
    stamped: bool = False


PLACE = ("run_id", "round", "stage")
TABLES: dict[type, Table] = {
    r.Run: Table("runs", ("run_id",), stamped=True),
    r.StageRun: Table("stage_runs", PLACE, stamped=True),
    r.ApiSet: Table("api_sets", (*PLACE, "prompt_index")),
    r.Module: Table("modules", ("module_id",), identity=True),
    r.Validation: Table("validations", (*PLACE, "step", "row")),
    r.Proposal: Table("proposals", (*PLACE, "step", "row")),
    r.Kernel: Table("kernels", ("kernel_id",), identity=True),
    r.JudgementRow: Table("judgements", ("judgement_id",), identity=True),
    r.Sample: Table("samples", (*PLACE, "role", "suite", "step", "row")),
    r.Group: Table("groups", (*PLACE, "step", "group_index")),
    r.Metric: Table("metrics", (*PLACE, "step", "name")),
    r.Evaluation: Table("evaluations", ("run_id", "round", "suite", "backend", "policy", "metric", "timer")),
    r.Checkpoint: Table("checkpoints", ("run_id", "round", "role")),
}
STEPPED = ("validations", "proposals", "samples", "groups", "metrics")  # event tables with a step: what `forget` cuts


@cache
def columns(kind: type) -> dict[str, object]:
    """Field name -> annotated type, in the record's order."""
    hints = typing.get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def deduplicate(rows: Iterable, table: Table) -> list:
    """One row a key: the first of an identity, the last of an event. (A key twice in one INSERT would keep the first, silently.)"""
    kept: dict[tuple, object] = {}
    for row in rows:
        key = tuple(getattr(row, name) for name in table.key)
        if table.identity:
            kept.setdefault(key, row)
        else:
            kept[key] = row
    return list(kept.values())


def to_arrow(kind: type, rows: list):
    """A pyarrow table of the rows: tuples as lists of strings, dicts as JSON text. Raises TypeError on a value of the wrong type."""
    import pyarrow as pa

    types = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_(), dict: pa.string()}
    arrays, names = [], []
    for name, hint in columns(kind).items():
        args = [a for a in typing.get_args(hint) if a is not type(None)]
        is_list = typing.get_origin(hint) is tuple
        base = str if is_list else (args[0] if args else hint)
        values = [_plain(getattr(row, name), base, is_list) for row in rows]
        arrow_type = pa.list_(pa.string()) if is_list else types[base]
        try:
            arrays.append(pa.array(values, type=arrow_type))
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise TypeError(f"{kind.__name__}.{name} does not take such a value: {error}") from error
        names.append(name)
    return pa.table(arrays, names=names)


def from_row(kind: type, row: dict):
    """The record behind a row that was read: JSON text as dict, lists as tuples; columns that the record has not are left out."""
    values = {}
    for name, hint in columns(kind).items():
        value = row[name]
        if hint is dict:
            value = json.loads(value)
        elif typing.get_origin(hint) is tuple:
            value = tuple(value)
        values[name] = value
    return kind(**values)


def _plain(value, base: type, is_list: bool):
    if value is None:
        return None
    if is_list:
        return [_text(item) for item in value]
    if base is dict:
        return _text(json.dumps(_json(value), sort_keys=True))
    if base is str:
        return _text(value)
    if base is float:
        return float(value)
    return value


def _text(value: str) -> str:
    """Valid Unicode: a lone surrogate (half of a character) cannot be stored and is written as its escape."""
    try:
        value.encode()
        return str(value)
    except UnicodeEncodeError:
        return value.encode("utf-8", "backslashreplace").decode()


def _json(value):
    """What JSON can hold: keys as text, tuples as lists, NaN and infinities as text, anything else by its text."""
    if isinstance(value, dict):
        return {str(key): _json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_json(item) for item in (sorted(value, key=str) if isinstance(value, (set, frozenset)) else value)]
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if value is None or isinstance(value, (str, int, bool)):
        return value
    return value.item() if hasattr(value, "item") else str(value)
