"""Changes and gradients of code that is there: forward and reverse mode, call by call.

What has no expression of a derivative, such as matrices, poses and whole steps, is differentiated as it is
computed. Each call of a kernel becomes a call of its derivative along the rates of what it loads, or of its
adjoint with the weights of what it stores; calls of equal kernels share these. A dense solve X = A⁻¹ B has

    δX = A⁻¹ (δB − δA X),     B̄ = A⁻ᵀ X̄,   Ā = −B̄ Xᵀ.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from hinge.kernels import OPS, Dual, Graph, Kernel, Scalar, adjoint_of, finish, fresh_level, on_duals
from hinge.sweeps.code import Call, Code, DenseCall, Known, KnownBlock, Result, Slot
from hinge.sweeps.joining import Joined

#: The inputs of a new kernel by key, values of a graph.
_Given: TypeAlias = Callable[[Hashable], Any]
#: From these to the outputs by key.
_Formula: TypeAlias = Callable[[_Given], Mapping[Hashable, Any]]


def pushed_code(code: Code, along: Sequence[str], of: Sequence[str]) -> Code:
    """Return the changes of these results of code, under their names.

    It takes the inputs of the code and, for each of the inputs `along`, its change as d_<name>.
    """
    whole = _Grown(code)
    rates: dict[int, Known] = {}
    for name in along:
        rates |= zip(code.inputs[name], whole.input(f"d_{name}", len(code.inputs[name])), strict=True)
    for c in code.calls:
        if isinstance(c, DenseCall):
            _push_solve(whole, c, rates)
        else:
            _push_call(whole, c, rates)
    return whole.code({r.name: _each(r.values, rates) for r in code.results if r.name in of})


def pulled_code(code: Code, by: Sequence[str], of: Sequence[str]) -> Code:
    """Return the gradients of Σ c · result over results `of` code, by these inputs, as by_<name>.

    It takes the inputs of the code and, for each of these results, its weights in one row as c_<name>.
    """
    whole = _Grown(code)
    whole.calls += code.calls
    active = _active(code, by)
    weights: dict[int, list[Slot]] = {}
    for r in (r for r in code.results if r.name in of):
        given = whole.input(f"c_{r.name}", r.values.size)
        for x, w in zip(r.values.flat, given, strict=True):
            if isinstance(x, Slot) and x.index in active:
                weights.setdefault(x.index, []).append(replace(w, negative=x.negative))
    for c in reversed(code.calls):
        if isinstance(c, DenseCall):
            _pull_solve(whole, c, weights, active)
        else:
            _pull_call(whole, c, weights, active)
    shown: dict[str, KnownBlock] = {}
    for name in by:
        shown[f"by_{name}"] = found = np.zeros(len(code.inputs[name]), dtype=object)
        found[:] = [whole.total(weights.get(s, [])) for s in code.inputs[name]]
    return whole.code(shown)


class _Grown:
    """Code under construction that keeps the slots of another."""

    def __init__(self, code: Code) -> None:
        self.calls: list[Call | DenseCall] = []
        self._inputs, self._slots = dict(code.inputs), code.slots
        self._stage = 1 + max((c.stage for c in code.calls), default=0)
        self._traced: dict[Hashable, _Traced] = {}
        self._kernels: dict[Kernel, Kernel] = {}

    def fresh(self, count: int) -> tuple[int, ...]:
        """Return new slots."""
        self._slots += count
        return tuple(range(self._slots - count, self._slots))

    def input(self, name: str, size: int) -> list[Slot]:
        """Return a new input."""
        self._inputs[name] = self.fresh(size)
        return [Slot(s) for s in self._inputs[name]]

    def call(
        self, key: Hashable, formula: _Formula, loads: Mapping[Hashable, int], like: Call | None = None
    ) -> dict[Any, Known]:
        """Add a call of a formula of numbers by key, and return its results by key.

        `loads` are the slots of the numbers, in order; parameters of the call `like` another come as
        ("param", k). Formulas with equal keys are traced once. What is zero, or passed on, is not computed.
        """
        params: dict[Hashable, float] = {
            ("param", k): x for k, x in enumerate(() if like is None else like.params)
        }
        known = self._traced.get(key)
        if known is None:
            self._traced[key] = known = _traced(formula, [*loads, *params])
        kernel, outputs = known
        stores = self.fresh(0 if kernel is None else len(kernel.outputs))
        if kernel is not None:
            taken = tuple(loads[k] for k in kernel.inputs if k in loads)
            numbers = tuple(params[k] for k in kernel.inputs if k not in loads)
            named = replace(kernel, inputs=tuple(range(len(kernel.inputs))))
            named = replace(named, outputs=tuple(o._replace(key=n) for n, o in enumerate(named.outputs)))
            shared = self._kernels.setdefault(named, named)
            body = 0 if like is None else like.body
            self.calls.append(Call(shared, taken, numbers, stores, self._stage, body))
            self._stage += 1
        shown: dict[Any, Known] = {}
        for name, x in outputs.items():
            if isinstance(x, float):
                shown[name] = x
            elif isinstance(x, int):
                shown[name] = Slot(stores[x])
            else:
                shown[name] = Slot(loads[x[0]], x[1])
        return shown

    def add_solve(self, call: DenseCall) -> None:
        """Add a dense solve."""
        self.calls.append(replace(call, stage=self._stage))
        self._stage += 1

    def products(self, first: Known, terms: Sequence[tuple[Known, Known]]) -> Known:
        """Return first − Σ x y."""
        kept = [(x, y) for x, y in terms if all(isinstance(z, Slot) or z for z in (x, y))]
        flat = [first, *(z for pair in kept for z in pair)]
        signs = tuple(map(_sign, flat))
        loads: dict[Hashable, int] = {k: z.index for k, z in enumerate(flat) if isinstance(z, Slot)}

        def formula(x: _Given) -> dict[Hashable, Any]:
            values = [_read(x, k, sign) for k, sign in enumerate(signs)]
            found = values[0]
            for a, b in zip(values[1::2], values[2::2], strict=True):
                found = found - a * b
            return {0: found}

        return self.call(("products", signs), formula, loads)[0]

    def total(self, terms: Sequence[Slot]) -> Known:
        """Return the sum of values."""
        if len(terms) < 2:
            return terms[0] if terms else 0.0
        signs = tuple(x.negative for x in terms)
        loads: dict[Hashable, int] = {k: x.index for k, x in enumerate(terms)}
        return self.call(("sum", signs), lambda x: {0: _sum(x, list(enumerate(signs)))}, loads)[0]

    def code(self, results: Mapping[str, KnownBlock]) -> Code:
        """Return the whole with these results, without what they do not need."""
        shown = tuple(Result(name, x) for name, x in results.items())
        found, whole = Code(tuple(self.calls), self._inputs, shown, self._slots), Joined()
        given = {name: whole.input(name, len(slots)) for name, slots in self._inputs.items()}
        return whole.code(whole.add(found, given))


#: A kernel, or None if nothing is computed, and by key the number of its output, a constant, or what is
#: passed on, with its sign.
_Traced: TypeAlias = tuple[Kernel | None, Mapping[Hashable, "int | float | tuple[Hashable, bool]"]]


def _traced(formula: _Formula, inputs: Sequence[Hashable]) -> _Traced:
    graph = Graph()
    given = {k: graph.input(k) for k in inputs}
    outputs: dict[Hashable, int | float | tuple[Hashable, bool]] = {}
    made: dict[Hashable, Scalar] = {}
    for name, x in formula(given.__getitem__).items():
        if not isinstance(x, Scalar):
            outputs[name] = float(x)
        elif graph.nodes[x.index][0] == "input" and not _is_param(graph.nodes[x.index][1]):
            outputs[name] = (graph.nodes[x.index][1], x.negative)
        else:
            outputs[name] = len(made)
            made[name] = x
    return (finish(graph, made) if made else None), outputs


def _is_param(key: Hashable) -> bool:
    return isinstance(key, tuple) and key[0] == "param"


# Forward mode.


def _push_call(whole: _Grown, c: Call, rates: dict[int, Known]) -> None:
    """Add a call, and one that computes the rates of what it stores."""
    whole.calls.append(c)
    moving = {k: rates[s] for k, s in enumerate(c.loads) if s in rates}
    if not moving:
        return
    signs = {k: _sign(x) for k, x in moving.items()}
    loads: dict[Hashable, int] = {("x", k): s for k, s in enumerate(c.loads)}
    loads |= {("d", k): x.index for k, x in moving.items() if isinstance(x, Slot)}
    key = ("push", c.kernel, len(c.loads), tuple(signs.items()))
    found = whole.call(key, partial(_rates, c, signs), loads, c)
    rates |= {s: found[k] for k, s in enumerate(c.stores) if found[k] != 0.0}


def _rates(c: Call, signs: Mapping[int, str | float], x: _Given) -> dict[Hashable, Any]:
    """Return the rates of a call's outputs; those of its loads come with a sign, or are numbers."""
    level = fresh_level()
    values = [x(("x", k)) for k in range(len(c.loads))]
    for k, sign in signs.items():
        values[k] = Dual(values[k], _read(x, ("d", k), sign), level)
    values += [x(("param", k)) for k in range(len(c.params))]
    found = c.kernel.runner(_on_duals)(values)
    return {k: y.rate if isinstance(y, Dual) else 0.0 for k, y in enumerate(found)}


