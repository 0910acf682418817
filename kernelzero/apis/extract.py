"""The API set of a module's source, from its syntax tree alone: nothing is imported or run.

Counted is what `forward` of class Model computes with: functions, tensor methods, operators, and the nn modules
that `__init__` builds and a computing method uses; methods, helper functions and helper classes that it reaches are
followed. Elementary arithmetic counts: `x + y` is torch.add, `x @ w` torch.matmul, `x > 0` torch.gt, when an
operand may be a tensor. Not counted: get_inputs and get_init_inputs, strings and docstrings, annotations, tensors
computed in `__init__` (no kernel has to do that work), and values that reach no result (`Extraction.dead`). Not
seen: getattr, dictionaries of functions.
"""

import ast
from dataclasses import dataclass

from kernelzero.apis.flow import MODULE, NUMBER, TENSOR, UNKNOWN, Flow, Found, _expressions, _statements
from kernelzero.apis.names import Names, is_torch, unknown_api
from kernelzero.apis.vocabulary import canonical, short
from kernelzero.source import normalise


@dataclass(frozen=True)
class Extraction:
    """Sorted canonical names. unknown: torch names that the vocabulary lacks; dead: APIs whose value reaches no result;
    stars: modules imported with *, of which only names in the vocabulary were recognised."""

    apis: tuple[str, ...]
    unknown: tuple[str, ...] = ()
    dead: tuple[str, ...] = ()
    stars: tuple[str, ...] = ()


def api_set(source: str) -> tuple[str, ...]:
    """Sorted canonical names of the APIs that class Model computes with; () without such a class. Raises
    SyntaxError."""
    return extract(source).apis


def extract(source: str, class_name: str = "Model") -> Extraction:
    """The API set of `class_name`, with what could not be counted. Raises SyntaxError."""
    names = Names.of(ast.parse(normalise(source)))
    total, done, todo = Found(), set(), [class_name]
    while todo:
        name = todo.pop()
        if name in done:
            continue
        done.add(name)
        if name in names.classes:
            found = _class(names.classes[name], names)
        elif name in names.functions:
            found = Flow(names.functions[name], names, {}, forward=False, method=False).find()
        else:
            continue
        total.apis |= found.apis
        total.dead |= found.dead
        total.unknown |= found.unknown
        todo += sorted(found.helpers)
    dead = total.dead - total.apis
    return Extraction(tuple(sorted(total.apis)), tuple(sorted(total.unknown)), tuple(sorted(dead)), tuple(names.stars))


def _class(node: ast.ClassDef, names: Names) -> Found:
    """What a class computes with: its computing methods, then those of its parts that they use."""
    methods = {item.name: item for item in node.body if isinstance(item, ast.FunctionDef)}
    building = reached("__init__", methods)
    parts, kinds = _parts([methods[name] for name in sorted(building)], names)
    total, done = Found(), set()
    # a class without forward (a Sequential of its own, a base) is used as a whole
    todo = ["forward"] if "forward" in methods else sorted(set(methods) - building)
    total.all_attributes = "forward" not in methods
    while todo:
        name = todo.pop()
        if name in done or name not in methods:
            continue
        done.add(name)
        static = any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in methods[name].decorator_list)
        found = Flow(methods[name], names, kinds, forward=name == "forward", method=not static).find()
        for key in ("apis", "dead", "unknown", "attributes", "helpers"):
            getattr(total, key).update(getattr(found, key))
        total.all_attributes |= found.all_attributes
        todo += sorted(found.attributes)
    for base in node.bases:
        if isinstance(base, ast.Name) and base.id in names.classes:
            total.helpers.add(base.id)
            total.all_attributes = True  # an inherited forward may use any part
    for attribute, uses in parts:
        if attribute is None or total.all_attributes or attribute in total.attributes:
            total.apis |= uses.apis
            total.unknown |= uses.unknown
            total.helpers |= uses.helpers
        else:
            total.dead |= uses.apis
    return total


def reached(start: str, methods: dict[str, ast.FunctionDef]) -> set[str]:
    """Names of the methods that `start` reaches through self, itself included; building never goes on into forward."""
    done, todo = set(), [start]
    while todo:
        name = todo.pop()
        if name in methods and name not in done and (name != "forward" or start == "forward"):
            done.add(name)
            todo += [n.attr for n in ast.walk(methods[name]) if isinstance(n, ast.Attribute) and _on_self(n)]
    return done


