"""A `Home` as a function of tensors of the CPU, and its pushes and pulls, without gradients of PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import count
from math import prod
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from hinge.dynamics import Home
from hinge.errors import ArgumentError
from hinge.spatial import Array
from hinge.torch.extras import pytorch

#: Nodes by their numbers.
NODES: WeakValueDictionary[int, Node] = WeakValueDictionary()
_numbers = count()


class Node:
    """A program from tensors to tensors; nodes that push and pull it are made when they are first needed.

    Tensors have the shapes of one state behind leading dimensions, which broadcast.
    """

    def __init__(self, home: Home) -> None:
        self.home, self.number = home, next(_numbers)
        NODES[self.number] = self
        self.names, self.results = tuple(home.inputs), tuple(home.results)
        self.shapes = tuple(home.inputs.values())
        self.moving = tuple(n in home.moving for n in home.results)
        self._all_flat = all(len(shape) == 1 for shape in self.shapes)
        self._nodes: dict[Any, Node] = {}
        self._from_numpy: Callable[[Array], Any] = pytorch().from_numpy

    def push(self, by: tuple[str, ...]) -> Node:
        """Return what takes the tensors and changes of these, and gives the changes of moving results."""
        return self._nodes.get(("push", by)) or self._nodes.setdefault(
            ("push", by), Node(self.home.push(self._varying(by)))
        )

    def pull(self, by: tuple[str, ...]) -> Node:
        """Return what takes the tensors and weights of moving results, and gives gradients by these."""
        return self._nodes.get(("pull", by)) or self._nodes.setdefault(
            ("pull", by), Node(self.home.pull(self._varying(by)))
        )

    def _varying(self, by: tuple[str, ...]) -> tuple[str, ...]:
        for n in by:
            if n not in self.home.varying:
                why = "with tangent=True gradients are by dq" if n == "q" else "nothing varies with it"
                raise ArgumentError(f"{n}: expected a tensor without gradient, got one that has one; {why}")
        return by

    def evaluate(self, tensors: Sequence[Any]) -> tuple[Any, ...]:
        """Return the results for tensors of one dtype; contiguous ones are not copied."""
        try:
            arrays = [(x if x.is_contiguous() else x.contiguous()).detach().numpy() for x in tensors]
        except RuntimeError as error:  # tensors without memory of their own
            if any(x.is_neg() for x in tensors):
                return self.evaluate([x.resolve_neg() for x in tensors])
            raise NotImplementedError(
                f"tensors: expected plain ones, got some that PyTorch cannot show as arrays ({error}); in "
                "place of is_grads_batched=True and vectorize=True of torch.autograd use torch.func.vmap, "
                "jacrev and jacfwd"
            ) from None
        if not self._all_flat:
            arrays = [x if len(self.shapes[k]) == 1 else self._row(k, x) for k, x in enumerate(arrays)]
        found = self._entry(*arrays)
        if type(found) is dict:
            return tuple(map(self._from_numpy, found.values()))
        return (self._from_numpy(found),)

    @cached_property
    def _entry(self) -> Callable[..., Any]:
        program = self.home.executable
        assert tuple(program.signature.inputs) == self.names
        shapes = list(self.home.results.values())
        return program.entry(self._slowly, shapes, name=self.results[0], doc=repr(self.home))

    def _row(self, k: int, x: Array) -> Array:
        """Return an array that has more than one dimension for a state, or none, with one."""
        shape = self.shapes[k]
        batch = x.ndim - len(shape)
        if batch < 0 or x.shape[batch:] != shape:
            raise self._misshapen(k, x)
        return x.reshape((*x.shape[:batch], prod(shape)))

    def _slowly(self, *arrays: Array) -> Any:
        """Return the results for arrays in rows, of single precision, or with any leading dimensions."""
        for k, (x, shape) in enumerate(zip(arrays, self.shapes, strict=True)):
            if x.ndim == 0 or x.shape[-1] != prod(shape):
                raise self._misshapen(k, x)
        batches = [x.shape[:-1] for x in arrays]
        try:
            np.broadcast_shapes(*batches)
        except ValueError:
            shown = ", ".join(f"{n} {batch}" for n, batch in zip(self.names, batches, strict=True))
            raise ArgumentError(f"leading dimensions: expected shapes that broadcast, got {shown}") from None
        program = self.home.executable
        found = program(dict(zip(self.names, arrays, strict=True)))
        results: dict[str, Array] = {}
        for n, shape in self.home.results.items():
            batch = found[n].ndim - len(program.signature.results[n])
            results[n] = found[n].reshape((*found[n].shape[:batch], *shape))
        return results if len(results) > 1 else results[self.results[0]]

    def _misshapen(self, k: int, x: Array) -> ArgumentError:
        shape = ", ".join(map(str, self.shapes[k]))
        wanted = f"(…, {shape})" if shape else "(…)"
        return ArgumentError(f"{self.names[k]}: expected shape {wanted}, got {x.shape}")