def _on_duals(name: str) -> Callable[..., Any]:
    return OPS[name].floats if OPS[name].symbol else partial(on_duals, name)


def _push_solve(whole: _Grown, c: DenseCall, rates: dict[int, Known]) -> None:
    """Add the solve A δX = δB − δA X beside A X = B."""
    _refuse_law(c)
    whole.calls.append(c)
    by_matrix, right = _each(c.matrix, rates), _each(c.right, rates)
    if not any(isinstance(x, Slot) or x for x in (*by_matrix.flat, *right.flat)):
        return
    for i, k in np.ndindex(*right.shape):
        terms = [(a, x) for a, x in zip(by_matrix[i], c.result[:, k], strict=True)]
        first: Any = right[i, k]
        right[i, k] = whole.products(first, terms)
    _add_solve(whole, c, c.matrix, right, rates)


def _add_solve(
    whole: _Grown, c: DenseCall, matrix: KnownBlock, right: KnownBlock, rates: dict[int, Known] | None = None
) -> KnownBlock:
    """Add a solve like another, and return its result."""
    result = np.empty(c.result.shape, dtype=object)
    result.flat[:] = [Slot(s) for s in whole.fresh(result.size)]
    whole.add_solve(replace(c, matrix=matrix, right=right, result=result))
    if rates is not None:
        rates |= {x.index: y for x, y in zip(c.result.flat, result.flat, strict=True)}
    return result


