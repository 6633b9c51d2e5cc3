"""From instructions to statements, going through them with a stack of expressions."""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import CodeType

from pygpulib._record import record
from pygpulib.jit.frontend.instructions import Instruction

_OPERATORS: dict[str, type[ast.operator]] = {
    "+": ast.Add,
    "-": ast.Sub,
    "*": ast.Mult,
    "/": ast.Div,
    "//": ast.FloorDiv,
    "%": ast.Mod,
    "**": ast.Pow,
    "<<": ast.LShift,
    ">>": ast.RShift,
    "&": ast.BitAnd,
    "|": ast.BitOr,
    "^": ast.BitXor,
    "@": ast.MatMult,
}
_COMPARISONS: dict[str, type[ast.cmpop]] = {
    "==": ast.Eq,
    "!=": ast.NotEq,
    "<": ast.Lt,
    "<=": ast.LtE,
    ">": ast.Gt,
    ">=": ast.GtE,
}
_UNARY: dict[str, type[ast.unaryop]] = {
    "UNARY_NEGATIVE": ast.USub,
    "UNARY_INVERT": ast.Invert,
    "UNARY_NOT": ast.Not,
}

_STORES = frozenset({"STORE_DEREF", "STORE_FAST", "STORE_GLOBAL"})


class UnknownPatternError(Exception):
    """The instructions are in no pattern that is known here."""


@record
class _Loop:
    """A loop around a position: where ``continue`` and ``break`` go."""

    head: int
    end: int
    last: int


