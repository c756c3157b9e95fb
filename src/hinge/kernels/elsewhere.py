"""Operations as another package's functions, for kernels that run on its scalars."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hinge.kernels.ops import OPS
from hinge.kernels.tables import TABLES


def operation_in(
    package: Any, name: str, *, called: Mapping[str, str | Callable[..., Any]], where: str, instead: str
) -> Callable[..., Any]:
    """Return what an operation is in a package, whose scalars know arithmetic.

    `called` has the operations that have another name there, or a function of the caller's. What the package
    does not have is refused: `where` is its name in a sentence, `instead` a remedy.
    """
    if OPS[name].symbol:
        return OPS[name].floats
    own = called.get(name, name)
    found = getattr(package, own, None) if isinstance(own, str) else own
    if name in TABLES or found is None:
        what = "a table of numbers, such as a height field" if name in TABLES else f"the operation {name!r}"
        raise NotImplementedError(f"{what} is not supported in {where}; {instead}")
    return found
