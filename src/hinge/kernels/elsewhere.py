"""Operations as another package's functions, for kernels that run on its scalars."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hinge.kernels.ops import OPS
from hinge.kernels.tables import TABLES


def operation_in(
    package: Any,
    name: str,
    *,
    called: Mapping[str, str],
    choose: Callable[..., Any],
    where: str,
    instead: str,
) -> Callable[..., Any]:
    """Return what an operation is in a package, whose scalars know arithmetic.

    `called` has the package's names of operations that have other ones, `choose` is its choice. What it does
    not have is refused: `where` is the package's name in a sentence, `instead` a remedy.
    """
    if OPS[name].symbol:
        return OPS[name].floats
    if name == "choose":
        return choose
    found = getattr(package, called.get(name, name), None)
    if name in TABLES or found is None:
        what = "a table of numbers, such as a height field" if name in TABLES else f"the operation {name!r}"
        raise NotImplementedError(f"{what} is not supported in {where}; {instead}")
    return found