def _refuse_law(c: DenseCall) -> None:
    if c.law is not None:
        raise NotImplementedError(
            "derivatives of code that answers a law of contact are not supported, since that iterates; see "
            "hinge.contact_dynamics_derivatives, in which the contacts in force are held"
        )


# Reverse mode.


def _active(code: Code, by: Sequence[str]) -> set[int]:
    """Return the slots that depend on inputs."""
    found = {s for name in by for s in code.inputs[name]}
    for c in code.calls:
        if isinstance(c, Call):
            taken, given = c.loads, c.stores
        else:
            taken = [x.index for x in (*c.matrix.flat, *c.right.flat) if isinstance(x, Slot)]
            given = [x.index for x in c.result.flat]
        if not found.isdisjoint(taken):
            found |= set(given)
    return found


def _pull_call(whole: _Grown, c: Call, weights: dict[int, list[Slot]], active: set[int]) -> None:
    """Add a call of the adjoint of a call's kernel."""
    given = {k: weights[s] for k, s in enumerate(c.stores) if s in weights}
    wanted = tuple(k for k, s in enumerate(c.loads) if s in active)
    if not given or not wanted:
        return
    signs = tuple((k, tuple(w.negative for w in ws)) for k, ws in given.items())
    loads: dict[Hashable, int] = {("x", k): s for k, s in enumerate(c.loads)}
    loads |= {("w", k, n): w.index for k, ws in given.items() for n, w in enumerate(ws)}
    found = whole.call(("pull", c.kernel, wanted, signs), partial(_gradients, c, wanted, signs), loads, c)
    for k in wanted:
        part = found[k]
        if isinstance(part, Slot):
            weights.setdefault(c.loads[k], []).append(part)
        else:
            assert part == 0.0, "a gradient is linear in weights"


