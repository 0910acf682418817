"""The named queries on a history of two rounds, against numbers worked out by hand from tests/store/conftest.py."""

import dataclasses

import pytest

from kernelzero.errors import UserError
from kernelzero.store import queries
from kernelzero.store.records import Module, Run, Sample, StageRun


def only(frame, **where):
    rows = [row for row in frame.to_dicts() if all(row[name] == value for name, value in where.items())]
    assert len(rows) == 1, frame
    return rows[0]


def test_every_query_has_a_question_and_runs_with_its_defaults(filled, make_history):
    filled.write(make_history("run-b"))
    names = [name for name, _ in filled.queries()]
    assert len(names) >= 14
    for name, question in filled.queries():
        assert "?" in question and "Columns:" in question, name
        frame = filled.named(name)
        assert frame.width > 1, name
        described = question.split("Columns:")[1]
        for column in frame.columns:
            assert column in described, f"{name} does not say what its column {column} is"


def test_curriculum(filled):
    frame = filled.named("curriculum")
    assert frame.columns == ["round", "proposer_reward", "valid_share", "frontier_occupancy", "coder_pass_rate", "pass_at_1", "fast_1_at_1"]
    base, first = frame.to_dicts()
    assert base == {"round": 0, "proposer_reward": None, "valid_share": None, "frontier_occupancy": None, "coder_pass_rate": None,
                    "pass_at_1": 0.5, "fast_1_at_1": 0.5}
    # rewards 1, 0, 0, -0.6; 3 of 4 valid; k/n 2/4, 0/4, 4/4; of the 4 judged training samples 1 is correct
    assert first == pytest.approx({"round": 1, "proposer_reward": 0.1, "valid_share": 0.75, "frontier_occupancy": 1 / 3,
                                   "coder_pass_rate": 0.25, "pass_at_1": 1.0, "fast_1_at_1": 1.0})


def test_failed_api_sets_takes_the_newest_try_and_no_suite_task(filled):
    frame = filled.named("failed_api_sets")
    assert frame.to_dicts() == [{"module_id": "soft0000", "apis": ["torch.softmax"], "round": 1, "stage": "coder", "k": 0, "n": 2}]
    assert filled.named("failed_api_sets", failed_below=0.6)["module_id"].to_list() == ["relu0000", "soft0000"]
    assert filled.named("failed_api_sets", before_round=1).height == 0
    # a later success in the next round takes it off the list
    filled.write([Sample("run-a", 2, "proposer", "reward", 1, 0, 0, "soft0000", "k0000000", "jr0", 5, "stop")])
    assert filled.named("failed_api_sets").height == 0
    assert filled.named("failed_api_sets", before_round=2).height == 1


def test_failed_api_sets_never_takes_an_evaluation_task(filled):
    filled.write([Sample("run-a", 2, "evaluate", "evaluate", 0, 0, 0, "mini0000", "k1000000", "jm1", 5, "stop", suite="mini", task="mini/add")])
    assert "mini0000" not in filled.named("failed_api_sets")["module_id"].to_list()


def test_failed_api_sets_of_a_rerun_sees_the_rounds_before_it_of_its_origin(filled):
    filled.write([
        Run("run-b", "smoke", 0, {}, "running", origin_run_id="run-a"),
        # round 2 of the origin solved it: a rerun of round 2 must not know
        StageRun("run-a", 2, "proposer", "finished"),
        Sample("run-a", 2, "proposer", "reward", 1, 0, 0, "soft0000", "k0000000", "jr0", 5, "stop"),
    ])
    assert filled.named("failed_api_sets", run_id="run-b", before_round=2)["module_id"].to_list() == ["soft0000"]
    # what it does itself from its first training round on is its own; a look at the base is no training round
    filled.write([StageRun("run-b", 0, "evaluate", "finished"), StageRun("run-b", 2, "proposer", "running")])
    assert filled.named("failed_api_sets", run_id="run-b", before_round=3)["module_id"].to_list() == ["soft0000"]


def test_frontier(filled):
    frame = filled.named("frontier_occupancy")
    assert only(frame, measured_in="proposer") == pytest.approx(
        {"round": 1, "measured_in": "proposer", "modules": 3, "occupied": 1, "occupancy": 1 / 3, "never": 1, "always": 1, "mean_p": 0.5})
    assert only(frame, measured_in="coder")["occupied"] == 1
    assert filled.named("frontier_histogram").rows() == [(1, 0.0, 1), (1, 0.5, 1), (1, 0.9, 1)]


