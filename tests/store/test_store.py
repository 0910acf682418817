"""Writing and reading back: identities once, events by key, forget, types, snapshots."""

import dataclasses
import datetime
import math

import duckdb
import polars
import pytest

from kernelzero.errors import UserError
from kernelzero.store import StageKey, Store, records
from kernelzero.store.records import ApiSet, Evaluation, Group, Kernel, Metric, Module, Proposal, Run, Sample, Validation
from kernelzero.store.tables import TABLES, columns


def test_every_record_has_a_table_with_its_fields(store):
    kinds = [value for value in vars(records).values() if dataclasses.is_dataclass(value)]
    assert set(kinds) == set(TABLES)
    store.write([])
    store.write([Run("r", "smoke", 0, {}, "running")])
    for kind, table in TABLES.items():
        made = set(store.query("SELECT column_name FROM duckdb_columns() WHERE table_name = $t", {"t": table.name})["column_name"])
        assert made - {"started_at", "updated_at"} == set(columns(kind)), table.name
        key = store.query("SELECT constraint_column_names AS k FROM duckdb_constraints() WHERE table_name = $t AND constraint_type = 'PRIMARY KEY'",
                          {"t": table.name})["k"].to_list()
        assert key == [list(table.key)]


def test_what_is_written_is_read_back_equal(filled, make_history):
    written = make_history()
    for kind, table in TABLES.items():
        expected = sorted((row for row in written if type(row) is kind), key=lambda row: [getattr(row, name) for name in table.key])
        assert filled.rows(kind) == expected
    assert filled.rows(Module, module_id=["relu0000", "none"])[0].apis == ("torch.relu",)
    assert filled.rows(Module, module_id=[]) == []
    assert [row.step for row in filled.rows(Sample, round=1, role="train", module_id="relu0000")] == [1, 1]
    with pytest.raises(TypeError, match="no field"):
        filled.rows(Module, colour="red")


def test_writing_the_same_again_changes_nothing(filled, make_history):
    tables = {table.name: filled.query(f"SELECT count(*) FROM {table.name}").item() for table in TABLES.values()}
    filled.write(make_history())
    assert {name: filled.query(f"SELECT count(*) FROM {name}").item() for name in tables} == tables


def test_an_identity_keeps_its_first_row_an_event_its_last(store):
    store.write([Module("m", "s", ("a",), origin="corpus"), Module("m", "s", ("a",), origin="mini")])
    store.write([Module("m", "s", ("a",), origin="user")])
    assert store.rows(Module)[0].origin == "corpus"
    store.write([Metric("r", 1, "coder", 1, "loss", 1.0), Metric("r", 1, "coder", 1, "loss", 2.0)])
    assert [row.value for row in store.rows(Metric)] == [2.0]
    store.write([Metric("r", 1, "coder", 1, "loss", 3.0)])
    assert [row.value for row in store.rows(Metric)] == [3.0]


def test_a_run_keeps_when_it_started(store):
    store.write([Run("r", "smoke", 0, {"a": (1, 2)}, "running")])
    first = store.query("SELECT started_at, updated_at FROM runs").row(0)
    store.write([Run("r", "smoke", 0, {"a": (1, 2)}, "finished")])
    second = store.query("SELECT started_at, updated_at, status FROM runs").row(0)
    assert second[0] == first[0] and second[1] > first[1] and second[2] == "finished"
    assert abs(second[0] - datetime.datetime.now(datetime.UTC).replace(tzinfo=None)) < datetime.timedelta(minutes=1)


def staged(step, run="r", stage="coder"):
    return [
        Validation(run, 1, stage, step, 0, "m", True), Proposal(run, 1, stage, step, 0, 0, "m", "", 1, 0, 1, 0.0, "frontier"),
        Sample(run, 1, stage, "train", step, 0, 0, "m", "k", "j", 1, "stop"), Group(run, 1, stage, step, 0, "m", 1, 0.0, 0.5, False, False),
        Metric(run, 1, stage, step, "loss", 1.0),
    ]


def test_forget_cuts_later_steps_of_one_stage_with_the_write(store):
    store.write([row for step in (1, 2, 3) for row in staged(step)] + staged(3, run="other") + staged(3, stage="proposer"))
    store.write(staged(2), forget=StageKey("r", 1, "coder", 1))
    for kind in (Validation, Proposal, Sample, Group, Metric):
        assert [row.step for row in store.rows(kind, run_id="r", stage="coder")] == [1, 2]
        assert len(store.rows(kind, run_id="other")) == len(store.rows(kind, run_id="r", stage="proposer")) == 1


