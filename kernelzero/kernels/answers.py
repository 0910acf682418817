"""Finds the answer of a Coder in its completion: the last block that IS an answer, by what it defines.

Drafts, usage examples, outputs, patches and reasoning are not taken for one, wherever they stand. The source that comes
back may still be wrong in every way that `screen` and Keck look for; this file only says what the model answered, or
that it did not answer, was cut off, or left out a part of its answer. Text in, values out; nothing runs.
"""

import ast
import re
from dataclasses import dataclass

from kernelzero.kernels import fences
from kernelzero.kernels.fences import Block
from kernelzero.kernels.joining import join_cuda, join_python
from kernelzero.kernels.names import defines, is_hollow, method, needed, parse, top_level

__all__ = ["CUT_OFF", "INCOMPLETE_ANSWER", "NO_ANSWER", "Answer", "Block", "code_blocks", "extract_answer"]

NO_ANSWER = "no_answer"  # no code that could be an answer
CUT_OFF = "cut_off"  # the token limit came before the answer's end
INCOMPLETE_ANSWER = "incomplete_answer"  # it refers to a file or a source that is not in the completion

_MODEL_NEW = re.compile(r"^[ \t]*(?:class[ \t]+ModelNew\b|ModelNew\s*=)", re.MULTILINE)
_ATTEMPT = re.compile(
    r"^[ \t]*(?:class\s+\w+\s*\(.*Module|class\s+Model\b|@(?:triton\.)?jit\b)|__global__", re.MULTILINE
)
_BARE_START = ("import ", "from ", "@triton", "class ", "# ", '"""')
_MARKS = re.compile(r"[`~]{3}|<[a-z|/]|\[/?THINK\]")


@dataclass(frozen=True)
class Answer:
    """source: what the model answered, also when it was cut off or is incomplete; None when there is no code.
    reason: '' or why it goes no further, with one sentence in detail. repaired: names of the repairs that were made."""

    source: str | None
    reason: str = ""
    detail: str = ""
    repaired: tuple[str, ...] = ()


def code_blocks(completion: str) -> list[Block]:
    """The blocks of code of a completion in order, reasoning dropped, odd characters repaired; bare code gives
    language ''."""
    if _is_plain(completion) and isinstance(parse(completion), ast.Module):
        return [Block("", completion, False)]
    return fences.split(completion)[0]


def extract_answer(completion: str, backend: str = "triton", finish_reason: str = "stop") -> Answer:
    """The candidate in a completion. backend: 'triton' | 'cuda'. finish_reason: the sampler's, 'length' when it hit
    the limit."""
    tree = parse(completion)
    if isinstance(tree, ast.Module) and "ModelNew" in defines(tree) and finish_reason != "length" and "\r" not in completion:
        return Answer(completion)  # a file that parses and defines it is the answer, whole: backticks and odd characters are its own
    blocks, reasoning_open = fences.split(completion)
    index = _choose(blocks)
    if index is None:
        return _none(blocks, reasoning_open, finish_reason)
    block = blocks[index]
    repaired = set(block.repaired)
    source, joined = join_python(blocks, index, block.text)
    if joined:
        repaired.add("joined_blocks")
    cut = _cut_off(block, index == len(blocks) - 1, finish_reason)
    if cut:
        return Answer(source, CUT_OFF, cut, tuple(sorted(repaired)))
    if backend == "cuda" or "load_inline" in source or "cpp_extension" in source:
        position = index
        source, filled, missing = join_cuda(blocks, position, source)
        if missing:
            return Answer(source, INCOMPLETE_ANSWER, missing, tuple(sorted(repaired)))
        if filled:
            repaired.add("joined_cuda")
    return Answer(source, repaired=tuple(sorted(repaired)))


def _is_plain(completion: str) -> bool:
    """Bare code with nothing to repair: what the tiny models write, thousands of times."""
    return (
        completion.startswith(_BARE_START)
        and completion.isascii()
        and "\r" not in completion
        and "\t" not in completion
        and not _MARKS.search(completion)
    )


def _choose(blocks: list[Block]) -> int | None:
    """Index of the last whole answer; else of the last sketch or broken answer; else of the last attempt at one."""
    best: tuple[int, int] | None = None
    for index, block in enumerate(blocks):
        rank = _rank(block)
        if rank and (best is None or rank >= best[0]):
            best = (rank, index)
    return best[1] if best else None


