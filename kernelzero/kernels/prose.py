"""Tells Python code from prose, line by line: finds code that stands in a completion without a fence.

Only a line that reads like a sentence, a heading or a list item ends a run of code. A broken line of code stays in its
run, so that an answer with a syntax error is judged as what it is, and is not repaired by leaving the line out.
"""

import re

from kernelzero.kernels.characters import inside_triple_quotes, parses

_STRONG = re.compile(
    r"import\s+[\w.]+(?:\s+as\s+\w+)?(?:\s*,\s*[\w.]+(?:\s+as\s+\w+)?)*\s*(?:#.*)?$"
    r"|from\s+[\w.]+\s+import\s+[\w*(]"
    r"|class\s+\w+\s*(?:\(|:)"
    r"|(?:async\s+)?def\s+\w+\s*\("
    r"|@[A-Za-z_][\w.]*\s*(?:\(.*)?$"
)
_WEAK = re.compile(
    r"#(?!\#)|\"\"\"|'''|[rRuU]\"\"\"|[rR]'''"
    r"|(?:try|else|finally)\s*:|except\b.*:|(?:if|while|with|elif)\s+.*:\s*(?:#.*)?$|for\s+.+\sin\s+.*:\s*(?:#.*)?$"
    r"|(?:return|raise|assert|del|pass|global)\b"
    r"|[A-Za-z_][\w.]*(?:\[.*\])?\s*(?::\s*[\w.\[\], |]+)?\s*(?:[-+*/|&@%]|//|\*\*|<<|>>)?=(?!=)"
    r"|[A-Za-z_][\w.]*(?:\[.*\])?\("
    r"|[)\]}]"
)
_MARKUP = re.compile(r"#{2,}\s|\*\*|[-*+]\s|\d+[.)]\s|</?[a-zA-Z]\w*>\s*$|-{3,}\s*$|={3,}\s*$|\|")
_CODE_SIGNS = re.compile(r"[=\[\]{}@_]|\w\(|\w\.\w|\):")
_DEFINES = re.compile(r"^(?:class |def |async def |@\w)", re.MULTILINE)


def _is_code(line: str) -> bool:
    return bool(_STRONG.match(line) or _WEAK.match(line))


def _is_prose(line: str) -> bool:
    """A line at the left margin that is no code and reads like a sentence or like Markdown."""
    if _MARKUP.match(line):
        return True
    return not _is_code(line) and not _CODE_SIGNS.search(line) and _is_sentence(line)


def _is_sentence(line: str) -> bool:
    """A line that begins like a sentence (capital letter) or ends like one (full stop), of words mostly."""
    words = re.findall(r"[^\W\d_][\w'’-]*", line)
    letters = sum(character.isalpha() or character in " ,.'’-!?:;()" for character in line)
    begins_or_ends = line[0].isupper() or line.rstrip().endswith((".", "!", "?", ":"))
    return bool(words) and begins_or_ends and letters >= 0.8 * len(line)


def _runs(lines: list[str]) -> list[tuple[int, int]]:
    """(first, last + 1) of each run of code lines; trailing blank lines are not part of a run."""
    runs, start, end = [], None, 0
    leads = _leads_to_code(lines)
    for index, line in enumerate(lines):
        if start is None:
            if _STRONG.match(line) or (_WEAK.match(line) and not _MARKUP.match(line) and leads[index]):
                start, end = index, index + 1
        elif not line.strip():
            continue
        elif not line[0].isspace() and _is_prose(line) and not inside_triple_quotes("\n".join(lines[start:index])):
            runs.append((start, end))
            start = None
        else:
            end = index + 1
    if start is not None:
        runs.append((start, end))
    return runs


def _leads_to_code(lines: list[str]) -> list[bool]:
    """For each line whether a definition or an import follows before any prose: only then may a comment, a string or an
    assignment open a run. One pass from the end, since models do write the same line ten thousand times."""
    leads, follows = [False] * len(lines), False
    for index in range(len(lines) - 1, -1, -1):
        leads[index] = follows
        line = lines[index]
        if _STRONG.match(line):
            follows = True
        elif line.strip() and not line[0].isspace() and _is_prose(line):
            follows = False
    return leads


def _worth(text: str, strict: bool) -> bool:
    """strict (there are fences elsewhere): only what defines something in three lines or more."""
    if not strict:
        return any(_STRONG.match(line) for line in text.split("\n"))
    return bool(_DEFINES.search(text)) and sum(1 for line in text.split("\n") if line.strip()) >= 3


def bare_runs(lines: list[str], strict: bool) -> list[tuple[str, bool]]:
    """The runs of code among lines without fences, each with whether it reaches the end of these lines."""
    full = _last_line(lines)
    found = []
    for start, end in _runs(lines):
        stop = _without_remarks(lines, start, end)
        text = "\n".join(lines[start:stop])
        if _worth(text, strict):
            found.append((text, stop >= full))
    return found


def runs_to_end(lines: list[str]) -> int | None:
    """Index of the line where a run of code begins that reaches the end of these lines; None if the end is no code."""
    full, runs = _last_line(lines), _runs(lines)
    if not runs:
        return None
    start, end = runs[-1]
    whole = end >= full and _without_remarks(lines, start, end) == end
    return start if whole and _worth("\n".join(lines[start:]), strict=False) else None


def _last_line(lines: list[str]) -> int:
    return max((index + 1 for index, line in enumerate(lines) if line.strip()), default=0)


def _without_remarks(lines: list[str], start: int, end: int) -> int:
    """Where the code of a run ends: sentences about code (`tl.load is masked.`) look like code, so a last paragraph
    that is one, by its first line, is left out if only then the run parses."""
    if parses("\n".join(lines[start:end])):
        return end
    for stop in range(end - 1, max(start, end - 12), -1):
        line, before = lines[stop], lines[stop - 1]
        if not before.strip() and line.strip() and line[0].isupper() and not _is_code(line) and _is_sentence(line):
            shorter = "\n".join(lines[start:stop]).rstrip()
            if parses(shorter):
                return start + shorter.count("\n") + 1
    return end