def _on_self(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id == "self"


def _parts(methods: list[ast.FunctionDef], names: Names) -> tuple[list[tuple[str | None, Found]], dict[str, str]]:
    """(attribute or None, what it is built of) for each statement of the building methods; and the kind of each
    attribute.

    `layers.append(nn.Linear(..))` and then `self.net = nn.Sequential(*layers)` belongs to `net`; what belongs to no
    attribute (an argument of super().__init__) has None and always counts.
    """
    parts, kinds = [], {}
    for method in methods:
        held: dict[str, Found] = {}  # what local names are built of
        arguments = {a.arg for a in [*method.args.args, *method.args.kwonlyargs]}
        for statement in _statements(method.body):
            uses = Found()
            for expression in _expressions(statement):
                _building(expression, names, arguments, uses)
                for node in ast.walk(expression):
                    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in held:
                        _merge(uses, held[node.id])
            attributes, locals_ = _owners(statement)
            for attribute in attributes:
                parts.append((attribute, uses))
                kinds[attribute] = _part_kind(statement, uses, names, arguments)
            for name in locals_:
                _merge(held.setdefault(name, Found()), uses)
            if not attributes and not locals_:
                parts.append((None, uses))
    return parts, kinds


def _owners(statement: ast.stmt) -> tuple[list[str], list[str]]:
    """The attributes of self and the local names that a statement of `__init__` fills."""
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign | ast.AugAssign | ast.For):
        targets = [statement.target]
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value
        if isinstance(call.func, ast.Attribute):
            registers = call.func.attr in ("add_module", "register_module", "register_buffer", "register_parameter")
            if registers and call.args and isinstance(call.args[0], ast.Constant):
                return [str(call.args[0].value)], []
            targets = [call.func.value] if call.func.attr in ("append", "extend", "insert", "update") else []
    attributes, locals_ = [], []
    for target in targets:
        for node in ast.walk(target):
            if isinstance(node, ast.Attribute) and _on_self(node):
                attributes.append(node.attr)
            elif isinstance(node, ast.Name) and node.id != "self":
                locals_.append(node.id)
    return attributes, [] if attributes else locals_


def _building(expression: ast.expr, names: Names, arguments: set[str], uses: Found) -> None:
    """nn modules constructed or named, functions named but not called (`self.act = F.gelu`), helper classes."""
    called = {id(node.func) for node in ast.walk(expression) if isinstance(node, ast.Call)}
    inner = {id(node.value) for node in ast.walk(expression) if isinstance(node, ast.Attribute)}
    for node in ast.walk(expression):
        if not isinstance(node, ast.Name | ast.Attribute) or id(node) in inner:
            continue
        path = names.resolve(node, arguments)
        if path and is_torch(path):
            module = short(path).startswith("nn.")
            if not module and id(node) in called:
                continue  # a tensor computed once, while building
            if name := canonical(path):
                uses.apis.add(name)
            elif module and (unknown := unknown_api(path)):
                uses.unknown.add(unknown)
        elif isinstance(node, ast.Name) and (node.id in names.classes or node.id in names.functions):
            uses.helpers.add(node.id)


def _part_kind(statement: ast.stmt, uses: Found, names: Names, arguments: set[str]) -> str:
    value = getattr(statement, "value", None)
    if isinstance(statement, ast.Expr):
        register = getattr(value.func, "attr", "")
        return TENSOR if register in ("register_buffer", "register_parameter") else MODULE
    if uses.apis or uses.helpers or uses.unknown:
        return MODULE
    if isinstance(value, ast.Call):
        path = names.resolve(value.func, arguments) or ""
        if short(path) in ("nn.Sequential", "nn.ModuleList", "nn.ModuleDict", "nn.Identity"):
            return MODULE
        return TENSOR if is_torch(path) else UNKNOWN
    numeric = ast.Constant | ast.Name | ast.BinOp | ast.UnaryOp
    return NUMBER if isinstance(value, numeric) else UNKNOWN


def _merge(into: Found, other: Found) -> None:
    into.apis |= other.apis
    into.unknown |= other.unknown
    into.helpers |= other.helpers
