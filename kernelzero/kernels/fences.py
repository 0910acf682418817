"""Splits a completion into its blocks of code, in order: fenced ones, and bare code that has no fence.

Reasoning is dropped first, whatever it contains. Fences that were lost, halved, doubled or put at the end of a line
are read as a person would read them. This file knows Markdown and a little of how Python looks; which block is the
answer is decided elsewhere, by what the block defines.
"""

import re
from dataclasses import dataclass

from kernelzero.kernels.characters import inside_triple_quotes, parses, repair, unify_lines
from kernelzero.kernels.prose import bare_runs, runs_to_end

C_LIKE = {"c", "cc", "cpp", "c++", "cxx", "cu", "cuda", "cuda-cpp", "cuda-c++", "h", "hpp", "cuh", "hip"}
NOT_CODE = {
    "diff",
    "patch",
    "text",
    "txt",
    "plaintext",
    "output",
    "console",
    "bash",
    "sh",
    "shell",
    "zsh",
    "json",
    "toml",
    "yaml",
    "markdown",
    "md",
    "log",
    "makefile",
    "cmake",
}
PYTHON = {"", "python", "py", "python3", "py3", "triton", "pytorch", "torch", "ipython"}

_TAGS = r"think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis|seed:think"
_OPENING = re.compile(
    rf"<(?P<tag>{_TAGS})\b[^<>]{{0,200}}>|\[THINK\]|◁think▷|<\|channel\|>\s*(?:analysis|commentary)\b", re.IGNORECASE
)
_CLOSING = {
    "[": re.compile(r"\[/THINK\]", re.IGNORECASE),
    "◁": re.compile("◁/think▷", re.IGNORECASE),
    "<": re.compile(r"<\|end\|>|<\|call\|>|(?=<\|channel\|>\s*final)"),
    **{tag: re.compile(rf"</{tag}\s*>", re.IGNORECASE) for tag in _TAGS.split("|")},
}
_LONE_CLOSE = re.compile(rf"</(?:{_TAGS})\s*>|\[/THINK\]|◁/think▷", re.IGNORECASE)
_LONE_OPEN = re.compile(
    rf"^[ \t]*(?:<(?:{_TAGS})>|\[THINK\]|◁think▷|<\|channel\|>\s*(?:analysis|commentary)\b)",
    re.IGNORECASE | re.MULTILINE,
)
_END_OF_TURN = re.compile(r"<\|(?:im_end|endoftext|eot_id|end_of_text|return)\|>|</s>\s*\Z")
_FENCE = re.compile(r"^(?P<lead>[^`~]*?)(?P<ticks>`{3,}|~{3,})(?P<info>[^`]*)$")
_STATEMENT = re.compile(r"(?:import|from|class|def|async|@\w|#include|extern|template|__global__|\"\"\")")
_FILE_NAME = re.compile(r"[\w./-]*\w\.(?:py|cu|cuh|cpp|cc|cxx|c|h|hpp)\b")


@dataclass(frozen=True)
class Block:
    """A block of code. language: the fence's word in lower case, '' for none. closed: a fence or prose follows, so that
    the block was not simply where the completion stopped. name: the file name on the fence or on the line before it."""

    language: str
    text: str
    closed: bool
    name: str = ""
    repaired: tuple[str, ...] = ()

    @property
    def is_diff(self) -> bool:
        """A patch is no code, however its fence is called."""
        return self.language in ("diff", "patch") or bool(
            re.search(r"^(?:--- \S|\+\+\+ \S|@@ -\d)", self.text, re.MULTILINE)
        )


def drop_reasoning(text: str) -> tuple[str, bool]:
    """The completion without its reasoning, and whether the reasoning never ended (then nothing after its start is
    left).

    A closing tag without an opening one (the prompt had opened it) ends reasoning that began with the completion."""
    if not ("<" in text or "[" in text or "◁" in text):
        return text, False
    text = _drop_closed(text)
    lone = list(_LONE_CLOSE.finditer(text))
    if lone:
        text = text[lone[-1].end() :]
    unclosed = _LONE_OPEN.search(text)
    return (text[: unclosed.start()], True) if unclosed else (text, False)


def _drop_closed(text: str) -> str:
    """Without the reasoning that has an opening and a closing tag. One pass: a kind that is not closed again is given up."""
    kept, at, endless = [], 0, set()
    for opening in _OPENING.finditer(text):
        kind = (opening["tag"] or opening.group()[0]).lower()
        if opening.start() < at or kind in endless:
            continue
        closing = _CLOSING[kind].search(text, opening.end())
        if closing is None:
            endless.add(kind)
            continue
        kept.append(text[at : opening.start()])
        at = closing.end()
    return "\n".join([*kept, text[at:]])


def split(completion: str) -> tuple[list[Block], bool]:
    """All blocks of code in order, characters repaired, and whether the completion's reasoning never ended."""
    text, repaired = unify_lines(completion)
    text, reasoning_open = drop_reasoning(text)
    turn = _END_OF_TURN.search(text)
    if turn:
        text = text[: turn.start()]
    blocks = _Splitter(text.split("\n")).run()
    return [_finish(block, repaired) for block in blocks if block.text.strip()], reasoning_open


def _finish(block: Block, repaired: tuple[str, ...]) -> Block:
    text, names = (block.text, ()) if block.language in C_LIKE | NOT_CODE else repair(block.text)
    text = text.strip("\n") + "\n"
    return Block(block.language, text, block.closed, block.name, tuple(sorted({*repaired, *block.repaired, *names})))