def _gradients(
    c: Call, wanted: Sequence[int], signs: Sequence[tuple[int, Sequence[bool]]], x: _Given
) -> dict[Hashable, Any]:
    """Return the gradients by some loads of a call; the weights of its outputs are sums with these signs."""
    keys = [o.key for o in c.kernel.outputs]
    kernel = c.kernel.restricted([keys[k] for k, _ in signs])
    sources = [*(("x", k) for k in range(len(c.loads))), *(("param", k) for k in range(len(c.params)))]
    names = dict(zip(c.kernel.inputs, sources, strict=True))
    given: dict[Hashable, Any] = {key: x(names[key]) for key in kernel.inputs}
    for k, own in signs:
        given["weight", keys[k]] = _sum(x, [(("w", k, n), sign) for n, sign in enumerate(own)])
    by = [c.kernel.inputs[k] for k in wanted]
    found = adjoint_of(kernel, by).evaluate(given)
    return {k: found[key] for k, key in zip(wanted, by, strict=True)}


def _pull_solve(whole: _Grown, c: DenseCall, weights: dict[int, list[Slot]], active: set[int]) -> None:
    """Add the solve Aᵀ B̄ = X̄, and Ā = −B̄ Xᵀ; of a symmetric matrix the upper half is read alone."""
    _refuse_law(c)
    outer = np.empty(c.result.shape, dtype=object)
    outer.flat[:] = [whole.total(weights.get(x.index, [])) for x in c.result.flat]
    taken = [x for x in (*c.matrix.flat, *c.right.flat) if isinstance(x, Slot) and x.index in active]
    if not taken or not any(isinstance(x, Slot) for x in outer.flat):
        return
    by_right = _add_solve(whole, c, c.matrix.T, outer)
    shared = c.positive or c.floored
    parts = list(zip(c.right.flat, by_right.flat, strict=True))
    for i, j in np.ndindex(*c.matrix.shape):
        at = c.matrix[i, j]
        if not isinstance(at, Slot) or at.index not in active or (shared and i > j):
            continue
        terms = [*zip(by_right[i], c.result[j], strict=True)]
        if shared and i < j:
            terms += zip(by_right[j], c.result[i], strict=True)
        parts.append((at, whole.products(0.0, terms)))
    for at, part in parts:
        if isinstance(at, Slot) and at.index in active:
            weights.setdefault(at.index, []).append(replace(part, negative=part.negative != at.negative))


# Values with signs.


def _sign(x: Known) -> str | float:
    """Return how a kernel reads a value: with a sign, or as the number that it is."""
    return ("-" if x.negative else "+") if isinstance(x, Slot) else x


def _read(x: _Given, key: Hashable, sign: str | float) -> Any:
    return sign if isinstance(sign, float) else -x(key) if sign == "-" else x(key)


def _sum(x: _Given, terms: Sequence[tuple[Hashable, bool]]) -> Any:
    found: Any = 0.0
    for name, negative in terms:
        found = found - x(name) if negative else found + x(name)
    return found


def _each(values: KnownBlock, rates: Mapping[int, Known]) -> KnownBlock:
    """Return the rates of values."""
    found = np.zeros(values.shape, dtype=object)
    for at, x in np.ndenumerate(values):
        rate = rates.get(x.index, 0.0) if isinstance(x, Slot) else 0.0
        if isinstance(rate, Slot):
            found[at] = replace(rate, negative=rate.negative != x.negative)
        else:
            found[at] = -rate if rate and x.negative else float(rate)
    return found
