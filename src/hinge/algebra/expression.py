"""Operator expressions: frozen, hash-consed, compared by identity; nothing is computed here.

The grammar:

    e  =  leaf | leaf.T | identity(space) | zero(range, domain)
       |  e @ e @ …            flat products
       |  c*e + c*e + …        linear combinations with exact rational coefficients
       |  e.inv() | logdet(e) | root(e)

Constructors only canonicalise: products and sums are flat, adjoints stand on leaves, scalars in front
of products, identities and zeros are absorbed. Identities between operators are the `rules` room's.
"""

from __future__ import annotations

import os
import threading
import weakref
from enum import Enum
from fractions import Fraction
from itertools import pairwise
from typing import Any, final

from hinge.algebra.card import PLAIN, Card
from hinge.algebra.exact import Coefficient, Number, exact
from hinge.algebra.origin import Origin
from hinge.algebra.printing import ATOM, LATEX, MARKED, PRODUCT, PYTHON, SUM, TEXT, UNICODE, Style
from hinge.algebra.space import One, Space
from hinge.errors import ArgumentError, SpaceError


class Structure(Enum):
    """The block structure of a leaf on a tree of bodies."""

    DIAGONAL = "block-diagonal"
    STEP = "one step towards the base"
    RESOLVENT = "all steps towards the base"
    VECTOR = "a vector"
    DENSE = "dense"


class Expr:
    """An operator range ← domain. A vector has domain One."""

    __slots__ = ("__weakref__", "domain", "range")
    __array_ufunc__ = None
    range: Space
    domain: Space

    @property
    def T(self) -> Expr:
        """The adjoint."""
        raise NotImplementedError

    def inv(self) -> Expr:
        """Return the inverse; raise a SpaceError (a TypeError) when the operator is not square."""
        return inverse(self)

    @property
    def is_vector(self) -> bool:
        """Whether it leads from One."""
        return self.domain is One

    def __matmul__(self, other: Expr) -> Expr:
        return product(self, _operand(self, other, "@"))

    def __rmatmul__(self, other: Any) -> Expr:
        return product(_operand(self, other, "@"), self)

    def __add__(self, other: Expr) -> Expr:
        return linear((1, self), (1, _operand(self, other, "+")))

    def __sub__(self, other: Expr) -> Expr:
        return linear((1, self), (-1, _operand(self, other, "-")))

    def __neg__(self) -> Expr:
        return linear((-1, self))

    def __mul__(self, factor: Number) -> Expr:
        return linear((exact(factor), self))

    __rmul__ = __mul__

    def __truediv__(self, divisor: Number) -> Expr:
        number = exact(divisor)
        if number == 0:
            raise ArgumentError(f"{self}: divided by zero")
        return linear((1 / Fraction(number), self))

    def written(self, style: Style) -> tuple[str, int]:
        """Return the text and how tightly it binds."""
        raise NotImplementedError

    def text(self, style: Style = UNICODE) -> str:
        """Return the expression as text in one of the styles PYTHON, TEXT, UNICODE, LATEX."""
        return self.written(style)[0]

    def latex(self) -> str:
        """Return the expression as LaTeX."""
        return self.text(LATEX)

    def ascii(self) -> str:
        """Return the expression in plain letters, adjoints as '."""
        return self.text(TEXT)

    def __repr__(self) -> str:
        return self.text(PYTHON)

    def __str__(self) -> str:
        return self.text(UNICODE)

    def _repr_latex_(self) -> str:
        return f"${self.latex()}$"

    def __reduce__(self) -> Any:
        raise TypeError("expressions are not pickled; keep their repr, which evaluates to the same object")


_lock = threading.RLock()
_table: weakref.WeakValueDictionary[tuple[Any, ...], Expr] = weakref.WeakValueDictionary()


def _renew_lock() -> None:
    """Renew the lock in the child of a fork: a thread that the child does not have may hold it."""
    globals()["_lock"] = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


def _cons(cls: type[Any], range_: Space, domain: Space, **fields: Any) -> Any:
    """Return the interned object with these fields."""
    key = (cls, range_, domain, *fields.values())
    with _lock:
        found = _table.get(key)
        if found is None:
            found = object.__new__(cls)
            for name, value in {"range": range_, "domain": domain, **fields}.items():
                object.__setattr__(found, name, value)
            _table[key] = found
    return found


class _Frozen(Expr):
    __slots__ = ()

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{self!r} is frozen; build a new expression instead")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{self!r} is frozen; build a new expression instead")


