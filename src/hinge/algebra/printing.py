"""How expressions are written: one style each for Python, plain text, Unicode and LaTeX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

#: How tightly a piece of text binds: a sum, a product, a factor with a mark on it, an atom.
SUM, PRODUCT, MARKED, ATOM = range(4)


@dataclass(frozen=True)
class Style:
    """The marks of one way of writing; `{}` is where the argument goes."""

    name: str
    adjoint: str
    inverse: str
    times: str
    scale: str
    identity: str
    zero: str
    logdet: str

    def fenced(self, text: str, binds: int, at_least: int) -> str:
        """Return the text, in brackets when it binds less tightly than wanted."""
        return text if binds >= at_least else self._brackets(text)

    def _brackets(self, text: str) -> str:
        return rf"\left({text}\right)" if self.name == "latex" else f"({text})"

    def combination(self, terms: Sequence[tuple[object, str, int]]) -> str:
        """Return c₁ e₁ + c₂ e₂ … from (coefficient, text, binding) triples."""
        out = ""
        for k, (c, text, binds) in enumerate(terms):
            negative = c < 0  # pyright: ignore[reportOperatorIssue, reportUnknownVariableType]
            size = -c if negative else c  # pyright: ignore[reportOperatorIssue, reportUnknownVariableType]
            body = self.fenced(text, binds, SUM + 1 if negative or size != 1 else SUM)
            if size != 1:
                number = repr(size) if self.name == "python" else str(size)  # pyright: ignore[reportUnknownArgumentType]
                body = f"{number}{self.scale}{self.fenced(text, binds, PRODUCT)}"
            sign = ("-" if self.name != "unicode" else "−") if negative else "+"
            out += body if k == 0 and not negative else (sign + body if k == 0 else f" {sign} {body}")
        return out


PYTHON = Style("python", "{}.T", "{}.inv()", " @ ", " * ", "identity({})", "zero({}, {})", "logdet({})")
TEXT = Style("text", "{}'", "{}^-1", " ", " ", "I", "0", "logdet({})")
UNICODE = Style("unicode", "{}ᵀ", "{}⁻¹", " ", " ", "I", "0", "log det {}")
LATEX = Style("latex", "{}^{{T}}", "{}^{{-1}}", r" \, ", r" \, ", "I", "0", r"\log\det {}")
