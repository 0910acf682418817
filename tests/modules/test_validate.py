from dataclasses import replace

import pytest
from module_sources import HONEST, module

from kernelzero.keck.reference.runs import ModuleJob
from kernelzero.modules import Reason, Step, Validator, VerifierFault, check_source
from kernelzero.modules.reasons import step_of
from kernelzero.modules.stable import check_run, check_stable
from kernelzero.source import digest

PARAMETER = "self.w = nn.Parameter(torch.randn(8))"
TWO = {"arguments": "x, y", "inputs": "torch.randn(4, 8), torch.randn(4, 8)"}

RUNS = [
    (Reason.RUN_FAILED, module("return x @ x")),
    (Reason.RUN_FAILED, module("return undefined(x)")),
    (Reason.RUN_FAILED, module(init="self.w = torch.randn('a')", forward="return x * self.w")),
    (Reason.TIMEOUT, module("while True:\n    pass\nreturn torch.relu(x)")),
    (Reason.MEMORY, module("return torch.relu(x) + torch.zeros(10 ** 12).sum()")),
    # the C stack overflows in a chain of a million iterators
    (Reason.CRASHED, module("it = iter([1])\nfor i in range(1000000):\n    it = map(abs, it)\nreturn x * list(it)[0]")),
    (Reason.OUTPUT_TOO_LARGE, module("return x.sum() * torch.ones(4000, 4000).cumsum(0)")),
    (Reason.NO_TENSOR_INPUT, module("return torch.ones(3).cumsum(0) * x", inputs="2.0")),
    (Reason.NO_TENSOR_OUTPUT, module("return float(x.sum())")),
    (Reason.EMPTY_OUTPUT, module("return x[:0] * 2.0")),
    (Reason.CHANGES_INPUTS, module("return F.relu(x, inplace=True)")),
    (Reason.CHANGES_INPUTS, module("y = x.view(-1)\ny.mul_(2.0)\nreturn torch.sin(y)")),
]
STABLE = [
    (Reason.NOT_FINITE, module("return torch.log(x)")),
    (Reason.NOT_FINITE, module("return torch.exp(torch.exp(x * 2.0))")),
    (Reason.NOT_DETERMINISTIC, module("n = self.n\nn += 1\nreturn x * n", "self.register_buffer('n', torch.ones(1))")),
    (Reason.NO_FLOAT64, module("return x @ torch.ones(8, 3, dtype=torch.float32)")),
    (Reason.FAR_FROM_FLOAT64, module("return (x + 1e6) - 1e6")),
    (Reason.CONSTANT, module("return torch.softmax(x.sum(dim=-1, keepdim=True), dim=-1)")),
    (Reason.CONSTANT, module("return (torch.relu(x) * 0.0).sum()")),
    (Reason.INPUT_INDEPENDENT, module("return self.w + 0.0 * x", PARAMETER)),
    (Reason.INPUT_INDEPENDENT, module("return torch.sin(x) + 0.0 * torch.cos(y)", **TWO)),
    (Reason.INPUT_INDEPENDENT, module("return (0.0 * x).cumsum(0) + torch.ones(4, 8).cumsum(1)")),
    (Reason.IDENTITY, module("return x.reshape(8, 4) + 0.0")),
    (Reason.IDENTITY, module("return torch.relu(x)", inputs="torch.rand(4, 8)")),
    (Reason.PASSED_BY_ZEROS, module("return torch.sin(x) * 1e-6")),
    (Reason.PASSED_BY_MEAN, module("return 5.0 + torch.sin(x) * 1e-6")),
]


@pytest.fixture(scope="module")
def results(verifier):
    """Everything below and the honest modules, validated in one batch: one bad module must not touch the next."""
    sources = [s for _, s in RUNS + STABLE] + list(HONEST.values())
    found = Validator(verifier).validate([(source, ["torch.relu"]) for source in sources])
    return dict(zip(sources, found, strict=True))


@pytest.mark.parametrize("reason, source", RUNS + STABLE, ids=[f"{i}-{r.value}" for i, (r, _) in enumerate(RUNS + STABLE)])
def test_each_reason_of_steps_two_and_three(reason, source, results):
    assert check_source(source) is None, "step 1 lets it through"
    result = results[source]
    assert (result.valid, result.reason, result.failed_step) == (False, reason, step_of(reason)), result.detail
    assert result.detail


@pytest.mark.parametrize("name", HONEST)
def test_honest_modules_are_valid(name, results):
    result = results[HONEST[name]]
    assert result.valid, result
    assert (result.failed_step, result.reason, result.duplicate_of) == ("", "", "")


def test_every_reason_has_a_module():
    covered = {r for r, _ in RUNS + STABLE}
    assert covered == {r for r in Reason if step_of(r) in (Step.RUNS, Step.STABLE)}