def _rank(block: Block) -> int:
    """3 defines ModelNew (also where it does not parse); 2 defines it as a sketch; 1 an attempt at an answer; 0
    none."""
    if block.is_diff or block.language in fences.NOT_CODE - {"text", "txt", "plaintext"}:
        return 0
    tree = parse(block.text)
    if isinstance(tree, SyntaxError):
        return 3 if _MODEL_NEW.search(block.text) else int(bool(_ATTEMPT.search(block.text)))
    node = defines(tree).get("ModelNew")
    if node is None or isinstance(node, (ast.Import, ast.ImportFrom)):
        return int(bool(_ATTEMPT.search(block.text)))
    if isinstance(node, ast.ClassDef):
        forward = method(node, "forward")
        return 2 if forward is not None and is_hollow(forward) else 3
    builds_model = isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and _is_instance(node.value)
    return 0 if builds_model else 3


def _is_instance(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id in ("Model", "ModelNew")


def _none(blocks: list[Block], reasoning_open: bool, finish_reason: str) -> Answer:
    if finish_reason == "length":
        where = "its reasoning" if reasoning_open else "the answer"
        return Answer(None, CUT_OFF, f"the token limit came before the end of {where}")
    if reasoning_open:
        return Answer(None, NO_ANSWER, "the reasoning never ends, so nothing after it is an answer")
    if any(block.is_diff for block in blocks):
        return Answer(None, NO_ANSWER, "the completion holds a patch, not a module")
    if blocks:
        return Answer(None, NO_ANSWER, f"none of the {len(blocks)} blocks of code defines ModelNew or a kernel")
    return Answer(None, NO_ANSWER, "the completion holds no code")


def _cut_off(block: Block, is_last: bool, finish_reason: str) -> str:
    """Why the answer counts as cut off, or ''. Only code that runs to the end of the completion can have been.

    With finish reason 'length': it does not parse, has no ModelNew or no end of forward, or stops within a name. With
    another: only if its fence was never closed either and the code breaks off at its very end."""
    if block.closed or not is_last:
        return ""
    limited = finish_reason == "length"
    if not limited and "unclosed_fence" not in block.repaired:
        return ""
    lines = block.text.rstrip().count("\n") + 1
    where = f"the answer was cut off in line {lines}"
    tree = parse(block.text)
    if isinstance(tree, SyntaxError):
        return where if limited or _breaks_at_end(tree, lines) else ""
    node = defines(tree).get("ModelNew")
    if node is None:
        return f"{where}, before ModelNew" if limited else ""
    if _ends_in_a_new_name(block.text, tree) or (isinstance(node, ast.ClassDef) and _forward_is_open(node)):
        return where
    return ""


def _breaks_at_end(error: SyntaxError, lines: int) -> bool:
    at_end = (error.lineno or 0) >= lines
    return at_end or any(
        words in (error.msg or "") for words in ("never closed", "unterminated triple", "expected an indented")
    )


def _forward_is_open(cls: ast.ClassDef) -> bool:
    """A ModelNew whose forward is missing or returns nothing (a class that inherits forward is none of ours to
    judge)."""
    forward = method(cls, "forward")
    if forward is None:
        return not any(isinstance(node, ast.Assign) for node in cls.body) and _is_plain_module(cls)
    return not any(isinstance(node, ast.Return) and node.value is not None for node in ast.walk(forward))


def _is_plain_module(cls: ast.ClassDef) -> bool:
    return all(
        isinstance(base, ast.Attribute) or (isinstance(base, ast.Name) and base.id == "Module") for base in cls.bases
    )


def _ends_in_a_new_name(text: str, tree: ast.Module) -> bool:
    """The last token is a name that is bound nowhere, or an attribute that is read nowhere else: `retu`, `return
    x.conti`."""
    last = re.search(r"(\.?)\s*([A-Za-z_]\w*)\s*\Z", text)
    statements = list(top_level(tree))
    if last is None or not statements:
        return False
    dot, name = last.groups()
    if dot:
        return len(re.findall(rf"\b{name}\b", text)) == 1
    return name in needed(tree)
