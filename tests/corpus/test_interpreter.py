"""What is called right is right, and what is called wrong is wrong, by Triton's interpreter and by the verifier."""

import json
import subprocess
import sys
from pathlib import Path

from kernelzero.corpus import OPERATORS, generate, make_spec, module_source, reference_kernel
from kernelzero.corpus.kernels import variants
from kernelzero.keck import Task, Verifier

BOUND = 2e-4  # of the result's spread; float32 costs these chains under 7e-5


def errors(pairs: list[tuple[str, str]]) -> list[float | str]:
    """By interpreter_check.py, which runs them."""
    script = Path(__file__).with_name("interpreter_check.py")
    done = subprocess.run([sys.executable, str(script)], input=json.dumps(pairs), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def is_right(error: float | str) -> bool:
    return error != "shape" and error <= BOUND


def test_a_sample_of_the_corpus():
    triples = generate(160, seed=21)
    for triple, error in zip(triples, errors([(t.module, t.kernel) for t in triples]), strict=True):
        assert is_right(error) == triple.correct, (triple.ops, triple.variant, triple.correct, error, triple.kernel)
    assert 30 < sum(not t.correct for t in triples) < 80


def test_every_operator_in_every_variant_and_spelling():
    pairs = []
    for name, operator in OPERATORS.items():
        choices = variants(make_spec((name,), 4, 16, 16))
        for i in range(max(len(choices), len(operator.spellings), len(operator.constants))):
            spec = make_spec(
                (name,), 4, 24, 40, spellings={name: i % len(operator.spellings)},
                constants={name: operator.constants[i % len(operator.constants)]},
            )
            pairs.append((module_source(spec), reference_kernel(spec, choices[i % len(choices)])))
    wrong = [(pair, error) for pair, error in zip(pairs, errors(pairs), strict=True) if not is_right(error)]
    assert not wrong, wrong[0]


def test_the_verifier_agrees():
    triples = generate(64, seed=33)
    with Verifier(workers=2) as verifier:
        verdicts = verifier.verify([Task(t.module, t.kernel) for t in triples])
    for triple, verdict in zip(triples, verdicts, strict=True):
        assert verdict.correct == triple.correct, (triple.ops, triple.variant, verdict, triple.kernel)
