"""Identity of a Python source: the normalised text, its sha256, and the hash of its syntax tree.

Equal sources are one row in the database and are judged once. `normalise` removes what does not change the
program's text for a reader (line ends, trailing blanks, a byte-order mark, blank lines at the ends); `ast_digest` goes
further and also removes comments and layout, which is what held-out tests and deduplication compare.
"""

import ast
import hashlib


def normalise(source: str) -> str:
    """The source with unix line ends, no trailing blanks, no byte-order mark and exactly one final newline."""
    text = source.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    lines = [line.rstrip() for line in text.split("\n")]
    return "\n".join(lines).strip("\n") + "\n"


def digest(source: str) -> str:
    """sha256 (64 hex digits) of the normalised source: the id of a module or a kernel."""
    return hashlib.sha256(normalise(source).encode("utf-8", "surrogatepass")).hexdigest()


def ast_digest(source: str) -> str:
    """sha256 of the syntax tree without positions, comments and docstrings; raises SyntaxError."""
    tree = ast.parse(normalise(source))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and body:
            first = body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
                node.body = body[1:] or [ast.Pass()]
    return hashlib.sha256(ast.dump(tree).encode("utf-8", "surrogatepass")).hexdigest()
