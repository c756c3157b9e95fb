"""Routines that have a program of gradients and none of changes: steps, and robots with closures.

Changes along directions are made of gradients, a row for each result. Both are first derivatives only.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from hinge.binding import gradient_by_coordinates
from hinge.dynamics import Compiled, code_program, compiled, pulled_closed_accelerations
from hinge.jax.extras import jax
from hinge.jax.primitive import call, changes_along
from hinge.jax.routines import Arrays, Names, Varying
from hinge.model import units
from hinge.sim import StepCode
from hinge.sweeps import Code, Joined, zeros
from hinge.targets import Executable


class ByGradients(Varying):
    """A routine whose gradients have a code of their own."""

    def gradient_code(self, wrt: Names, of: Names) -> Code:
        """Return the code of gradients by_<name> for weights c_<result>, in coordinates."""
        raise NotImplementedError

    def changes(self, xs: Arrays, ds: Arrays) -> Arrays:
        """Return the changes of results."""
        return changes_along(self, xs, ds)

    def changing(self, wrt: Names) -> Names:
        """Return the results."""
        return tuple(self.results)

    def reached(self, wrt: Names, of: Names) -> Names:
        """Return the inputs that gradients are asked for."""
        return wrt

    def push_program(self, wrt: Names) -> Executable | None:
        """Return None: `push_plain` says how."""
        return None

    def pull_program(self, wrt: Names, of: Names) -> Executable:
        """Return the program of gradients."""
        return code_program(self.gradient_code(wrt, of), f"gradients of {self.name}")

    def push_plain(self, wrt: Names, xs: Arrays, ds: Arrays) -> Arrays:
        """Return changes by the rows of gradients."""
        j = jax()
        return {n: self._row(j, n, wrt, xs, ds) for n in self.results}

    def _row(self, j: Any, n: str, wrt: Names, xs: Arrays, ds: Arrays) -> Any:
        """Return the change of a result: gradients by unit weights, multiplied with directions."""
        pulled = self.pulled(wrt, (n,))
        dtype = next(iter(xs.values())).dtype

        def gradients(unit: Any) -> Arrays:
            return call(pulled, {**xs, pulled.weights[n]: unit})

        rows = j.jax.vmap(gradients)(j.numpy.eye(self.results[n], dtype=dtype))
        parts = [j.numpy.einsum("i...k,...k->...i", rows[by], ds[m]) for m, by in pulled.shown.items()]
        return sum(parts[1:], parts[0])

    def pull_plain(self, wrt: Names, of: Names, xs: Arrays, cs: Arrays) -> Arrays:
        """Refuse second derivatives."""
        raise NotImplementedError(
            f"{self.name}: second derivatives are not supported, since its gradients are programs without "
            "derivatives of their own; take first derivatives, or second ones of forward_dynamics of a robot "
            "without closures"
        )


class OfStep(ByGradients):
    """A step of a simulation."""

    def __init__(self, step: StepCode, name: str) -> None:
        super().__init__()
        self.step, self.name, self.inputs = step, name, step.inputs
        self.results = {"next_q": step.robot.nq, "next_qd": step.robot.nv}

    @property
    def program(self) -> Executable:
        """The program of the step."""
        return self.step.program()

    def gradient_code(self, wrt: Names, of: Names) -> Code:
        """Return the code of gradients, weights that are not asked for zero."""
        code = self.step.gradients(wrt, coordinates=True)
        whole = Joined()
        given = {n: whole.input(n, len(slots)) for n, slots in code.inputs.items() if n not in _WEIGHTS}
        for n, result in _WEIGHTS.items():
            size = self.results[result]
            given[n] = whole.input(f"c_{result}", size) if result in of else zeros(size)
        return whole.code(whole.add(code, given))


#: The weights of a step's code by what they belong to.
_WEIGHTS = {"c_q": "next_q", "c_qd": "next_qd"}


class OfClosed(ByGradients):
    """Accelerations of a robot with closures, by the implicit function theorem."""

    def __init__(
        self, own: Compiled, lengths: Mapping[str, int], *, passive: bool, options: Mapping[str, Any]
    ) -> None:
        super().__init__()
        self.own, self.passive, self.options = own, passive, dict(options)
        self.robot, self.inputs = own.robot, dict(lengths)
        self.name = f"forward_dynamics of {self.robot.name}"
        self.results = {"forward_dynamics": self.robot.nv}

    @property
    def program(self) -> Executable:
        """The program of the accelerations."""
        return self.own.program()

    @cached_property
    def _value(self) -> Code:
        return self.own.compilation().code

    def gradient_code(self, wrt: Names, of: Names) -> Code:
        """Return the code of accelerations and their gradients."""
        if "placements" in wrt or "f_ext" in wrt:
            raise NotImplementedError(
                f"{self.name}: gradients by placements and f_ext are not supported for robots with closures"
            )
        parts = pulled_closed_accelerations(wrt, passive=self.passive)
        code = compiled(self.robot, parts, **self.options).compilation().code
        whole = Joined()
        given = {n: whole.input(n, size) for n, size in self.inputs.items()}
        given["c_forward_dynamics"] = whole.input("c_forward_dynamics", self.robot.nv)
        (given["qdd"],) = whole.add(self._value, {n: given[n] for n in self._value.inputs}).values()
        found = whole.add(code, {n: given[n] for n in code.inputs})
        if "by_q" in found:
            found["by_q"] = gradient_by_coordinates(whole, units(self.robot), given["q"], found["by_q"])
        return whole.code(found)
