"""The suite mini: sensible tasks that the grammar can solve and the corpus never holds."""

from pathlib import Path

import pytest
import torch

import kernelzero.bench
from kernelzero.corpus import generate, is_held_out, reference_kernel
from kernelzero.corpus.mini_tasks import FUSED, SINGLE, files
from kernelzero.keck import Task, Verifier
from kernelzero.modules import Validator
from kernelzero.source import ast_digest

FOLDER = Path(kernelzero.bench.__file__).parent / "mini"


@pytest.fixture(scope="module")
def verifier():
    with Verifier(workers=2) as started:
        yield started


def test_the_files_are_the_specs():
    found = {path.relative_to(FOLDER).as_posix(): path.read_text(encoding="utf-8") for path in FOLDER.rglob("*.py")}
    assert found == {name: source for name, (_, source) in files().items()}
    assert len(SINGLE) == len(FUSED) == 24
    assert len({spec.ops for spec in SINGLE + FUSED}) == 48


def test_no_task_and_no_fused_composition_is_in_the_corpus():
    triples = generate(20_000, seed=0)
    modules = {ast_digest(source) for source in {t.module for t in triples}}
    chains = {t.ops for t in triples}
    for name, (spec, source) in files().items():
        assert ast_digest(source) not in modules, name
        if len(spec.ops) > 1:
            assert is_held_out(spec.ops) and spec.ops not in chains, name
            inside = [c for c in chains if any(c[i : i + len(spec.ops)] == spec.ops for i in range(len(c)))]
            assert not inside, (name, inside)


def test_every_operator_of_the_suite_is_known_to_the_corpus():
    singles = {t.ops[0] for t in generate(4000, seed=0) if len(t.ops) == 1}
    assert {name for spec in SINGLE + FUSED for name in spec.ops} <= singles


def test_every_task_is_a_valid_module(verifier):
    """Five seeds and two scales in the sandbox: finite, near float64, not constant, not passed by zeros or the mean."""
    validator = Validator(verifier, seeds=(0, 1, 2, 3, 4))
    tasks = files()
    results = validator.validate([(source, spec.apis) for spec, source in tasks.values()])
    refused = [(name, r.reason, r.detail) for name, r in zip(tasks, results, strict=True) if not r.valid]
    assert not refused
    assert not any(r.missing_apis or r.duplicate_of for r in results)


def test_every_task_has_a_correct_kernel(verifier):
    tasks = [Task(source, reference_kernel(spec), seeds=(0, 1, 2, 3, 4)) for spec, source in files().values()]
    for name, verdict in zip(files(), verifier.verify(tasks), strict=True):
        assert verdict.correct and not verdict.judgement.flaky, (name, verdict)


@pytest.mark.parametrize("name", files())
def test_no_task_is_constant_or_passed_by_zeros_or_its_mean(name):
    """By torch alone, apart from the validator: five seeds, two scales, at a tolerance 100 times KernelBench's."""
    task = {}
    exec((FOLDER / name).read_text(encoding="utf-8"), task)
    results = []
    for seed in range(5):
        torch.manual_seed(seed)
        model = task["Model"](*task["get_init_inputs"]())
        for scale in (1.0, 3.0):
            with torch.no_grad():
                y = model(*(value * scale for value in task["get_inputs"]()))
            assert y.isfinite().all() and y.numel() > 1
            for guess in (torch.zeros_like(y), y.mean().expand_as(y), y.mean(0, keepdim=True).expand_as(y)):
                assert not torch.allclose(y, guess, atol=1e-2, rtol=1e-2)
            results.append(y)
    assert not any(torch.allclose(results[0], y, atol=1e-2, rtol=1e-2) for y in results[1:])
