"""Random code of the kind that tracing makes: runs in turns, branches, columns, solves."""

from __future__ import annotations

import numpy as np

from hinge.algebra import Joint
from hinge.kernels import Graph, finish
from hinge.sweeps import Call, Code, Column, DenseCall, Slot
from tests.targets.llvm.running import result


def random_kernel(rng, loads, params, stores):
    """Return a kernel of sums and products whose values stay of the order of one."""
    graph = Graph()
    x = [graph.input(("x", k)) for k in range(loads + params)]
    found = {}
    for s in range(stores):
        y = sum((float(rng.uniform(-1, 1)) * v for v in x), 0.0) * 0.5
        a, b = rng.integers(len(x), size=2)
        found["y", s] = y + 0.3 * (x[a] * x[b]).sin() if rng.random() < 0.7 else y - 0.2 * x[a].cos()
    kernel = finish(graph, found)
    assert len(kernel.inputs) == len(x)
    return kernel


class Maker:
    """Code under construction."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        sizes = self.rng.integers(1, 12, 2)
        self.inputs = {"q": tuple(range(sizes[0])), "u": tuple(range(sizes[0], sum(sizes)))}
        self.slots = int(sum(sizes))
        self.known = list(range(self.slots))
        self.calls = []

    def new(self, count):
        self.slots += count
        return tuple(range(self.slots - count, self.slots))

    def pick(self, known=None):
        known = self.known if known is None else known
        return int(self.rng.choice(known))

    def params(self, count, same):
        return tuple(same) if self.rng.random() < 0.3 else tuple(self.rng.uniform(-1, 1, count).tolist())

    def first_stage(self):
        """Add calls that read inputs alone, of a few kernels in any order."""
        kinds = [random_kernel(self.rng, 1, 1, 2) for _ in range(2)]
        made = [
            Call(kinds[self.rng.integers(2)], (self.pick(),), self.params(1, [0.5]), self.new(2), -1, body)
            for body in range(int(self.rng.integers(0, 6)))
        ]
        self.calls += made
        self.known += [s for c in made for s in c.stores]

    def run(self, stage):
        """Add kernels in turn; a load goes on with what an earlier call made, or takes anything."""
        rng, period = self.rng, int(self.rng.integers(1, 4))
        kinds = [
            tuple(int(n) for n in (rng.integers(1, 4), rng.integers(0, 3), rng.integers(1, 3)))
            for _ in range(period)
        ]
        kernels = [random_kernel(rng, *kind) for kind in kinds]
        same = rng.uniform(-1, 1, 3)
        ways = [
            [rng.choice(["before", "within", "fixed", "stream", "any"]) for _ in range(k[0])] for k in kinds
        ]
        source = [[int(rng.integers(period)) for _ in w] for w in ways]
        fixed = [[self.pick() for _ in w] for w in ways]
        start = int(rng.integers(len(self.known)))
        turns: list[list[Call]] = []
        for turn in range(int(rng.integers(1, 7))):
            now: list[Call] = []
            for k, (loads, params, stores) in enumerate(kinds):
                taken = []
                for n in range(loads):
                    way, at = ways[k][n], source[k][n]
                    if way == "before" and turns:
                        taken.append(turns[-1][at].stores[-1])
                    elif way == "within" and at < k:
                        taken.append(now[at].stores[0])
                    elif way == "stream":
                        taken.append(self.known[(start + turn * (n + 1)) % len(self.known)])
                    else:
                        taken.append(fixed[k][n] if way == "fixed" else self.pick())
                now.append(
                    Call(
                        kernels[k],
                        tuple(taken),
                        self.params(params, same[:params]),
                        self.new(stores),
                        stage,
                        turn,
                    )
                )
            turns.append(now)
        made = [c for now in turns for c in now]
        self.calls += made
        self.known += [s for c in made for s in c.stores]

    def columns(self, stage):
        """Add columns that go over bodies in one direction and read what was there before them."""
        rng, before = self.rng, list(self.known)
        bodies = list(range(int(rng.integers(2, 5))))[:: int(rng.choice([1, -1]))]
        kernels = {b: random_kernel(rng, 2, 1, 1) for b in bodies}
        shared = random_kernel(rng, 2, 1, 1)
        for k in range(int(rng.integers(1, 4))):
            last = self.pick(before)
            for b in bodies[int(rng.integers(len(bodies))) :]:
                kernel = shared if rng.random() < 0.7 else kernels[b]
                call = Call(
                    kernel,
                    (last, self.pick(before)),
                    self.params(1, [0.5]),
                    self.new(1),
                    stage,
                    b,
                    Column(Joint, k),
                )
                self.calls.append(call)
                last = call.stores[0]
                self.known.append(last)

    def solve(self, stage):
        """Add a dense solve of a matrix that is well conditioned."""
        n, k = int(self.rng.choice([1, 3, 7, 8])), int(self.rng.integers(1, 3))
        matrix = np.empty((n, n), dtype=object)
        right = np.empty((n, k), dtype=object)
        for i in np.ndindex(n, n):
            matrix[i] = self.value() if i[0] != i[1] else 20.0 + n
        for i in np.ndindex(n, k):
            right[i] = self.value()
        found = np.empty((n, k), dtype=object)
        slots = self.new(n * k)
        for i, s in zip(np.ndindex(n, k), slots, strict=True):
            found[i] = Slot(s)
        self.calls.append(DenseCall(matrix, right, found, stage))
        self.known += slots

    def value(self):
        """Return a slot of either sign, or a constant."""
        if self.rng.random() < 0.2:
            return float(self.rng.choice([0.0, 0.5, -1.0]))
        return Slot(self.pick(), negative=bool(self.rng.random() < 0.3))

    def results(self):
        yield result("all", [Slot(s) for s in self.known])
        size = int(self.rng.integers(1, 20))
        yield result("some", [self.value() for _ in range(size)])
        yield result("square", [[self.value() for _ in range(3)] for _ in range(3)])
        yield result("one", self.value())


def random_code(seed):
    """Return random code, the same for the same seed."""
    maker = Maker(seed)
    maker.first_stage()
    for stage in range(int(maker.rng.integers(1, 4))):
        for _ in range(int(maker.rng.integers(1, 3))):
            maker.run(stage)
        if maker.rng.random() < 0.5:
            maker.solve(stage)
        if maker.rng.random() < 0.5:
            maker.columns(stage)
    return Code(tuple(maker.calls), maker.inputs, tuple(maker.results()), maker.slots)