def test_success_by_api_and_pair(filled):
    by_api = filled.named("success_by_api", role="reward")
    # relu: 2 of 4 alone and 4 of 4 in the pair; softmax: 0 of 4 and 4 of 4
    assert only(by_api, api="torch.relu")["success_rate"] == 0.75
    assert only(by_api, api="torch.softmax") == {
        "api": "torch.softmax", "modules": 2, "samples": 8, "success_rate": 0.5, "first_round_rate": 0.5, "last_round_rate": 0.5}
    pair = only(filled.named("success_by_api_pair", role="reward"))
    assert (pair["api_a"], pair["api_b"], pair["samples"], pair["success_rate"]) == ("torch.relu", "torch.softmax", 4, 1.0)
    assert pair["apart"] == pytest.approx(0.75 * 0.5)


def test_learning_curve_and_metrics(filled):
    frame = filled.named("learning_curve")
    assert only(frame, stage="proposer")["mean_reward"] == pytest.approx(0.1)
    assert only(frame, stage="proposer")["pass_rate"] == 0.5
    coder = only(frame, stage="coder")
    assert (coder["completions"], coder["pass_rate"], coder["mean_reward"], coder["median_speedup"], coder["timer"]) == (4, 0.25, 0.375, 2.0, "roofline")
    assert filled.named("metrics", name="lo%").rows() == [(1, "coder", 1, "loss", 0.25)]


def test_pass_at_k_from_the_samples(filled):
    first = only(filled.named("pass_at_k"), round=0)
    assert (first["pass_at_k"], first["fast_p_at_k"], first["tasks"], first["samples"], first["timer"]) == (0.5, 0.5, 1, 2, "roofline")
    assert only(filled.named("pass_at_k", k=2), round=0)["pass_at_k"] == 1.0
    assert only(filled.named("pass_at_k", p=1.5), round=0)["fast_p_at_k"] == 0.0  # faster than 1.5 times, not as fast
    assert filled.named("pass_at_k", k=3).height == 0


def test_pass_at_k_is_the_unbiased_estimator(store):
    """n = 10, c = 3, k = 4: 1 - C(7, 4) / C(10, 4) = 1 - 35 / 210."""
    store.write([Run("r", "smoke", 0, {}, "finished")])
    from kernelzero.store.records import JudgementRow
    rows = []
    for i in range(10):
        rows.append(Sample("r", 0, "evaluate", "evaluate", 0, i, 0, "m", f"k{i}", f"j{i}", 5, "stop", suite="mini", task="t"))
        rows.append(JudgementRow(f"j{i}", "m", f"k{i}", "triton", "strict", "1", "ran", "wrong values", "", i < 3, False, 1.0, ""))
    store.write(rows)
    assert store.named("pass_at_k", k=4)["pass_at_k"][0] == pytest.approx(1 - 35 / 210)


def test_fastest_kernel(filled):
    frame = filled.named("fastest_kernel", module_id="both")
    row = only(frame)
    assert (row["kernel_id"], row["speedup"], row["correct_kernels"], row["timer"], row["source"]) == ("k3000000", 3.0, 2, "roofline", "class ModelNew: 3")
    assert filled.named("fastest_kernel").height == 3  # softmax has none


def test_failures(filled):
    frame = filled.named("failure_reasons", role="train")
    assert {(row["reached"], row["reason"]): (row["samples"], row["share"]) for row in frame.to_dicts()} == {
        ("ran", "wrong values"): (2, 0.5), ("none", "no answer"): (1, 0.25)}
    assert filled.named("not_judged").rows() == [(1, "coder", "train", "the sandbox could not start", 1, 0.2)]
    rejected = only(filled.named("validation_failures"), failed_step="ast")
    assert (rejected["modules"], rejected["share"], rejected["reason"]) == (1, 0.25, "does not parse")


def test_tokens_and_time(filled):
    spent = only(filled.named("tokens"), stage="coder")
    assert (spent["completions"], spent["tokens"], spent["tokens_per_s"]) == (5, 50, 12.5)
    # both roles of the proposer stage: 4 x 20 proposed and 12 x 10 of the Coder in 4 s
    assert only(filled.named("tokens"), role="propose")["tokens_per_s"] == 50
    split = filled.named("time_split")
    total = only(split, stage="all stages")
    assert total["seconds"] == 60
    assert [total[part] for part in ("sampling", "verifying", "training")] == pytest.approx([20 / 60, 22 / 60, 14 / 60])
    assert total["orchestration"] == pytest.approx(4 / 60)
    assert only(split, stage="coder")["orchestration"] == 0