@pytest.mark.parametrize(
    "reason, source",
    [
        (Reason.EXTRA_DEFINITION, module() + "\n\ndef helper(x):\n    return x\n"),
        (Reason.FORBIDDEN_IMPORT, "import string\n" + module()),
        (Reason.GLOBAL_STATE, module(top="CACHE = [1]\n\n\n")),
        (Reason.STATE_IN_FORWARD, module("self.last = 1\nreturn torch.relu(x)")),
        (Reason.RANDOM_IN_FORWARD, module("return x + torch.randint(0, 3, (4, 8))")),
        (Reason.UNUSED_INPUT, module("return torch.relu(x)", arguments="x, y=1", inputs="torch.randn(4, 8)")),
    ],
)
def test_step_one_alone_rejects_these(reason, source, verifier):
    """They run, and their outputs are sound: only reading them tells."""
    assert check_source(source).reason is reason
    (run,) = verifier.run_modules([ModuleJob(source)])
    assert run.ok, run.detail
    assert check_run(run) is None
    assert check_stable(run) is None


def test_steps_two_and_three_are_told_apart(verifier):
    """What step 3 rejects passes step 2."""
    runs = verifier.run_modules([ModuleJob(source) for _, source in STABLE])
    assert [run.reason for run in runs] == [""] * len(runs)
    assert [check_run(run) for run in runs] == [None] * len(runs)


class TestBatch:
    RELU, SIN = module("return torch.relu(x)"), module("return torch.sin(x)")

    def test_given_apis_that_are_left_out(self, verifier):
        both, one = Validator(verifier).validate([(self.RELU, ["torch.relu"]), (self.RELU, ["torch.relu", "torch.sin"])])
        assert (both.valid, both.missing_apis, both.apis) == (True, (), ("torch.relu",))
        assert (one.valid, one.missing_apis) == (True, ("torch.sin",))

    def test_repeats_in_a_batch_and_of_the_archive(self, verifier):
        renamed = module("y = torch.relu(data)\nreturn y", arguments="data")
        validator = Validator(verifier, archive=[self.SIN])
        first, second, known, other = validator.validate([(s, ["torch.sin"]) for s in (self.RELU, renamed, self.SIN, HONEST["linear"])])
        assert (first.valid, first.duplicate_of) == (True, "")
        assert (second.valid, second.duplicate_of) == (True, digest(self.RELU))
        assert (known.valid, known.duplicate_of) == (True, digest(self.SIN))
        assert other.duplicate_of == ""
        (again,) = validator.validate([(self.RELU, ["torch.relu"])])
        assert again.duplicate_of == digest(self.RELU)

    def test_modules_near_an_evaluation_task_are_dropped(self, verifier):
        task = module("return F.relu(data)", arguments="data")
        near, far = Validator(verifier, {"relu": task}).validate([(self.RELU, ["torch.relu"]), (self.SIN, ["torch.sin"])])
        assert (near.valid, near.failed_step, near.reason) == (False, "decontaminated", "near_evaluation_task")
        assert (near.nearest, near.distance) == ("relu", 0.0)
        assert far.valid
        assert far.distance > 0.5

    def test_results_are_in_order_with_none_and_broken_sources(self, verifier):
        proposals = [
            (None, ["torch.relu"]),
            ("class Model(", ["torch.relu"]),
            (self.RELU, ["torch.relu"]),
            ("", ["torch.relu"]),
        ]
        results = Validator(verifier).validate(proposals)
        assert [r.reason for r in results] == ["no_module", "syntax_error", "", "no_model"]
        assert results[0].module_id == ""
        assert results[1].missing_apis == ("torch.relu",)
        assert Validator(verifier).validate([]) == []

    def test_the_same_twice_gives_the_same(self, verifier):
        proposals = [(s, ["torch.relu"]) for s in (self.RELU, self.SIN, STABLE[0][1], "x")]
        assert Validator(verifier).validate(proposals) == Validator(verifier).validate(proposals)


class _Faulty:
    """The real sandbox, but the first `faults` answers are faults of the machine: no test can provoke one."""

    def __init__(self, verifier, faults):
        self.verifier, self.faults, self.calls = verifier, faults, 0

    def run_modules(self, jobs):
        self.calls += 1
        runs = self.verifier.run_modules(jobs)
        if self.calls <= self.faults:
            return [replace(run, ok=False, reason="", detail="no memory for a fork", cases=[], fault=True) for run in runs]
        return runs


def test_a_fault_of_the_sandbox_is_tried_again_and_never_blamed_on_the_module(verifier):
    once = _Faulty(verifier, 1)
    assert Validator(once).validate([(module(), ["torch.relu"])])[0].valid
    with pytest.raises(VerifierFault, match="no memory for a fork"):
        Validator(_Faulty(verifier, 2)).validate([(module(), ["torch.relu"])])
