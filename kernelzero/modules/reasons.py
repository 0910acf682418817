"""Why a proposed module is rejected: the fixed list, each reason with the step that it belongs to and a sentence.

Steps: ast (reads as the contract), decontaminated (not too near an evaluation task), runs (in the sandbox), stable (its
outputs are fit to judge kernels by).
"""

from dataclasses import dataclass
from enum import StrEnum


class Step(StrEnum):
    AST = "ast"
    DECONTAMINATED = "decontaminated"
    RUNS = "runs"
    STABLE = "stable"


class Reason(StrEnum):
    # 1 ast: the contract
    NO_MODULE = "no_module"
    SYNTAX_ERROR = "syntax_error"
    TOO_LONG = "too_long"
    NO_MODEL = "no_model"
    NOT_A_MODULE = "not_a_module"
    NO_FORWARD = "no_forward"
    NO_GET_INPUTS = "no_get_inputs"
    NO_GET_INIT_INPUTS = "no_get_init_inputs"
    WRONG_SIGNATURE = "wrong_signature"
    DUPLICATE_DEFINITION = "duplicate_definition"
    EXTRA_DEFINITION = "extra_definition"
    EXTRA_STATEMENT = "extra_statement"
    # 1 ast: hygiene
    FORBIDDEN_IMPORT = "forbidden_import"
    INPUT_OUTPUT = "input_output"
    FORBIDDEN_CALL = "forbidden_call"
    DUNDER = "dunder"
    GLOBAL_STATE = "global_state"
    STATE_IN_FORWARD = "state_in_forward"
    RANDOM_IN_FORWARD = "random_in_forward"
    MUTATES_INPUT = "mutates_input"
    UNUSED_INPUT = "unused_input"
    # decontaminated
    NEAR_EVALUATION_TASK = "near_evaluation_task"
    # 2 runs
    RUN_FAILED = "run_failed"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    CRASHED = "crashed"
    OUTPUT_TOO_LARGE = "output_too_large"
    NO_TENSOR_INPUT = "no_tensor_input"
    NO_TENSOR_OUTPUT = "no_tensor_output"
    EMPTY_OUTPUT = "empty_output"
    CHANGES_INPUTS = "changes_inputs"
    # 3 stable
    NOT_FINITE = "not_finite"
    NOT_DETERMINISTIC = "not_deterministic"
    NO_FLOAT64 = "no_float64"
    FAR_FROM_FLOAT64 = "far_from_float64"
    CONSTANT = "constant"
    INPUT_INDEPENDENT = "input_independent"
    IDENTITY = "identity"
    PASSED_BY_ZEROS = "passed_by_zeros"
    PASSED_BY_MEAN = "passed_by_mean"


_ORDER = list(Reason)


def step_of(reason: Reason) -> Step:
    """The step that a reason belongs to."""
    position = _ORDER.index(reason)
    if position < _ORDER.index(Reason.NEAR_EVALUATION_TASK):
        return Step.AST
    if position < _ORDER.index(Reason.RUN_FAILED):
        return Step.DECONTAMINATED
    return Step.RUNS if position < _ORDER.index(Reason.NOT_FINITE) else Step.STABLE


@dataclass(frozen=True)
class Finding:
    """A reason and one sentence for people; line of the source (from 1), 0 where it has none."""

    reason: Reason
    detail: str
    line: int = 0
