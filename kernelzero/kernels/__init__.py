"""From a module to a candidate: the Coder's prompt, the answer in its completion, the screen before it runs.

Reads and writes text only: no torch, no Triton, nothing is executed here. May be imported from anywhere.
"""

from kernelzero.kernels.answers import Answer, Block, code_blocks, extract_answer
from kernelzero.kernels.prompt import coder_prompt
from kernelzero.kernels.screen import screen

__all__ = ["Answer", "Block", "code_blocks", "coder_prompt", "extract_answer", "screen"]
