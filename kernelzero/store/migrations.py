"""The numbered files of sql/schema, applied in order, all in one transaction; `schema_version` says which are in a file.

A migration is never edited once released: a change of the schema is the next number. A file written by newer code is refused.
An empty database is made under another name and linked into place, so nobody ever sees one without its tables.
"""

import errno
import os
import re
import threading
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import duckdb

from kernelzero.errors import UserError
from kernelzero.store.connection import explain, opened

VERSION_TABLE = "CREATE TABLE schema_version (version BIGINT PRIMARY KEY, name VARCHAR NOT NULL, applied_at TIMESTAMP NOT NULL)"


@dataclass(frozen=True)
class Migration:
    version: int
    name: str
    sql: str


def load(folder=None) -> list[Migration]:
    """The migrations of a folder (default: the package's sql/schema) by number; ValueError unless they are numbered 1, 2, 3, ..."""
    folder = folder or files("kernelzero_sql").joinpath("schema")
    found = []
    for entry in folder.iterdir():
        match = re.fullmatch(r"(\d{4})_(\w+)\.sql", entry.name)
        if match:
            found.append(Migration(int(match[1]), match[2], entry.read_text(encoding="utf-8")))
    found.sort(key=lambda migration: migration.version)
    if [m.version for m in found] != list(range(1, len(found) + 1)):
        raise ValueError(f"migrations are numbered 1, 2, 3, ... without gaps: {[m.version for m in found]}")
    return found


def version(connection: duckdb.DuckDBPyConnection, path: Path) -> int:
    """Number of the last migration in the open file; 0 for an empty database; UserError for somebody else's database."""
    tables = {row[0] for row in connection.execute("SELECT table_name FROM duckdb_tables() WHERE NOT internal").fetchall()}
    if "schema_version" in tables:
        return connection.execute("SELECT coalesce(max(version), 0) FROM schema_version").fetchall()[0][0]
    if tables:
        raise UserError(f"{path} is a DuckDB database, but not one of KernelZero (it holds {sorted(tables)[0]}); give another path")
    return 0


def require_known(found: int, migrations: list[Migration], path: Path) -> None:
    """UserError when the file was written by newer code than this."""
    if found > len(migrations):
        raise UserError(f"the database {path} has schema version {found}, this KernelZero knows {len(migrations)}: it was written by a newer "
                        "KernelZero; update this one, or give another path")


def migrate(connection: duckdb.DuckDBPyConnection, path: Path, migrations: list[Migration]) -> int:
    """Bring an open file to the newest schema, all or nothing; returns the number of migrations that were applied."""
    found = version(connection, path)
    require_known(found, migrations, path)
    if found == len(migrations):
        return 0
    connection.execute("BEGIN TRANSACTION")
    try:
        if found == 0:
            connection.execute(VERSION_TABLE)
        for migration in migrations[found:]:
            connection.execute(migration.sql)
            connection.execute("INSERT INTO schema_version VALUES (?, ?, now() AT TIME ZONE 'UTC')", [migration.version, migration.name])
        connection.execute("COMMIT")
    except duckdb.Error:
        rollback(connection)
        raise
    return len(migrations) - found


def create(path: Path, migrations: list[Migration]) -> None:
    """A new database with all tables at `path`, unless one is there by then. Makes the folder when it is missing."""
    draft = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with opened(draft, read_only=False) as connection:
                migrate(connection, path, migrations)
                connection.execute("CHECKPOINT")  # all into the one file, or an error here: the log does not get the new name
            _put(draft, path)
        finally:
            for leftover in (draft, draft.with_name(draft.name + ".wal")):
                leftover.unlink(missing_ok=True)
    except (NotADirectoryError, FileExistsError) as error:
        raise UserError(f"cannot make the folder {path.parent}: a part of that path is a file; give another path") from error
    except UserError as error:
        raise UserError(str(error).replace(str(draft), str(path))) from error
    except OSError as error:
        raise explain(error, path) or error from error


def _put(draft: Path, path: Path) -> None:
    """Give the finished draft its name; when another process or thread was first, theirs stays."""
    try:
        os.link(draft, path)
    except FileExistsError:
        return
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS):
            raise
        draft.rename(path)  # a file system without hard links


def rollback(connection: duckdb.DuckDBPyConnection) -> None:
    """Undo the open transaction; a database that failed fatally (a full disk) has none left and says so, which is fine."""
    try:
        connection.execute("ROLLBACK")
    except duckdb.Error:
        return
