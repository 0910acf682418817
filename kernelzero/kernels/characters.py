"""Repairs the characters that chat pages and word processors put into Python code; string literals stay as they are.

Outside strings and comments: non-breaking and other wide spaces become blanks, zero-width characters go, leading tabs
become blanks, typographic quotes that delimit a string become straight ones, dashes become minus. Each repair has a
name, which the answer carries. Line ends and a byte-order mark are repaired everywhere, as Python itself does on
reading a file. It does not correct code: what was a syntax error for another cause stays one.
"""

import ast
import re

WIDE_SPACES = "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
ZERO_WIDTH = "\u200b\u200c\u200d\u200e\u200f\u2060\u00ad\ufeff"
DASHES = "\u2010\u2011\u2012\u2013\u2212"
CURLY_DOUBLE = "\u201c\u201d\u201e\u201f"
CURLY_SINGLE = "\u2018\u2019\u201a\u201b"

_LITERAL = re.compile(
    r"(?P<comment>\#[^\n]*)"
    r"|(?P<triple>('''|\"\"\")(?:\\.|(?!\3).)*(?:\3|\Z))"
    r"|(?P<plain>(['\"])(?:\\.|(?!\5)[^\\\n])*(?:\5|(?=\n)|\Z))"
    rf"|(?P<curly3>[{CURLY_DOUBLE}]{{3}}(?P<doc>(?:(?![{CURLY_DOUBLE}\"]{{3}}).)*)[{CURLY_DOUBLE}\"]{{3}})"
    rf"|(?P<curly2>[{CURLY_DOUBLE}](?P<text2>(?:\\.|[^\\\n\"{CURLY_DOUBLE}])*)[\"{CURLY_DOUBLE}])"
    rf"|(?P<curly1>[{CURLY_SINGLE}](?P<text1>(?:\\.|[^\\\n'{CURLY_SINGLE}])*)['{CURLY_SINGLE}])",
    re.DOTALL,
)
_INDENT = re.compile(r"(?<=\n)[ \t]*\t[ \t]*|\A[ \t]*\t[ \t]*")
_SPACES = str.maketrans(dict.fromkeys(WIDE_SPACES, " "))
_NOTHING = str.maketrans(dict.fromkeys(ZERO_WIDTH))
_MINUS = str.maketrans(dict.fromkeys(DASHES, "-"))


def unify_lines(text: str) -> tuple[str, tuple[str, ...]]:
    """Unix line ends, no byte-order mark at the start; the names of what was changed."""
    repaired = []
    if text.startswith("\ufeff"):
        text = text.lstrip("\ufeff")
        repaired.append("byte_order_mark")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        repaired.append("line_ends")
    return text, tuple(repaired)


def inside_triple_quotes(code: str) -> bool:
    """Whether Python code that ends here ends inside a triple-quoted string (a Markdown fence there is no fence)."""
    if '"""' not in code and "'''" not in code:
        return False
    literals = list(_LITERAL.finditer(code))
    last = literals[-1] if literals else None
    if last is None or last.lastgroup != "triple" or last.end() != len(code):
        return False
    quotes = last.group("triple")[:3]
    return len(last.group("triple")) < 6 or not last.group("triple").endswith(quotes)


def repair(code: str) -> tuple[str, tuple[str, ...]]:
    """Python code with ordinary characters outside its string literals, and the names of the repairs, sorted."""
    if code.isascii() and "\t" not in code:
        return code, ()
    names: set[str] = set()
    pieces, at = [], 0
    for match in _LITERAL.finditer(code):
        pieces.append(_repair_code(code[at : match.start()], names))
        pieces.append(_repair_literal(match, names))
        at = match.end()
    pieces.append(_repair_code(code[at:], names))
    text = "".join(pieces)
    if "\t" in text:
        text = _expand_tabs(text, names)
    return text, tuple(sorted(names))


def _repair_code(code: str, names: set[str]) -> str:
    for table, name in ((_SPACES, "wide_spaces"), (_NOTHING, "zero_width"), (_MINUS, "dashes")):
        changed = code.translate(table)
        if changed != code:
            names.add(name)
            code = changed
    return code


def _repair_literal(match: re.Match, names: set[str]) -> str:
    for group, inner, quotes in (("curly3", "doc", '"""'), ("curly2", "text2", '"'), ("curly1", "text1", "'")):
        if match.group(group) is not None:
            names.add("curly_quotes")
            return quotes + match.group(inner) + quotes
    return match.group()


def _expand_tabs(code: str, names: set[str]) -> str:
    """Leading tabs as blanks: 4 each, or 8 where only that makes the code parse (tabs and blanks were mixed)."""
    for width in (4, 8):
        text = _with_indents(code, width)
        if text == code:
            return code  # tabs inside lines only, which Python takes as they are
        if parses(text):
            names.add("tabs")
            return text
    names.add("tabs")
    return _with_indents(code, 4)


def _with_indents(code: str, width: int) -> str:
    pieces, at = [], 0
    for match in _LITERAL.finditer(code):
        pieces.append(_indents(code[at : match.start()], width, at == 0))
        pieces.append(match.group())
        at = match.end()
    pieces.append(_indents(code[at:], width, at == 0))
    return "".join(pieces)


def _indents(code: str, width: int, at_start: bool) -> str:
    def widen(match: re.Match) -> str:
        starts_line = match.start() > 0 or at_start
        return match.group().expandtabs(width) if starts_line else match.group()

    return _INDENT.sub(widen, code)


def parses(code: str) -> bool:
    try:
        ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