class _Splitter:
    """Walks the lines once. `region`: lines outside fences that no block has claimed yet."""

    def __init__(self, lines: list[str]):
        self.lines = lines
        self.blocks: list[Block] = []
        self.region: list[str] = []
        self.saw_fence = any(_FENCE.match(line) for line in lines)

    def run(self) -> list[Block]:
        at = 0
        while at < len(self.lines):
            line = self.lines[at]
            match = _FENCE.match(line)
            if match is None or (match["lead"].strip() and match["ticks"][0] == "~"):
                self.region.append(line)
                at += 1
            elif not match["info"].strip() and self._closes_bare_code(match["lead"]):
                at += 1
            elif match["lead"].strip() and not re.fullmatch(r"\s*[\w+#-]*\s*", match["info"]):
                self.region.append(line)
                at += 1
            elif match["info"].strip().lower() in ("markdown", "md"):
                at += 1  # a whole answer wrapped in a fence: its inner fences count
            else:
                at = self._read_fenced(at, match)
        self._flush_region(closed=False)
        return self.blocks

    def _closes_bare_code(self, lead: str) -> bool:
        """A fence without a language after bare code closes it: the prompt had opened it, or the opening one was
        lost."""
        region = [*self.region, lead] if lead.strip() else self.region
        start = runs_to_end(region)
        if start is None:
            return False
        self.region = region[:start]
        self._flush_region(closed=True)
        self.blocks.append(Block("", "\n".join(region[start:]), True, repaired=("lone_closing_fence",)))
        return True

    def _flush_region(self, closed: bool) -> None:
        for text, to_end in bare_runs(self.region, strict=self.saw_fence):
            self.blocks.append(Block("", text, closed or not to_end))
        self.region = []

    def _read_fenced(self, at: int, opening: re.Match) -> int:
        before = next((line for line in reversed(self.region[-3:]) if line.strip()), "")
        self._flush_region(closed=True)
        indent = len(opening["lead"]) if not opening["lead"].strip() else 0
        language, name, body = _info(opening["info"].strip())
        if not name:
            found = _FILE_NAME.findall(before) if len(before) < 100 else []
            name = found[-1] if len(found) == 1 else ""
        stop, body_lines, state = self._find_close(at + 1, opening["ticks"], language, body)
        lines = [_unindent(line, indent) for line in body_lines]
        self.blocks.append(_block(language, name, lines, state))
        return stop

    def _find_close(self, at: int, ticks: str, language: str, body: list[str]) -> tuple[int, list[str], str]:
        """(index of the next line to read, the block's lines, 'closed' | 'open')."""
        for index in range(at, len(self.lines)):
            line = self.lines[index]
            match = _FENCE.match(line)
            if match is None or match["ticks"][0] != ticks[0] or len(match["ticks"]) < len(ticks):
                body.append(line)
                continue
            lead, info = match["lead"].strip(), match["info"].strip()
            is_code_end = bool(lead) and not info and "#" not in lead
            is_next = not lead and bool(re.fullmatch(r"[\w+#-]+", info))
            if (lead and not is_code_end) or (info and not is_next):
                body.append(line)
                continue
            if (
                language in PYTHON
                and inside_triple_quotes("\n".join(body))
                and self._string_ends_later(index, body, ticks)
            ):
                body.append(line)
                continue
            if is_next:
                return index, body, "closed"
            return index + 1, [*body, match["lead"]] if lead else body, "closed"
        return len(self.lines), body, "open"

    def _string_ends_later(self, index: int, body: list[str], ticks: str) -> bool:
        """A fence within a docstring is text, if closing the block at a later fence gives code that parses."""
        later = [i for i in range(index + 1, len(self.lines)) if self.lines[i].strip() == ticks][:8]
        return any(parses("\n".join([*body, *self.lines[index:stop]])) for stop in later)


def _block(language: str, name: str, lines: list[str], state: str) -> Block:
    if state == "closed":
        return Block(language, _dedent(lines), True, name)
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    ends_line = bool(lines)
    if lines and re.search(r"`{1,2}\s*$", lines[-1]):
        lines = [*lines[:-1], re.sub(r"`{1,2}\s*$", "", lines[-1])]
        return Block(language, _dedent(lines), True, name, ("half_fence",))
    text = _dedent(lines)
    if language in PYTHON and ends_line and not parses(text):
        runs = list(bare_runs(lines, strict=True))
        if len(runs) == 1 and not runs[0][1] and parses(runs[0][0]):
            return Block(language, runs[0][0], True, name, ("unclosed_fence",))  # prose follows the code
    return Block(language, text, False, name, ("unclosed_fence",))


def _info(info: str) -> tuple[str, str, list[str]]:
    """Language, file name and first code line of what follows an opening fence (`python`, `python title=a.py`,
    `cpp:k.cu`, `python import torch`). Code that follows the tag on its line is kept, and a first word of code is no
    language."""
    if _STATEMENT.match(info):
        return "", "", [info]
    word, _, rest = info.partition(" ")
    rest = rest.strip()
    if rest and _STATEMENT.match(rest):
        return word.lower().rstrip(":"), "", [rest]
    language, _, tail = word.partition(":")
    found = _FILE_NAME.search(tail or rest) or (_FILE_NAME.fullmatch(language) if "." in language else None)
    name = found.group() if found else ""
    if "." in language:
        language = {"py": "python"}.get(language.rsplit(".", 1)[1], language.rsplit(".", 1)[1])
    return language.strip("{}.").lower(), name, []


def _unindent(line: str, width: int) -> str:
    blanks = len(line) - len(line.lstrip(" "))
    return line[min(blanks, width) :]


def _dedent(lines: list[str]) -> str:
    """A block that is indented as a whole (a list item) is moved to the left, by the indent of its first line."""
    first = next((line for line in lines if line.strip()), "")
    width = len(first) - len(first.lstrip(" "))
    if width and all(line.startswith(" " * width) or not line.strip() for line in lines):
        lines = [line[width:] for line in lines]
    return "\n".join(lines)
