"""Migrations on real files: from an older version, all or nothing, newer and foreign files."""

import shutil
from importlib.resources import files

import duckdb
import pytest

from kernelzero.errors import UserError
from kernelzero.store import Store, migrations
from kernelzero.store.records import Kernel, Run


@pytest.fixture
def folder(tmp_path):
    """The package's first migration alone, in a folder to which a test adds later ones."""
    target = tmp_path / "schema"
    target.mkdir()
    first = next(entry for entry in files("kernelzero_sql").joinpath("schema").iterdir() if entry.name.startswith("0001"))
    (target / first.name).write_text(first.read_text())
    return target


def old_database(tmp_path, folder):
    store = Store(tmp_path / "old.duckdb", schema_folder=folder)
    store.write([Run("r", "smoke", 7, {}, "finished"), Kernel("k", "s", "triton")])
    return store


def versions(path):
    with duckdb.connect(str(path), read_only=True) as connection:
        return connection.sql("SELECT version, name FROM schema_version ORDER BY version").fetchall()


def test_an_older_file_is_migrated_by_the_first_read(tmp_path, folder):
    old = old_database(tmp_path, folder)
    assert versions(old.path) == [(1, "initial")]
    (folder / "0002_mark.sql").write_text("ALTER TABLE kernels ADD COLUMN mark VARCHAR; UPDATE kernels SET mark = 'old';\n")
    (folder / "0003_view.sql").write_text("CREATE VIEW marked AS SELECT kernel_id, mark FROM kernels;\n")
    store = Store(old.path, schema_folder=folder)
    assert store.query("SELECT * FROM marked").rows() == [("k", "old")]
    assert versions(old.path) == [(1, "initial"), (2, "mark"), (3, "view")]
    assert store.rows(Run)[0].seed == 7
    store.write([Kernel("k2", "s", "triton")])
    assert len(store.rows(Kernel)) == 2


def test_an_older_file_is_migrated_by_the_first_write(tmp_path, folder):
    old = old_database(tmp_path, folder)
    (folder / "0002_mark.sql").write_text("ALTER TABLE kernels ADD COLUMN mark VARCHAR DEFAULT 'new';\n")
    Store(old.path, schema_folder=folder).write([Kernel("k2", "s", "triton")])
    assert versions(old.path)[-1] == (2, "mark")


def test_a_real_version_1_file_reaches_the_newest_schema(tmp_path, folder):
    old = old_database(tmp_path, folder)
    store = Store(old.path)
    assert [row.kernel_id for row in store.rows(Kernel)] == ["k"]
    assert versions(old.path) == [(m.version, m.name) for m in migrations.load()]


def test_a_failing_migration_leaves_the_old_version_whole(tmp_path, folder):
    old = old_database(tmp_path, folder)
    (folder / "0002_mark.sql").write_text("ALTER TABLE kernels ADD COLUMN mark VARCHAR;\n")
    (folder / "0003_broken.sql").write_text("ALTER TABLE kernels ADD COLUMN mark VARCHAR;\n")
    with pytest.raises(duckdb.Error):
        Store(old.path, schema_folder=folder).write([Kernel("k2", "s", "triton")])
    assert versions(old.path) == [(1, "initial")]
    (folder / "0002_mark.sql").unlink()
    (folder / "0003_broken.sql").unlink()
    assert [row.kernel_id for row in Store(old.path, schema_folder=folder).rows(Kernel)] == ["k"]


def test_a_newer_file_is_refused_untouched(tmp_path, folder):
    (folder / "0002_later.sql").write_text("CREATE TABLE later (a INT);\n")
    newer = old_database(tmp_path, folder)
    (folder / "0002_later.sql").unlink()
    before = newer.path.read_bytes()
    for action in (lambda s: s.query("SELECT 1"), lambda s: s.write([Kernel("x", "s", "triton")]), lambda s: s.publish()):
        with pytest.raises(UserError, match="schema version 2, this KernelZero knows 1.*update"):
            action(Store(newer.path, schema_folder=folder))
    assert newer.path.read_bytes() == before


def test_somebody_elses_database_is_refused(tmp_path):
    path = tmp_path / "theirs.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE customers (a INT)")
    for action in (lambda s: s.query("SELECT 1"), lambda s: s.write([Kernel("x", "s", "triton")])):
        with pytest.raises(UserError, match="not one of KernelZero"):
            action(Store(path))


def test_an_empty_duckdb_file_gets_the_tables(tmp_path):
    path = tmp_path / "empty.duckdb"
    duckdb.connect(str(path)).close()
    store = Store(path)
    assert store.query("SELECT count(*) FROM samples").item() == 0


def test_numbers_without_gaps(folder):
    shutil.copy(folder / "0001_initial.sql", folder / "0003_gap.sql")
    with pytest.raises(ValueError, match="without gaps"):
        migrations.load(folder)