class Reader:
    """Turns instructions into statements, by going through them with a stack of expressions."""

    def __init__(self, instructions: list[Instruction]) -> None:
        self._code = instructions
        self._stack: list[ast.expr] = []
        self._statements: list[ast.stmt] = []
        self._loops: list[_Loop] = []
        self._keywords: tuple[str, ...] = ()
        self._started = 0

    def read(self) -> list[ast.stmt]:
        """Return the statements of the whole function."""
        return self._block(0, len(self._code))

    def _block(self, start: int, end: int) -> list[ast.stmt]:
        statements, value = self._part(start, end)
        if value is not None:
            raise UnknownPatternError
        return statements or [ast.Pass()]

    def _part(self, start: int, end: int) -> tuple[list[ast.stmt], ast.expr | None]:
        """Read a range; return its statements, and the value that it leaves behind, if any."""
        outer = self._stack, self._statements
        self._stack, self._statements = [], []
        position = start
        try:
            while position < end:
                if not self._stack:
                    self._started = position
                position = self._step(position)
            stack, statements = self._stack, self._statements
        finally:
            self._stack, self._statements = outer
        if position != end or len(stack) > 1 or (stack and statements):
            raise UnknownPatternError
        return statements, stack[0] if stack else None

    def _step(self, position: int) -> int:
        """Read one instruction, or the statement that it begins; return where the next one is."""
        instruction = self._code[position]
        name = instruction.name
        if name in _UNARY:
            self._stack.append(ast.UnaryOp(_UNARY[name](), self._stack.pop()))
            return position + 1
        if "JUMP" in name or name == "FOR_ITER":
            return self._jump(position, instruction)
        if name in _STORES:
            return self._assign(position)
        if name == "UNPACK_SEQUENCE":
            return self._unpack(position)
        if name == "POP_TOP" and not self._stack:
            return self._break(position)
        if name == "SWAP":
            return self._swap(position, instruction.argument)
        handler = _HANDLERS.get(name)
        if handler is None:
            raise UnknownPatternError(name)
        handler(self, instruction)
        return position + 1

    # ------------------------------------------------------------------------------ expressions

    def _load_constant(self, instruction: Instruction) -> None:
        if isinstance(instruction.value, CodeType):
            raise UnknownPatternError
        self._stack.append(_constant(instruction.value))

    def _load_name(self, instruction: Instruction) -> None:
        self._stack.append(ast.Name(str(instruction.value), ast.Load()))

    def _load_attribute(self, instruction: Instruction) -> None:
        self._stack.append(ast.Attribute(self._stack.pop(), str(instruction.value), ast.Load()))

    def _binary(self, instruction: Instruction) -> None:
        right, left = self._stack.pop(), self._stack.pop()
        symbol = instruction.text
        if symbol.startswith("["):
            self._stack.append(ast.Subscript(left, right, ast.Load()))
            return
        operator = _OPERATORS[symbol.removesuffix("=")]()
        made = ast.BinOp(left, operator, right)
        made.in_place = symbol.endswith("=")  # type: ignore[attr-defined]
        self._stack.append(made)

    def _subscript(self, _instruction: Instruction) -> None:
        key, container = self._stack.pop(), self._stack.pop()
        self._stack.append(ast.Subscript(container, key, ast.Load()))

    def _slice_subscript(self, _instruction: Instruction) -> None:
        stop, start, container = (self._stack.pop() for _ in range(3))
        self._stack.append(ast.Subscript(container, _make_slice(start, stop), ast.Load()))

    def _build_slice(self, instruction: Instruction) -> None:
        self._stack.append(_make_slice(*self._pop(instruction.argument)))

    def _build_tuple(self, instruction: Instruction) -> None:
        self._stack.append(ast.Tuple(self._pop(instruction.argument), ast.Load()))

    def _compare(self, instruction: Instruction) -> None:
        right, left = self._stack.pop(), self._stack.pop()
        symbol = instruction.text.removeprefix("bool(").removesuffix(")")
        if instruction.name == "IS_OP":
            operator: ast.cmpop = ast.IsNot() if instruction.argument else ast.Is()
        elif instruction.name == "CONTAINS_OP":
            operator = ast.NotIn() if instruction.argument else ast.In()
        else:
            operator = _COMPARISONS[symbol]()
        self._stack.append(ast.Compare(left, [operator], [right]))

    def _note_keywords(self, instruction: Instruction) -> None:
        names = instruction.value
        if not isinstance(names, tuple):
            raise UnknownPatternError
        self._keywords = names

    def _call(self, instruction: Instruction) -> None:
        if instruction.name == "CALL_KW":
            names = self._stack.pop()
            assert isinstance(names, ast.Constant)
            self._keywords = names.value  # type: ignore[assignment]
        given = self._pop(instruction.argument)
        plain = len(given) - len(self._keywords)
        keywords = [
            ast.keyword(name, value)
            for name, value in zip(self._keywords, given[plain:], strict=True)
        ]
        self._keywords = ()
        self._stack.append(ast.Call(self._stack.pop(), given[:plain], keywords))

    def _pop(self, count: int) -> list[ast.expr]:
        if count == 0:
            return []
        if count > len(self._stack):
            raise UnknownPatternError
        given = self._stack[-count:]
        del self._stack[-count:]
        return given

    def _copy(self, instruction: Instruction) -> None:
        self._stack.append(self._stack[-instruction.argument])

    # ------------------------------------------------------------------------------- statements

    def _store(self, target: ast.expr) -> None:
        value = self._stack.pop()
        if self._stack:
            raise UnknownPatternError
        statement: ast.stmt = ast.Assign([target], value)
        if isinstance(value, ast.BinOp) and getattr(value, "in_place", False):
            assert isinstance(target, ast.Name | ast.Attribute | ast.Subscript)
            statement = ast.AugAssign(target, value.op, value.right)
        self._statements.append(statement)

    def _assign(self, position: int) -> int:
        """Read an assignment to a name, or to several, which are stored from the last one on."""
        count = max(1, len(self._stack))
        targets = [_target(each) for each in self._code[position : position + count]]
        if count > 1:
            self._stack.append(ast.Tuple(self._pop(count), ast.Load()))
            self._store(ast.Tuple(targets[::-1], ast.Store()))
        else:
            self._store(targets[0])
        return position + count

    def _unpack(self, position: int) -> int:
        count = self._code[position].argument
        targets = [_target(each) for each in self._code[position + 1 : position + 1 + count]]
        self._store(ast.Tuple(targets, ast.Store()))
        return position + 1 + count

    def _store_subscript(self, _instruction: Instruction) -> None:
        key, container = self._stack.pop(), self._stack.pop()
        self._store(ast.Subscript(container, key, ast.Store()))

    def _store_slice(self, _instruction: Instruction) -> None:
        stop, start, container = (self._stack.pop() for _ in range(3))
        self._store(ast.Subscript(container, _make_slice(start, stop), ast.Store()))

    def _store_attribute(self, instruction: Instruction) -> None:
        self._store(ast.Attribute(self._stack.pop(), str(instruction.value), ast.Store()))

    def _discard(self, _instruction: Instruction) -> None:
        self._statements.append(ast.Expr(self._stack.pop()))

    def _swap(self, position: int, count: int) -> int:
        """Read ``a, b = x, y``, or what brings operands into order."""
        stack = self._stack
        if len(stack) == 1 and self._loops and self._code[position + 1].name == "POP_TOP":
            return position + 2  # drops the iterator of a loop from under a value that is returned
        end = position + 1 + count
        stores = self._code[position + 1 : end]
        if len(stack) == count and all(each.name in _STORES for each in stores):
            stack.append(ast.Tuple(self._pop(count), ast.Load()))
            self._store(ast.Tuple([_target(each) for each in stores], ast.Store()))
            return end
        stack[-1], stack[-count] = stack[-count], stack[-1]
        return position + 1

    def _break(self, position: int) -> int:
        """Read what drops the iterator of a loop, which is on no stack here: break or return."""
        if not self._loops:
            raise UnknownPatternError
        end = self._loops[-1].end
        here = position + 1
        if self._code[here].name == "JUMP_FORWARD" and self._code[here].target == end:
            self._statements.append(ast.Break())
            return here + 1
        # A copy of the end of the function may stand in the place of a jump there.
        for length, copied in enumerate(self._code[here:]):
            original = self._code[end + length]
            if (copied.name, repr(copied.value)) != (original.name, repr(original.value)):
                break
            if copied.name.startswith("RETURN"):
                self._statements.append(ast.Break())
                return here + length + 1
        return here

    def _return(self, instruction: Instruction) -> None:
        is_constant = instruction.name == "RETURN_CONST"
        value = _constant(instruction.value) if is_constant else self._stack.pop()
        if self._stack:
            raise UnknownPatternError
        self._statements.append(ast.Return(value))

    # ------------------------------------------------------------------------------------- jumps

    def _jump(self, position: int, instruction: Instruction) -> int:
        name, target = instruction.name, instruction.target
        if name == "FOR_ITER":
            return self._for(position, target)
        if "IF_" in name:
            if "OR_POP" in name or "NONE" in name:
                raise UnknownPatternError
            return self._if(position, "IF_FALSE" in name)
        if self._stack or not self._loops:
            raise UnknownPatternError
        loop = self._loops[-1]
        if target == loop.head:
            self._statements.append(ast.Continue())
        elif target == loop.end:
            self._statements.append(ast.Break())
        else:
            raise UnknownPatternError
        return position + 1

    def _for(self, position: int, end: int) -> int:
        items = self._stack.pop()
        if self._stack:
            raise UnknownPatternError
        first = self._code[position + 1]
        count = first.argument if first.name == "UNPACK_SEQUENCE" else 0
        start = position + 2 + count
        targets = [_target(each) for each in self._code[position + 1 + bool(count) : start]]
        target = ast.Tuple(targets, ast.Store()) if count else targets[0]
        # Where every way through the body ends with a return, nothing goes back from its end.
        last = end - 1 if self._code[end - 1].target == position else end
        body = self._loop_body(_Loop(position, end, last), start, last)
        self._statements.append(ast.For(target, items, body, []))
        return end

    def _loop_body(self, loop: _Loop, start: int, end: int) -> list[ast.stmt]:
        self._loops.append(loop)
        body = self._block(start, end)
        self._loops.pop()
        return body

    def _if(self, position: int, jumps_if_false: bool) -> int:
        began = self._started
        test, position, end = self._condition(position, jumps_if_false)
        below = list(self._stack)
        if not below:
            again = self._find_repetition(position, end)
            if again is not None:
                return self._while(test, began, position, again)
        last = self._code[end - 1]
        if last.name == "JUMP_FORWARD" and last.target > end and not self._leaves(last.target):
            then, value = self._part(position + 1, end - 1)
            otherwise, other = self._part(end, last.target)
            if value is not None and other is not None:
                self._stack.append(ast.IfExp(test, value, other))
                return last.target
            end_of_all = last.target
        else:
            then, value = self._part(position + 1, end)
            otherwise, other, end_of_all = [], None, end
        if below or value is not None or other is not None:
            raise UnknownPatternError
        self._statements.append(ast.If(test, then or [ast.Pass()], otherwise))
        return end_of_all

    def _leaves(self, target: int) -> bool:
        return bool(self._loops) and target == self._loops[-1].end

    def _condition(self, position: int, jumps_if_false: bool) -> tuple[ast.expr, int, int]:
        """Read a condition with ``and`` or ``or``: it, its last jump, and where it jumps to."""
        test = self._stack.pop()
        target = self._code[position].target
        if jumps_if_false:
            more = self._next_test(position)
            while more is not None and self._code[more[1]].target == target:
                test, position = _join(ast.And(), test, more[0]), more[1]
                more = self._next_test(position)
        else:
            more = self._next_test(position)
            if more is not None and more[1] + 1 == target:
                test, position = _join(ast.Or(), test, more[0]), more[1]
                target = self._code[position].target
            else:
                test = ast.UnaryOp(ast.Not(), test)
        if target <= position:
            # To the head of a loop: the rest of its body is not done.
            if not self._loops or target != self._loops[-1].head:
                raise UnknownPatternError
            target = self._loops[-1].last
        return test, position, target

    def _next_test(self, position: int) -> tuple[ast.expr, int] | None:
        """Return the next condition that follows with no statement in between, and its jump."""
        for end in range(position + 1, len(self._code)):
            name = self._code[end].name
            if "JUMP" in name or name == "FOR_ITER" or name.startswith(("STORE", "RETURN")):
                break
        else:
            return None
        if "IF_FALSE" not in name or "OR_POP" in name:
            return None
        try:
            statements, value = self._part(position + 1, end)
        except (UnknownPatternError, IndexError):
            return None
        return None if statements or value is None else (value, end)

    def _find_repetition(self, position: int, end: int) -> int | None:
        """Return the last jump before an end that goes back to behind a condition."""
        for place in reversed(range(position + 1, end)):
            if self._code[place].target == position + 1 and "JUMP" in self._code[place].name:
                return place
        return None

    def _while(self, test: ast.expr, began: int, position: int, jump: int) -> int:
        """Read a loop whose condition stands before it and, once more, at its end."""
        last = jump if "IF_" in self._code[jump].name else jump - 1
        again = last - (position - began)
        if again <= position:
            raise UnknownPatternError
        body = self._loop_body(_Loop(again, jump + 1, again), position + 1, again)
        self._statements.append(ast.While(test, body, []))
        return jump + 1


