"""Puts an answer together that a model spread over blocks: kernel and module in two, or CUDA source in a block of its
own.

A block is taken in only if the answer needs a name, a file or a source from it. What is needed and nowhere in the
completion is named in one sentence. Nothing is invented: no import is added, no file is read.
"""

import ast
import re

from kernelzero.kernels.fences import C_LIKE, NOT_CODE, Block
from kernelzero.kernels.names import defines, dotted, needed, parse

_SOURCE_FILE = re.compile(r"[\w./-]*\.(?:cu|cuh|cpp|cc|cxx|c|h|hpp)")
_PLACEHOLDER = re.compile(
    r"<[^<>]+>|\.\.\.|\[[^\[\]]+\]|\b(?:above|below|here|previous|same|insert|paste|omitted|see)\b", re.IGNORECASE
)
_SOURCE_ARGUMENTS = ("cuda_sources", "cpp_sources", "cuda_source", "cpp_source", "code")


def join_python(blocks: list[Block], answer: int, source: str) -> tuple[str, bool]:
    """The answer's source preceded (or followed) by the blocks that define what it needs, in the order of the
    completion."""
    tree = parse(source)
    if isinstance(tree, SyntaxError):
        return source, False
    missing = needed(tree)
    parts = {answer: source}
    order = [*range(answer - 1, -1, -1), *range(answer + 1, len(blocks))]
    for whole in (False, True):  # helpers first; an earlier whole answer only for what is still missing
        for index in order:
            if not missing:
                break
            other = _python_tree(blocks[index])
            if index in parts or other is None or (("ModelNew" in defines(other)) is not whole):
                continue
            gives = set(defines(other)) & missing
            if gives and not (whole and index > answer):
                parts[index] = blocks[index].text
                missing = (missing - set(defines(other))) | (needed(other) - _given(parts))
    if len(parts) == 1:
        return source, False
    return "\n\n".join(parts[index].strip("\n") for index in sorted(parts)) + "\n", True


def _given(parts: dict[int, str]) -> set[str]:
    trees = [parse(text) for text in parts.values()]
    return {name for tree in trees if isinstance(tree, ast.Module) for name in defines(tree)}


def _python_tree(block: Block) -> ast.Module | None:
    if block.language in C_LIKE | NOT_CODE or block.is_diff:
        return None
    tree = parse(block.text)
    return tree if isinstance(tree, ast.Module) else None


def join_cuda(blocks: list[Block], answer: int, source: str) -> tuple[str, bool, str]:
    """(source, whether a CUDA block was put into it, one sentence on what is missing or '').

    Two ways to refer to another block: by reading a file of that name, and by a string that only says where the code
    is."""
    tree = parse(source)
    if isinstance(tree, SyntaxError):
        return source, False, ""
    edits: list[tuple[ast.expr, str]] = []
    for node, name in _file_reads(tree):
        block = _source_block(blocks, answer, name)
        if block is None:
            return source, False, f"the answer refers to {name}, which it does not contain"
        edits.append((node, block.text))
    for _, names in _file_lists(tree):
        return source, False, f"the answer builds {names} from files; an answer is one source that holds its own code"
    for node in _placeholders(tree):
        block = _source_block(blocks, answer, "")
        if block is None:
            return (
                source,
                False,
                f"the CUDA source is a placeholder ({node.value.strip()!r}) for code that the answer does not contain",
            )
        edits.append((node, block.text))
    for node, text in sorted(edits, key=lambda edit: (edit[0].lineno, edit[0].col_offset), reverse=True):
        source = _replace(source, node, _literal(text))
    return source, bool(edits), ""


def _file_reads(tree: ast.Module) -> list[tuple[ast.expr, str]]:
    """`open("k.cu").read()` and `Path("k.cu").read_text()`: the whole expression and the file's name."""
    found = []
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("read", "read_text")
        ):
            for inner in ast.walk(node.func.value):
                if (
                    isinstance(inner, ast.Constant)
                    and isinstance(inner.value, str)
                    and _SOURCE_FILE.fullmatch(inner.value)
                ):
                    found.append((node, inner.value))
                    break
    return found


def _file_lists(tree: ast.Module) -> list[tuple[ast.Call, str]]:
    """`load(sources=["k.cu"])`: a build from files that nobody has."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and dotted(node.func).split(".")[-1] == "load":
            names = [
                part.value
                for argument in [*node.args, *(word.value for word in node.keywords)]
                for part in ast.walk(argument)
                if isinstance(part, ast.Constant) and isinstance(part.value, str) and _SOURCE_FILE.fullmatch(part.value)
            ]
            if names:
                found.append((node, ", ".join(names)))
    return found


def _placeholders(tree: ast.Module) -> list[ast.Constant]:
    """String constants handed to a build as source that hold no code but say where it is."""
    assigned = {name: node.value for name, node in defines(tree).items() if isinstance(node, ast.Assign)}
    found: dict[int, ast.Constant] = {}
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call):
            continue
        for word in call.keywords:
            if word.arg not in _SOURCE_ARGUMENTS:
                continue
            values = word.value.elts if isinstance(word.value, (ast.List, ast.Tuple)) else [word.value]
            for value in values:
                text = assigned.get(value.id, value) if isinstance(value, ast.Name) else value
                if isinstance(text, ast.Constant) and isinstance(text.value, str) and _says_where(text.value):
                    found[id(text)] = text
    return list(found.values())


def _says_where(text: str) -> bool:
    code = "{" in text or ";" in text or "#include" in text or "__global__" in text
    return bool(text.strip()) and len(text) < 300 and not code and bool(_PLACEHOLDER.search(text))


def _source_block(blocks: list[Block], answer: int, name: str) -> Block | None:
    """The block of that file name; else the nearest C++ or CUDA block before the answer, else the first after it."""
    native = [
        i for i, b in enumerate(blocks) if b.language in C_LIKE or ("__global__" in b.text and not _python_tree(b))
    ]
    base = name.rsplit("/", 1)[-1]
    named = [i for i in native if base and blocks[i].name.rsplit("/", 1)[-1] == base]
    free = [i for i in native if not base or not blocks[i].name]
    before = [i for i in free if i < answer]
    chosen = named[-1:] or before[-1:] or free[:1]
    return blocks[chosen[0]] if chosen else None


def _literal(text: str) -> str:
    if "'''" not in text and not text.rstrip("\n").endswith(("\\", "'")):
        return f"r'''\n{text}'''"
    return repr(text)


def _replace(source: str, node: ast.expr, text: str) -> str:
    """The source with one expression replaced; the tree counts columns in bytes."""
    lines = source.split("\n")
    first, last = node.lineno - 1, node.end_lineno - 1
    head = lines[first].encode()[: node.col_offset].decode()
    tail = lines[last].encode()[node.end_col_offset :].decode()
    return "\n".join([*lines[:first], head + text + tail, *lines[last + 1 :]])