def test_forget_a_whole_stage(store):
    store.write([
        ApiSet("r", 1, "generate", 0, ("a",), "co_occurrence"), Validation("r", 1, "generate", 0, 0, "m", True), Module("m", "s", ("a",)),
        Evaluation("r", 1, "mini", "triton", "strict", "pass@1", 0.5, 1, 1), Sample("r", 1, "evaluate", "evaluate", 0, 0, 0, "m", "k", "j", 1, "stop")])
    store.write([], forget=StageKey("r", 1, "generate", -1))
    assert store.rows(ApiSet) == store.rows(Validation) == []
    assert len(store.rows(Evaluation)) == len(store.rows(Sample)) == 1
    store.write([], forget=StageKey("r", 1, "evaluate", -1))
    assert store.rows(Evaluation) == store.rows(Sample) == [] and len(store.rows(Module)) == 1


def test_one_write_is_all_or_nothing(store):
    store.write([Kernel("k0", "s", "triton")])
    with pytest.raises(duckdb.ConstraintException):
        store.write([Kernel("k1", "s", "triton"), Metric("r", 1, "coder", 1, "loss", None)], forget=StageKey("r", 1, "coder", 0))
    assert [row.kernel_id for row in store.rows(Kernel)] == ["k0"]
    with pytest.raises(TypeError, match="Metric.step"):
        store.write([Kernel("k1", "s", "triton"), Metric("r", 1, "coder", "one", "loss", 1.0)])
    with pytest.raises(TypeError, match="no record"):
        store.write([Kernel("k1", "s", "triton"), {"kernel_id": "k2"}])
    assert [row.kernel_id for row in store.rows(Kernel)] == ["k0"]


def test_awkward_values(store):
    class Half:
        def item(self):
            return 0.5

    store.write([
        Kernel("k", "half \udc80, nul \x00, quote ', euro €", "triton"),
        Run("r", "smoke", 0, {"nan": math.nan, "inf": -math.inf, "tuple": (1, "a"), "scalar": Half(), 3: None}, "running"),
        Metric("r", 1, "coder", 1, "loss", math.nan),
        Metric("r", 1, "coder", 2, "loss", 1)])
    assert store.rows(Kernel)[0].source == "half \\udc80, nul \x00, quote ', euro €"
    assert store.rows(Run)[0].config == {"nan": "nan", "inf": "-inf", "tuple": [1, "a"], "scalar": 0.5, "3": None}
    values = [row.value for row in store.rows(Metric)]
    assert math.isnan(values[0]) and values[1] == 1.0


def test_queries_give_polars_numbers(filled):
    frame = filled.query("SELECT sum(tokens) AS total, 0.5 AS half, ['a'] AS names FROM samples WHERE round >= $round", {"round": 1})
    assert frame.schema == {"total": polars.Int64, "half": polars.Float64, "names": polars.List(polars.String)}
    assert filled.query("SELECT count(*) AS n FROM samples WHERE round = ?", [0]).item() == 2


@pytest.mark.parametrize("sql", ["DELETE FROM samples", "DROP TABLE samples", "CREATE TABLE mine (a INT)", "INSERT INTO kernels VALUES ('a', 'b', 'c')"])
def test_queries_only_read(filled, sql):
    before = filled.query("SELECT count(*) FROM samples").item()
    with pytest.raises(UserError, match="only read"):
        filled.query(sql)
    assert filled.query("SELECT count(*) FROM samples").item() == before


@pytest.mark.parametrize("sql", ["SELEC 1", "SELECT * FROM nowhere", "SELECT colour FROM samples", "SELECT $missing", "SELECT 'x'::INT", ""])
def test_wrong_sql_is_one_sentence(filled, sql):
    with pytest.raises(UserError) as caught:
        filled.query(sql)
    assert "\n" not in str(caught.value)


def test_a_snapshot_is_whole_and_replaced_under_a_reader(filled):
    path = filled.publish()
    assert path == filled.snapshot_path and path.name == "kernelzero.snapshot.duckdb"
    with duckdb.connect(str(path), read_only=True) as reader:
        assert reader.sql("SELECT count(*) FROM samples").fetchall() == [(21,)]
        filled.write([Sample("run-a", 2, "coder", "train", 1, 0, 0, "m", "k", "j", 1, "stop")])
        filled.publish()
        assert reader.sql("SELECT count(*) FROM samples").fetchall() == [(21,)]  # keeps the file that it opened
    assert Store(path).query("SELECT count(*) FROM samples").item() == 22
    assert [entry.name for entry in sorted(path.parent.iterdir())] == ["kernelzero.duckdb", "kernelzero.snapshot.duckdb"]


def test_threads_share_a_store(store):
    import threading

    def work(number):
        for step in range(5):
            store.write([Metric("r", number, "coder", step, "loss", 1.0)])
            store.query("SELECT count(*) FROM metrics")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.query("SELECT count(*) FROM metrics").item() == 20