@final
class Leaf(_Frozen):
    """A named operator or vector. Made by `leaf`."""

    __slots__ = (
        "card", "latex_name", "meaning", "name", "needs", "origin", "self_adjoint", "structure",
        "unicode_name",
    )  # fmt: skip
    name: str
    structure: Structure
    self_adjoint: bool
    unicode_name: str
    latex_name: str
    meaning: str
    needs: tuple[Expr, ...]
    card: Card
    origin: Origin | None

    @property
    def T(self) -> Expr:
        """The adjoint."""
        return self if self.self_adjoint else _cons(Adjoint, self.domain, self.range, leaf=self)

    def written(self, style: Style) -> tuple[str, int]:
        """Return the text and how tightly it binds."""
        if style is PYTHON:
            return (self.name if STANDARD.get(self.name) is self else self._constructor()), ATOM
        names = {UNICODE.name: self.unicode_name, LATEX.name: self.latex_name}
        text = names.get(style.name, self.name)
        return text, MARKED if "^" in text or "⁻" in text else ATOM

    def _constructor(self) -> str:
        if self.origin is not None:
            return self.origin.call(self.needs)
        options = [
            f"{word}={value!r}"
            for word, value, usual in (
                ("self_adjoint", self.self_adjoint, False),
                ("unicode", self.unicode_name, self.name),
                ("latex", self.latex_name, self.unicode_name),
                ("meaning", self.meaning, ""),
                ("needs", self.needs, ()),
                ("card", self.card, PLAIN),
            )
            if value != usual
        ]
        parts = [repr(self.name), repr(self.range), repr(self.domain), str(self.structure), *options]
        return f"leaf({', '.join(parts)})"


@final
class Adjoint(_Frozen):
    """The adjoint of a leaf."""

    __slots__ = ("leaf",)
    leaf: Leaf

    @property
    def T(self) -> Expr:
        """The adjoint."""
        return self.leaf

    def written(self, style: Style) -> tuple[str, int]:
        """Return the text and how tightly it binds."""
        return style.adjoint.format(style.fenced(*self.leaf.written(style), ATOM)), MARKED


@final
class Identity(_Frozen):
    """The identity of a space."""

    __slots__ = ()

    @property
    def T(self) -> Expr:
        """The adjoint."""
        return self

    def written(self, style: Style) -> tuple[str, int]:
        """Return the text and how tightly it binds."""
        return style.identity.format(self.range), ATOM


@final
class Zero(_Frozen):
    """The zero operator."""

    __slots__ = ()

    @property
    def T(self) -> Expr:
        """The adjoint."""
        return zero(self.domain, self.range)

    def written(self, style: Style) -> tuple[str, int]:
        """Return the text and how tightly it binds."""
        return style.zero.format(self.range, self.domain), ATOM


@final
class Product(_Frozen):
    """A product of two or more factors, none of them a product or a multiple."""

    __slots__ = ("factors",)
    factors: tuple[Expr, ...]

    @property
    def T(self) -> Expr:
        """The adjoint."""
        return product(*(f.T for f in reversed(self.factors)))

    def written(self, style: Style) -> tuple[str, int]:
        """Return the text and how tightly it binds."""
        parts = (style.fenced(*f.written(style), PRODUCT + 1) for f in self.factors)
        return style.times.join(parts), PRODUCT


@final
class Sum(_Frozen):
    """A linear combination: pairs (coefficient, expression)."""

    __slots__ = ("terms",)
    terms: tuple[tuple[Coefficient, Expr], ...]

    @property
    def T(self) -> Expr:
        """The adjoint."""
        return linear(*((c, e.T) for c, e in self.terms))

    def written(self, style: Style) -> tuple[str, int]:
        """Return the text and how tightly it binds."""
        return style.combination([(c, *e.written(style)) for c, e in self.terms]), SUM


@final
class Inverse(_Frozen):
    """The inverse of an operator."""

    __slots__ = ("argument",)
    argument: Expr

    @property
    def T(self) -> Expr:
        """The adjoint."""
        return inverse(self.argument.T)

    def written(self, style: Style) -> tuple[str, int]:
        """Return the text and how tightly it binds."""
        text = style.fenced(*self.argument.written(style), ATOM)
        return style.inverse.format(text), MARKED


@final
class LogDet(_Frozen):
    """The logarithm of the absolute determinant: a scalar."""

    __slots__ = ("argument",)
    argument: Expr

    @property
    def T(self) -> Expr:
        """The adjoint."""
        return self

    def written(self, style: Style) -> tuple[str, int]:
        """Return the text and how tightly it binds."""
        inside = self.argument.written(style)
        return style.logdet.format(
            inside[0] if style in (PYTHON, TEXT) else style.fenced(*inside, ATOM)
        ), MARKED


@final
class Root(_Frozen):
    """The lower triangular L of X = L Lᵀ for a self-adjoint block-diagonal letter X; it defines a letter."""

    __slots__ = ("argument",)
    argument: Leaf

    @property
    def T(self) -> Expr:
        """The adjoint, which has no expression of its own: it is that of the letter so defined."""
        raise NotImplementedError(f"{self}: has no adjoint of its own; write a letter that it defines, Dr.T")

    def written(self, style: Style) -> tuple[str, int]:
        """Return the text and how tightly it binds."""
        return style.root.format(self.argument.written(style)[0]), MARKED


#: The standard letters, by name; `hinge.algebra` exports them.
STANDARD: dict[str, Leaf] = {}


