"""The Store: writes records, answers SQL as Polars frames, publishes snapshots. The only module that opens the database.

One `write` is one opening and one transaction: a reader sees all of a step or nothing of it, and a killed process leaves
nothing half-written. The values live in the file, so a Store is cheap to make and holds nothing open.
"""

import os
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from kernelzero.errors import UserError
from kernelzero.store import migrations
from kernelzero.store import queries as named_queries
from kernelzero.store.connection import PATIENCE_S, check_file, copy_whole, explain, opened, snapshot_of
from kernelzero.store.tables import STEPPED, TABLES, Table, columns, deduplicate, from_row, to_arrow


@dataclass(frozen=True)
class StageKey:
    """A stage of a round of a run, and the last of its steps that counts: later ones are forgotten before a resumed stage repeats them.

    after_step = -1 forgets the whole stage: also the steps numbered 0, the API sets that it asked for, and, of `evaluate`, the
    round's evaluations. Identities (modules, kernels, judgements) stay: they are facts, whoever found them.
    """

    run_id: str
    round: int
    stage: str
    after_step: int


class Store:
    """A database at `path`, made by the first write. Safe to use from several threads and processes at once."""

    def __init__(self, path: str | Path, *, patience_s: float = PATIENCE_S, schema_folder: Path | None = None):
        self.path = Path(path)
        self.patience_s = patience_s
        self._migrations = migrations.load(schema_folder)
        self._current = False  # the file has been seen with the newest schema

    # -- writing

    def write(self, rows: Iterable, forget: StageKey | None = None) -> int:
        """Write records of any mix of kinds in one transaction, after forgetting what `forget` names; returns the rows after dedupe.

        Raises UserError (locked, full disk, unwritable, foreign or newer file); then nothing of the call is in the file.
        """
        batches = defaultdict(list)
        for row in rows:
            if type(row) not in TABLES:
                raise TypeError(f"{type(row).__name__} is no record of kernelzero.store.records")
            batches[type(row)].append(row)
        ready = []
        for kind, batch in batches.items():
            kept = deduplicate(batch, TABLES[kind])
            ready.append((kind, to_arrow(kind, kept)))
        if not ready and forget is None:
            return 0
        with self._writing() as connection:
            connection.execute("BEGIN TRANSACTION")
            try:
                if forget is not None:
                    _forget(connection, forget)
                for kind, arrow in ready:
                    _insert(connection, kind, TABLES[kind], arrow)
                connection.execute("COMMIT")
            except duckdb.Error:
                migrations.rollback(connection)
                raise
        return sum(arrow.num_rows for _, arrow in ready)

    def publish(self) -> Path:
        """Copy the whole database to `snapshot_path` and rename it into place, for readers who stay long; returns that path."""
        draft = self.snapshot_path.with_name(f".{self.snapshot_path.name}.{os.getpid()}.new")
        try:
            self._make_current()
            copy_whole(self.path, draft, self.patience_s)
            self.snapshot_path.with_name(self.snapshot_path.name + ".wal").unlink(missing_ok=True)
            draft.replace(self.snapshot_path)
        except OSError as error:
            raise explain(error, self.snapshot_path) or error from error
        finally:
            draft.unlink(missing_ok=True)
        return self.snapshot_path

    @property
    def snapshot_path(self) -> Path:
        return snapshot_of(self.path)

    # -- reading

    def query(self, sql: str, params: dict | list | None = None):
        """The answer to any SELECT as a polars.DataFrame. Read-only; UserError for wrong SQL and for statements that write."""
        with self._reading() as connection:
            return _select(connection, sql, params)

    def named(self, name: str, /, **params):
        """The answer of a query of sql/queries as a polars.DataFrame; parameters left out take the defaults of its file."""
        query = named_queries.find(name)
        bound = named_queries.bind(query, params)
        with self._reading() as connection:
            return _select(connection, query.sql, _resolve_runs(connection, bound, self.path))

    def queries(self) -> list[tuple[str, str]]:
        """(name, question) of every named query, by name."""
        return [(query.name, query.question) for query in named_queries.load().values()]

    def rows(self, kind: type, /, **where) -> list:
        """Records of one kind whose fields equal the given values (a list or tuple: any of them), in the order of their key."""
        table, known = TABLES[kind], columns(kind)
        unknown = [name for name in where if name not in known]
        if unknown:
            raise TypeError(f"{kind.__name__} has no field {unknown[0]}")
        terms, values = [], []
        for name, value in where.items():
            several = isinstance(value, (list, tuple, set, frozenset))
            terms.append(f'list_contains(?, "{name}")' if several else f'"{name}" = ?')
            values.append(list(value) if several else value)
        if not self.exists() or [] in values:
            return []
        names = ", ".join(f'"{name}"' for name in known)
        condition = " AND ".join(terms) or "true"
        order = ", ".join(f'"{name}"' for name in table.key)
        frame = self.query(f"SELECT {names} FROM {table.name} WHERE {condition} ORDER BY {order}", values)
        return [from_row(kind, row) for row in frame.iter_rows(named=True)]

    def resolve_run(self, run_id: str = named_queries.LATEST) -> str:
        """The full id of a run from `latest` or a unique beginning; UserError when there is none or more than one."""
        with self._reading() as connection:
            return _resolve_run(connection, run_id, self.path)

    def exists(self) -> bool:
        """Whether the file is there (another process may make it at any moment)."""
        return self.path.exists()

    # -- opening

    def _writing(self):
        self._make_current()
        return opened(self.path, read_only=False, patience_s=self.patience_s)

    def _reading(self):
        if not self.exists():
            raise UserError(f"there is no database at {self.path}; start a run first, or give the path of another")
        if not self._current:
            check_file(self.path)
            with opened(self.path, read_only=True, patience_s=self.patience_s) as connection:
                found = migrations.version(connection, self.path)
            migrations.require_known(found, self._migrations, self.path)
            if found < len(self._migrations):
                self._make_current()
            self._current = True
        return opened(self.path, read_only=True, patience_s=self.patience_s)

    def _make_current(self) -> None:
        """The file exists with the newest schema; looked at once a Store, then only that it is still there."""
        if self._current and self.exists():
            return
        if self._current:
            raise UserError(f"the database {self.path} is gone: it was moved or deleted while in use; put it back, or start again")
        check_file(self.path)
        if not self.exists():
            migrations.create(self.path, self._migrations)
        with opened(self.path, read_only=False, patience_s=self.patience_s) as connection:
            migrations.migrate(connection, self.path, self._migrations)
        self._current = True


