"""Printing styles: Python, plain text, Unicode and LaTeX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

#: How tightly a piece of text binds: a sum, a product, a factor with a mark on it, an atom.
SUM, PRODUCT, MARKED, ATOM = range(4)


@dataclass(frozen=True)
class Style:
    """The templates of a printing style; `{}` stands for the argument."""

    name: str
    adjoint: str
    inverse: str
    times: str
    scale: str
    identity: str
    zero: str
    logdet: str
    root: str

    def fenced(self, text: str, binds: int, at_least: int) -> str:
        """Return the text, in brackets if it binds less tightly than required."""
        return text if binds >= at_least else self._brackets(text)

    def _brackets(self, text: str) -> str:
        return rf"\left({text}\right)" if self.name == "latex" else f"({text})"

    def combination(self, terms: Sequence[tuple[int | Fraction, str, int]]) -> str:
        """Return c₁ e₁ + c₂ e₂ … from (coefficient, text, binding) triples."""
        minus = "−" if self.name == "unicode" else "-"
        out = ""
        for c, text, binds in terms:
            size = abs(c)
            # In Python a factor or sign in front binds to the first factor of a product alone.
            tight = self.name == "python" and (size != 1 or (c < 0 and not out))
            body = self.fenced(text, binds, MARKED if tight else PRODUCT if c != 1 else SUM)
            if size != 1:
                number = repr(size) if self.name == "python" else str(size)
                body = f"{number}{self.scale}{body}"
            if out:
                out += f" {minus if c < 0 else '+'} {body}"
            else:
                out = f"{minus}{body}" if c < 0 else body
        return out


PYTHON = Style(
    "python", "{}.T", "{}.inv()", " @ ", " * ", "identity({})", "zero({}, {})", "logdet({})", "root({})"
)
TEXT = Style("text", "{}'", "{}^-1", " ", " ", "I", "0", "logdet({})", "root({})")
UNICODE = Style("unicode", "{}ᵀ", "{}⁻¹", " ", " ", "I", "0", "log det {}", "√{}")
LATEX = Style("latex", "{}^{{T}}", "{}^{{-1}}", r" \, ", r" \, ", "I", "0", r"\log\det {}", r"\sqrt{{{}}}")