def leaf(
    name: str,
    range_: Space,
    domain: Space,
    structure: Structure | None = None,
    *,
    self_adjoint: bool = False,
    unicode: str | None = None,
    latex: str | None = None,
    meaning: str = "",
    needs: tuple[Expr, ...] = (),
    card: Card = PLAIN,
    origin: Origin | None = None,
) -> Leaf:
    """Return the leaf of this name.

    `structure` is its block structure (default: a vector when the domain is One, else dense). `needs`
    lists the vectors at a body that a leaf with a formula is a function of, such as the velocity. `card`
    has further facts, which the letters of the algebra state; a letter of your own is known by its values
    in the bodies' own frames. `origin` says how differentiation made it.
    """
    if not name.isidentifier():
        raise ArgumentError(f"name: expected a Python identifier, so that repr evaluates back, got {name!r}")
    if self_adjoint and range_ is not domain:
        raise SpaceError(
            f"{name}: expected the same space twice for a self-adjoint letter, got {range_} ← {domain}"
        )
    kind = structure or (Structure.VECTOR if domain is One else Structure.DENSE)
    return _cons(
        Leaf, range_, domain, name=name, structure=kind, self_adjoint=self_adjoint,
        unicode_name=unicode or name, latex_name=latex or unicode or name, meaning=meaning, needs=needs,
        card=card, origin=origin,
    )  # fmt: skip


def identity(space: Space) -> Identity:
    """Return the identity of a space."""
    return _cons(Identity, space, space)


def zero(range_: Space, domain: Space) -> Zero:
    """Return the zero operator range ← domain."""
    return _cons(Zero, range_, domain)


def logdet(argument: Expr) -> LogDet:
    """Return log |det argument|, a scalar expression; the argument must be square."""
    _square(argument, "a determinant")
    return _cons(LogDet, One, One, argument=argument)


def root(argument: Leaf) -> Root:
    """Return the lower triangular square root of a self-adjoint block-diagonal letter."""
    blocks = isinstance(argument, Leaf) and argument.structure is Structure.DIAGONAL  # pyright: ignore[reportUnnecessaryIsInstance]
    if not (blocks and argument.self_adjoint):
        raise ArgumentError(f"root: expected a self-adjoint block-diagonal letter, such as D, got {argument}")
    return _cons(Root, argument.range, argument.domain, argument=argument)


def inverse(argument: Expr) -> Expr:
    """Return the inverse of a square operator."""
    _square(argument, "an inverse")
    match argument:
        case Inverse():
            return argument.argument
        case Identity():
            return argument
        case Zero():
            raise SpaceError(f"zero operator {argument.range} ← {argument.domain} has no inverse")
        case Sum(terms=((c, e),)):
            return linear((1 / Fraction(c), inverse(e)))
        case _:
            return _cons(Inverse, argument.range, argument.domain, argument=argument)


def product(*parts: Expr) -> Expr:
    """Return the flat product of operators with matching spaces."""
    assert parts
    coefficient: Coefficient = 1
    factors: list[Expr] = []
    for left, right in pairwise(parts):
        if left.domain is not right.range:
            raise SpaceError(
                f"{left} @ {right}: {left} is {left.range} ← {left.domain}; expected {left.domain} ← … on "
                f"its right, got {right}: {right.range} ← {right.domain}"
            )
    for p in parts:
        match p:
            case Zero():
                return zero(parts[0].range, parts[-1].domain)
            case Sum(terms=((c, e),)):
                coefficient = coefficient * c
                factors += e.factors if isinstance(e, Product) else [] if isinstance(e, Identity) else [e]
            case Product():
                factors += p.factors
            case Identity():
                pass
            case _:
                factors.append(p)
    if not factors:
        plain: Expr = identity(parts[0].range)
    elif len(factors) == 1:
        plain = factors[0]
    else:
        plain = _cons(Product, parts[0].range, parts[-1].domain, factors=tuple(factors))
    return plain if coefficient == 1 else linear((coefficient, plain))


def linear(*terms: tuple[Any, Expr]) -> Expr:
    """Return Σ coefficient · expression, like terms collected in the order of first appearance."""
    first = terms[0][1]
    found: dict[Expr, Any] = {}
    for c, e in terms:
        if (e.range, e.domain) != (first.range, first.domain):
            raise SpaceError(
                f"{first} + {e}: {first} is {first.range} ← {first.domain}, but {e} is {e.range} ← "
                f"{e.domain}; terms of a sum share both spaces"
            )
        for inner, part in e.terms if isinstance(e, Sum) else ((1, e),):
            if not isinstance(part, Zero):
                found[part] = found.get(part, 0) + c * inner
    kept = tuple((exact(c), e) for e, c in found.items() if c != 0)
    if not kept:
        return zero(first.range, first.domain)
    if len(kept) == 1 and kept[0][0] == 1:
        return kept[0][1]
    return _cons(Sum, first.range, first.domain, terms=kept)


def _square(e: Expr, what: str) -> None:
    if e.range is not e.domain:
        raise SpaceError(f"{e}: is {e.range} ← {e.domain}; only a square operator has {what}")


def _operand(one: Expr, other: Any, symbol: str) -> Expr:
    if isinstance(other, Expr):
        return other
    raise TypeError(
        f"{one} {symbol} …: expected an expression, got {type(other).__name__}. Numbers scale with *; arrays "
        "are given when a compiled expression is called"
    )