def _forget(connection: duckdb.DuckDBPyConnection, key: StageKey) -> None:
    place = [key.run_id, key.round, key.stage]
    for table in STEPPED:
        connection.execute(f"DELETE FROM {table} WHERE run_id = ? AND round = ? AND stage = ? AND step > ?", [*place, key.after_step])
    if key.after_step < 0:
        connection.execute("DELETE FROM api_sets WHERE run_id = ? AND round = ? AND stage = ?", place)
        if key.stage == "evaluate":
            connection.execute("DELETE FROM evaluations WHERE run_id = ? AND round = ?", place[:2])


def _insert(connection: duckdb.DuckDBPyConnection, kind: type, table: Table, arrow) -> None:
    names = list(columns(kind))
    select, update = [f'"{name}"' for name in names], [name for name in names if name not in table.key]
    values: list = []
    if table.stamped:
        now = datetime.now(UTC).replace(tzinfo=None)
        names, select, update = [*names, "started_at", "updated_at"], [*select, "?", "?"], [*update, "updated_at"]
        values = [now, now]
    action = "NOTHING" if table.identity else "UPDATE SET " + ", ".join(f'"{name}" = excluded."{name}"' for name in update)
    into = ", ".join(f'"{name}"' for name in names)
    connection.register("batch", arrow)
    connection.execute(f"INSERT INTO {table.name} ({into}) SELECT {', '.join(select)} FROM batch ON CONFLICT DO {action}", values)
    connection.unregister("batch")


def _select(connection: duckdb.DuckDBPyConnection, sql: str, params):
    import polars

    try:
        relation = connection.sql(sql, params=params)
        if relation is None:
            raise UserError("this statement has no answer; give a SELECT")
        frame = polars.from_arrow(relation.to_arrow_table())
    except (duckdb.ProgrammingError, duckdb.DataError, duckdb.NotSupportedError) as error:
        if "read-only mode" in str(error):
            raise UserError("queries only read; this statement would write to the database") from None
        raise UserError(f"this query cannot be answered: {' '.join(str(error).split())}") from None
    return frame.with_columns([_plain_number(frame[name]) for name in frame.columns])


def _plain_number(column):
    """DuckDB sums integers into 128 bits and divides literals as decimals: both become numbers that Python code expects."""
    import polars

    if not column.dtype.is_decimal():
        return column
    return column.cast(polars.Int64 if column.dtype.scale == 0 else polars.Float64)


def _resolve_runs(connection: duckdb.DuckDBPyConnection, bound: dict, path: Path) -> dict:
    """The parameters with full run ids: `latest`, a beginning of an id, and `previous` (the origin of run_id, else the run before it)."""
    bound = dict(bound)
    for name in ("run_id", "other_run_id"):
        if name not in bound or (name == "other_run_id" and bound[name] == named_queries.PREVIOUS):
            continue
        bound[name] = _resolve_run(connection, bound[name], path)
    if bound.get("other_run_id") == named_queries.PREVIOUS:
        found = connection.execute(
            "SELECT o.run_id FROM runs r JOIN runs o ON o.run_id <> r.run_id AND (o.run_id = r.origin_run_id OR o.started_at <= r.started_at) "
            "WHERE r.run_id = ? ORDER BY o.run_id = r.origin_run_id DESC, o.started_at DESC, o.run_id DESC LIMIT 1", [bound["run_id"]]).fetchall()
        if not found:
            raise UserError(f"there is no run before {bound['run_id']} to compare it with; name the other one")
        bound["other_run_id"] = found[0][0]
    return bound


def _resolve_run(connection: duckdb.DuckDBPyConnection, wanted: str, path: Path) -> str:
    newest = [row[0] for row in connection.execute("SELECT run_id FROM runs ORDER BY started_at DESC, run_id DESC").fetchall()]
    if not newest:
        raise UserError(f"the database {path} holds no run yet; start one with `kernelzero run`")
    if wanted == named_queries.LATEST or wanted in newest:
        return newest[0] if wanted == named_queries.LATEST else wanted
    matches = [run_id for run_id in newest if run_id.startswith(wanted)] if wanted else []
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise UserError(f"'{wanted}' begins {len(matches)} run ids: {', '.join(matches[:5])}; give more of it")
    raise UserError(f"there is no run '{wanted}'; `kernelzero runs` lists them (newest: {newest[0]})")
