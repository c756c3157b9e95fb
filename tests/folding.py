"""Many small cases as one test: what pytest does around each of them costs more than they do."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import wraps
from itertools import product
from typing import Any


@contextmanager
def case(**given: Any) -> Iterator[None]:
    """Name the case in whatever goes wrong within."""
    try:
        yield
    except BaseException as error:
        shown = (f"{name} = {getattr(value, 'name', value)}" for name, value in given.items())
        error.add_note(f"case: {', '.join(shown)}")
        raise


def folded(**choices: Collection[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that runs a test for every combination, as `parametrize` does, but as one test.

    The first case that fails ends it, and is named.
    """

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(test)

        @wraps(test)
        def run(**fixtures: Any) -> None:
            for values in product(*choices.values()):
                given = dict(zip(choices, values, strict=True))
                with case(**given):
                    test(**fixtures, **given)

        others = [p for name, p in signature.parameters.items() if name not in choices]
        run.__signature__ = signature.replace(parameters=others)  # pyright: ignore[reportAttributeAccessIssue]
        return run

    return decorate
