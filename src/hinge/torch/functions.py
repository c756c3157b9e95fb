"""Functions of PyTorch, made of the programs that other homes run, with our derivatives."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hinge.binding import Expressed
from hinge.dynamics import home
from hinge.errors import ArgumentError
from hinge.model import Robot, checked_robot
from hinge.sim import step as step_code
from hinge.torch.extras import pytorch
from hinge.torch.gradients import ways
from hinge.torch.nodes import Node


class Function:
    """A verb, expressions or a step as a function of tensors: f(q, qd, tau), or by name.

    `inputs` and `results` have the shapes of one state by name; leading dimensions are batches and broadcast.
    One result is a tensor, several are a dict of them, those of a step a tuple.
    """

    def __init__(self, what: Any, robot: Robot, options: Mapping[str, Any], *, is_step: bool = False) -> None:
        self._asked = (what, robot, dict(options), is_step)
        self.robot = checked_robot(robot)
        self._torch, self._ways = pytorch(), ways()
        self._node = Node(home(what, robot, **options))
        self.inputs, self.results = _shown(self._node.home.inputs), dict(self._node.home.results)
        self._is_step, self._names = is_step, self._node.results

    def __repr__(self) -> str:
        arrays = ", ".join(f"{n}{list(shape)}" for n, shape in self.inputs.items())
        shown = ", ".join(f"{n}{list(shape)}" for n, shape in self.results.items())
        return f"<hinge.torch {self.robot.name!r}: ({arrays}) → ({shown})>"

    def __reduce__(self) -> Any:
        """Pickle as what it is made of."""
        return _made, self._asked

    def __deepcopy__(self, _: Any) -> Function:
        """Return itself: it has no state."""
        return self

    def __call__(self, *tensors: Any, **named: Any) -> Any:
        """Return the results; `tensors` in the order of `inputs`, or by name."""
        if named or len(tensors) != len(self.inputs):
            tensors = self._in_order(tensors, named)
        torch, device = self._torch, None
        if not _are_doubles(torch, tensors):
            tensors, device = self._converted(tensors)
        if "dq" in self.inputs:
            tensors = (tensors[0], *tensors[2:], tensors[1])  # as the program takes them
        apply = self._ways.operator if torch.compiler.is_compiling() else self._ways.apply
        found = apply(self._node, tensors)
        if device is not None:
            found = tuple(x.to(device) for x in found)
        if self._is_step:
            return found
        return found[0] if len(found) == 1 else dict(zip(self._names, found, strict=True))

    def _in_order(self, tensors: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[Any, ...]:
        names = list(self.inputs)
        given = dict(zip(names, tensors, strict=False))
        twice = [n for n in named if n in given]
        if len(tensors) > len(names) or twice or {*given, *named} != set(names):
            got = ", ".join([*names[: len(tensors)], *named]) if len(tensors) <= len(names) else len(tensors)
            raise TypeError(f"expected the tensors {', '.join(names)}, each once, got {got or 'none'}")
        given |= named
        return tuple(given[n] for n in names)

    def _converted(self, tensors: tuple[Any, ...]) -> tuple[tuple[Any, ...], Any]:
        """Return tensors of the CPU of one precision, and the device that results go to."""
        torch = self._torch
        found = [self._checked(n, x) for n, x in zip(self.inputs, tensors, strict=True)]
        devices = {x.device for x in found}
        if len(devices) > 1:
            shown = ", ".join(f"{n} on {x.device}" for n, x in zip(self.inputs, found, strict=True))
            raise ArgumentError(f"device: expected all tensors on one device, got {shown}")
        (device,) = devices or {torch.device("cpu")}
        if device.type != "cpu":
            if device.type == "meta":
                raise ArgumentError("device: expected tensors with values, got ones on 'meta'")
            warnings.warn(
                f"tensors on {device} are copied to the CPU, where Hinge computes, and results back; keep "
                "them on the CPU, or copy them once for many calls",
                stacklevel=3,
            )
            found = [x.cpu() for x in found]
        single = all(x.dtype == torch.float32 for x in found)
        dtype = torch.float32 if single else torch.float64
        return tuple(x.to(dtype) for x in found), None if device.type == "cpu" else device

    def _checked(self, name: str, x: Any) -> Any:
        """Return a tensor of double or single precision, or raise an ArgumentError."""
        torch = self._torch
        if isinstance(x, np.ndarray):
            x = torch.from_numpy(np.ascontiguousarray(x))
        if not isinstance(x, torch.Tensor):
            raise ArgumentError(
                f"{name}: expected a tensor or a NumPy array, got {type(x).__name__}; torch.tensor({name}, "
                "dtype=torch.float64) makes one"
            )
        if x.dtype not in (torch.float64, torch.float32):
            raise ArgumentError(
                f"{name}: expected float64 or float32, got {x.dtype}; {name}.double() or {name}.float() is "
                "one"
            )
        if x.layout is not torch.strided:
            raise ArgumentError(f"{name}: expected a dense tensor, got {x.layout}; {name}.to_dense() is one")
        return x


def _shown(inputs: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    """Return inputs in the order of a call: dq stands beside q."""
    found = {n: inputs[n] for n in ("q", "dq") if n in inputs}
    return {**found, **inputs}


def _are_doubles(torch: Any, tensors: Sequence[Any]) -> bool:
    """Tell whether all are plain tensors of the CPU in double precision."""
    plain, double, dense = torch.Tensor, torch.float64, torch.strided
    for x in tensors:  # noqa: SIM110 (quicker than all)
        if not (isinstance(x, plain) and x.dtype is double and x.is_cpu and x.layout is dense):
            return False
    return True


def _made(what: Any, robot: Robot, options: Mapping[str, Any], is_step: bool) -> Function:
    return Function(what, robot, options, is_step=is_step)


def function(
    what: Any,
    robot: Robot,
    *,
    nodes: Sequence[str] = (),
    expressed: Expressed = "body",
    parameters: Sequence[str] = (),
    tangent: bool = False,
) -> Function:
    """Return a verb, an expression, or several by name, as a function of PyTorch's tensors.

    `nodes`, `expressed` and `parameters` as in `hinge.compile`. It takes tensors (…, n) of the CPU in double
    or single precision, contiguous ones without a copy, and has gradients of any order, backward and forward,
    by all inputs. Derivatives by q are by its coordinates (nq), and its quaternions are normalised first.

    With `tangent` it takes one more tensor after q, dq (…, nv), and is f(q ⊕ dq), along `hinge.integrate`:
    give zeros, and the gradient by dq is that by q in the tangent space.
    """
    options = {"nodes": tuple(nodes), "expressed": expressed, "parameters": tuple(parameters)}
    return Function(what, robot, {**options, "tangent": tangent})


def step(robot: Robot, dt: float | None = None, **options: Any) -> Function:
    """Return a step of a simulation, (q, qd, tau) → (next_q, next_qd), as a function of tensors.

    Arguments are those of `hinge.sim.step`, such as `integrator`, `control`, and `inputs`, names of numbers
    that calls give too: "inertias", or "kp" and "kd" of a law. Without `dt` its length is a tensor (…, 1).
    """
    return Function(step_code(robot, dt, **options), robot, {}, is_step=True)