def test_gate_and_diversity(filled):
    gate = filled.named("gate")
    assert only(gate, stage="coder") == {
        "round": 1, "stage": "coder", "step": 1, "groups": 2, "open_share": 0.5, "nonzero_share": 0.5, "mean_rho": 0.25, "tau": 0.5}
    assert only(gate, stage="proposer")["nonzero_share"] == 0.5  # prompt 0 has advantages, prompt 1 none
    diversity = filled.named("diversity")
    proposed = only(diversity, role="propose")
    assert (proposed["completions"], proposed["sources"], proposed["source_share"], proposed["api_sets"]) == (4, 3, 1.0, 3)
    trained = only(diversity, role="train")
    assert (trained["completions"], trained["sources"], trained["source_share"], trained["kernels_a_module"]) == (5, 3, 0.75, 2.0)


def test_runs_checkpoints_and_tries(filled):
    run = only(filled.named("runs"))
    assert (run["run_id"], run["rounds"], run["minutes"], run["modules"], run["kernels"]) == ("run-a", 1, 1.0, 3, 4)
    assert (run["pass_at_1_first"], run["pass_at_1_last"]) == (0.5, 1.0)
    assert {row["role"]: row["changed"] for row in filled.named("checkpoints").to_dicts()} == {"base": None, "coder": True, "proposer": False}
    assert [(row["stage"], row["k"], row["n"]) for row in filled.named("module_tries", module_id="relu").to_dicts()] == [("proposer", 2, 4), ("coder", 1, 2)]


def test_rerun_diff_equal_and_different(filled, make_history):
    filled.write(make_history("run-b"))
    same = filled.named("rerun_diff")  # latest against previous
    assert same["rows"].sum() == same["equal"].sum() > 0
    assert set(same["what"]) == {"prompts", "modules", "kernels", "judgements", "checkpoints", "evaluations"}
    changed = [dataclasses.replace(row, kernel_id="k3000000") for row in make_history("run-b")
               if isinstance(row, Sample) and row.role == "train" and row.row == 1]
    filled.write([*changed, StageRun("run-b", 2, "proposer", "finished"),
                  Sample("run-b", 2, "coder", "train", 1, 0, 0, "relu0000", "k0000000", "jr0", 5, "stop")])
    frame = filled.named("rerun_diff", run_id="run-b", other_run_id="run-a")
    kernels = only(frame, what="kernels", stage="coder", round=1)
    assert (kernels["rows"], kernels["equal"], kernels["different"], kernels["first_difference"]) == (5, 4, 1, "train  step 001 row 00001")
    assert set(frame["round"]) == {0, 1}  # round 2 is not in both


def test_parameters(filled):
    assert filled.named("curriculum", run_id="run").height == 2  # a beginning that fits one run
    with pytest.raises(UserError, match="did you mean 'curriculum'"):
        filled.named("curiculum")
    with pytest.raises(UserError, match="no parameter 'rounds'"):
        filled.named("curriculum", rounds=1)
    with pytest.raises(UserError, match="takes a number"):
        filled.named("failed_api_sets", failed_below="half")
    assert filled.named("failed_api_sets", failed_below="0.6").height == 2  # text from a command line
    with pytest.raises(UserError, match="no run 'other'"):
        filled.named("curriculum", run_id="other")
    with pytest.raises(UserError, match="no run before"):
        filled.named("rerun_diff")
    filled.write([Run("run-b", "smoke", 0, {}, "running")])
    assert filled.resolve_run() == "run-b"
    with pytest.raises(UserError, match="begins 2 run ids"):
        filled.named("curriculum", run_id="run")


def test_a_query_file_says_its_parameters():
    query = queries.parse("x", "-- How? Columns: a.\n-- :run_id latest\n-- :share 0.5\n-- :name ''\n-- more\nSELECT $run_id, $share, $name -- $no\n")
    assert query.parameters == {"run_id": "latest", "share": 0.5, "name": ""}
    with pytest.raises(ValueError, match="declared"):
        queries.parse("x", "-- How?\nSELECT $forgotten")


def test_modules_without_samples_are_no_failures(filled):
    filled.write([Module("new00000", "class Model: new", ("torch.exp",), origin="proposer")])
    assert "new00000" not in filled.named("failed_api_sets", failed_below=1.0)["module_id"].to_list()
