"""Takes the module out of a Proposer's completion.

Of the blocks of code that the completion holds (kernels.answers finds them: bare code, fences, reasoning dropped)
it is the last one that defines class Model: what a block defines decides, not where it stands. A block that was cut
off, or that prose follows, is shortened to its last whole top-level statement if Model and both functions are still
there; otherwise the text is given as it is, and validation says what is wrong with it.
"""

import ast
import re

from kernelzero.kernels.answers import code_blocks
from kernelzero.source import normalise

_MODEL = re.compile(r"^class\s+Model\b", re.MULTILINE)
_NEEDED = {"Model", "get_inputs", "get_init_inputs"}


def extract_module(completion: str) -> str | None:
    """The module's source, normalised, or None when no block looks like one. Never raises on text."""
    texts = [block.text for block in code_blocks(completion)]
    whole = [text for text in texts if "Model" in defined(text)]
    complete = [text for text in whole if defined(text) >= _NEEDED]
    if complete:
        return normalise(complete[-1])
    shortened = [short for text in texts if _MODEL.search(text) and (short := shorten(text))]
    if shortened:
        return normalise(shortened[-1])
    unfinished = [text for text in texts if _MODEL.search(text)]
    return normalise((whole or unfinished)[-1]) if whole or unfinished else None


def defined(text: str) -> set[str]:
    """Names of the top-level classes and functions; empty when the text does not parse."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    return {n.name for n in tree.body if isinstance(n, ast.ClassDef | ast.FunctionDef)}


def shorten(text: str) -> str | None:
    """The longest run of whole lines from the start that parses and holds the contract, or None."""
    lines = text.split("\n")
    for end in range(len(lines) - 1, 0, -1):
        if lines[end - 1].strip() and defined("\n".join(lines[:end])) >= _NEEDED:
            return "\n".join(lines[:end])
    return None