def _join(operator: ast.boolop, left: ast.expr, right: ast.expr) -> ast.expr:
    if isinstance(left, ast.BoolOp) and type(left.op) is type(operator):
        return ast.BoolOp(operator, [*left.values, right])
    return ast.BoolOp(operator, [left, right])


def _make_slice(*parts: ast.expr) -> ast.Slice:
    left_out = [isinstance(part, ast.Constant) and part.value is None for part in parts]
    return ast.Slice(*(None if out else part for part, out in zip(parts, left_out, strict=True)))


def _constant(value: object) -> ast.expr:
    return ast.Constant(value)  # type: ignore[arg-type]  # tuples, too, which no source text gives


def _target(instruction: Instruction) -> ast.expr:
    if instruction.name not in _STORES:
        raise UnknownPatternError
    return ast.Name(str(instruction.value), ast.Store())


def _nothing(_reader: Reader, _instruction: Instruction) -> None:
    """Do nothing: the loop that follows reads the iterable."""


_Handler = Callable[[Reader, Instruction], None]

_HANDLERS: dict[str, _Handler] = {
    "BINARY_OP": Reader._binary,
    "BINARY_SLICE": Reader._slice_subscript,
    "BINARY_SUBSCR": Reader._subscript,
    "BUILD_SLICE": Reader._build_slice,
    "BUILD_TUPLE": Reader._build_tuple,
    "CALL": Reader._call,
    "CALL_KW": Reader._call,
    "COMPARE_OP": Reader._compare,
    "CONTAINS_OP": Reader._compare,
    "COPY": Reader._copy,
    "GET_ITER": _nothing,
    "IS_OP": Reader._compare,
    "KW_NAMES": Reader._note_keywords,
    "LOAD_ATTR": Reader._load_attribute,
    "LOAD_CONST": Reader._load_constant,
    "LOAD_DEREF": Reader._load_name,
    "LOAD_FAST": Reader._load_name,
    "LOAD_FAST_BORROW": Reader._load_name,
    "LOAD_FAST_CHECK": Reader._load_name,
    "LOAD_GLOBAL": Reader._load_name,
    "LOAD_METHOD": Reader._load_attribute,
    "LOAD_SMALL_INT": Reader._load_constant,
    "POP_TOP": Reader._discard,
    "RETURN_CONST": Reader._return,
    "RETURN_VALUE": Reader._return,
    "STORE_ATTR": Reader._store_attribute,
    "STORE_SLICE": Reader._store_slice,
    "STORE_SUBSCR": Reader._store_subscript,
}
