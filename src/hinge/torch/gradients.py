"""Nodes with gradients: functions of PyTorch's autograd, and one operator for `torch.compile`.

Backward and forward mode call nodes that pull and push, with gradients in turn, so that derivatives of any
order are there. There are three ways, by what is asked for: plain numbers, a quick function of autograd, and
one that the transforms of `torch.func` see through; `torch.compile` gets an operator of a library instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

from hinge.torch.extras import pytorch
from hinge.torch.nodes import NODES, Node


class Ways(NamedTuple):
    """Functions of a node and tensors."""

    apply: Callable[[Node, Sequence[Any]], tuple[Any, ...]]
    operator: Callable[[Node, Sequence[Any]], tuple[Any, ...]]


@cache
def ways() -> Ways:
    """Return the ways to call a node; PyTorch is loaded for them."""
    torch = pytorch()
    quick, transformed = _functions(torch)
    transforms = getattr(torch._C, "_are_functorch_transforms_active", lambda: True)
    forward_ad = torch.autograd.forward_ad

    def apply(node: Node, tensors: Sequence[Any]) -> tuple[Any, ...]:
        if transforms():
            return transformed.apply(node, *tensors)
        if forward_ad._current_level < 0 and not (
            torch.is_grad_enabled() and any(x.requires_grad for x in tensors)
        ):
            return node.evaluate(tensors)
        return quick.apply(node, *tensors)

    # What Dynamo does not trace breaks its graph.
    return Ways(apply, _operator(torch))


def _functions(torch: Any) -> tuple[Any, Any]:
    """Return the two functions of autograd."""

    class Rules:
        """What the two share."""

        @staticmethod
        def backward(ctx: Any, *weights: Any) -> tuple[Any, ...]:
            return None, *pulled(ctx.node, ctx.saved_tensors, weights, ctx.needs_input_grad[1:], ways().apply)

        @staticmethod
        def jvp(ctx: Any, _: Any, *changes: Any) -> tuple[Any, ...]:
            return pushed(ctx.node, ctx.saved_tensors, changes)

    def kept(ctx: Any, node: Node, tensors: Sequence[Any], found: Sequence[Any]) -> None:
        ctx.node = node
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)
        ctx.set_materialize_grads(False)
        still = [x for x, moves in zip(found, node.moving, strict=True) if not moves]
        if still:
            ctx.mark_non_differentiable(*still)

    class Quick(Rules, torch.autograd.Function):
        """A node for reverse and forward mode."""

        @staticmethod
        def forward(ctx: Any, node: Node, *tensors: Any) -> tuple[Any, ...]:
            found = node.evaluate(tensors)
            kept(ctx, node, tensors, found)
            return found

    class Transformed(Rules, torch.autograd.Function):
        """A node for transforms of torch.func."""

        @staticmethod
        def forward(node: Node, *tensors: Any) -> tuple[Any, ...]:
            return node.evaluate(tensors)

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Any, ...]) -> None:
            kept(ctx, inputs[0], inputs[1:], output)

        @staticmethod
        def vmap(_: Any, dims: tuple[Any, ...], node: Node, *tensors: Any) -> tuple[Any, Any]:
            found = ways().apply(node, in_front(node, dims[1:], tensors))
            return found, (0,) * len(found)

    return Quick, Transformed


def pulled(
    node: Node,
    tensors: Sequence[Any],
    weights: Sequence[Any],
    wanted: Sequence[bool],
    apply: Callable[[Node, Sequence[Any]], tuple[Any, ...]],
) -> list[Any]:
    """Return the gradients by the tensors that want one; weights may be None, which is zero."""
    by = tuple(n for n, wants in zip(node.names, wanted, strict=True) if wants)
    moving = [w for w, moves in zip(weights, node.moving, strict=True) if moves]
    if not by or all(w is None for w in moving):
        return [None] * len(tensors)
    home, like = node.home, tensors[0]
    given = [
        like.new_zeros(home.results[n]) if w is None else w for n, w in zip(home.moving, moving, strict=True)
    ]
    found = dict(zip(by, apply(node.pull(by), [*tensors, *given]), strict=True))
    return [_summed(found[n], x) if n in found else None for n, x in zip(node.names, tensors, strict=True)]


def _summed(gradient: Any, x: Any) -> Any:
    """Return the gradient by a tensor that all states of a batch may share: its sum over them."""
    return gradient if gradient.shape == x.shape else gradient.sum_to_size(x.shape)


def pushed(node: Node, tensors: Sequence[Any], changes: Sequence[Any]) -> tuple[Any, ...]:
    """Return the changes of results along those of tensors, None where a result does not move."""
    by = tuple(n for n, d in zip(node.names, changes, strict=True) if d is not None)
    found = iter(ways().apply(node.push(by), [*tensors, *(d for d in changes if d is not None)]))
    return tuple(next(found) if moves else None for moves in node.moving)


def in_front(node: Node, dims: Sequence[int | None], tensors: Sequence[Any]) -> list[Any]:
    """Return tensors with the dimension that is mapped over as the first of the leading ones."""
    ranks = [
        x.dim() - len(shape) - (d is not None) for x, shape, d in zip(tensors, node.shapes, dims, strict=True)
    ]
    most, found = max(ranks), list[Any]()
    for x, d, rank in zip(tensors, dims, ranks, strict=True):
        if d is None:
            found.append(x)
            continue
        front = x.movedim(d, 0)
        found.append(front.reshape(front.shape[0], *[1] * (most - rank), *front.shape[1:]))
    return found


# For torch.compile.


def _operator(torch: Any) -> Callable[[Node, Sequence[Any]], tuple[Any, ...]]:
    """Return an operator of a library that evaluates nodes, with the shapes and gradients of its results."""

    def run(number: int, tensors: Sequence[Any]) -> Any:
        return list(NODES[number].evaluate(tensors))

    def shapes(number: int, tensors: Sequence[Any]) -> Any:
        node = NODES[number]
        pairs = zip(tensors, node.shapes, strict=True)
        batch = torch.broadcast_shapes(*(x.shape[: x.dim() - len(shape)] for x, shape in pairs))
        return [tensors[0].new_empty((*batch, *shape)) for shape in node.home.results.values()]

    def keep(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:  # noqa: ARG001 (names that torch gives)
        ctx.number = inputs[0]
        ctx.save_for_backward(*inputs[1])

    def backward(ctx: Any, weights: Sequence[Any]) -> tuple[Any, ...]:
        node = NODES[ctx.number]
        return None, pulled(node, ctx.saved_tensors, weights, ctx.needs_input_grad[1], operator)

    made = torch.library.custom_op(
        "hinge::evaluate", run, mutates_args=(), schema="(int number, Tensor[] tensors) -> Tensor[]"
    )
    made.register_fake(shapes)
    made.register_autograd(backward, setup_context=keep)

    def operator(node: Node, tensors: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(torch.ops.hinge.evaluate(node.number, list(tensors)))

    return operator
