"""The corpus: a grammar that writes (API set -> module -> Triton kernel) triples, with mistakes planted at a stated
rate.

operators.py says what each operator looks like, grammar.py makes modules of them, kernels.py answers; twin.py filters
what makes no sense; held_out.py reserves compositions for evaluation. Pure text and numpy: nothing here imports torch
or triton.
"""

from kernelzero.corpus.generate import Triple, generate
from kernelzero.corpus.grammar import Spec, make_spec, module_source
from kernelzero.corpus.held_out import HELD_OUT, is_held_out
from kernelzero.corpus.kernels import reference_kernel
from kernelzero.corpus.operators import OPERATORS

__all__ = [
    "HELD_OUT", "OPERATORS", "Spec", "Triple", "generate", "is_held_out", "make_spec", "module_source",
    "reference_kernel",
]
