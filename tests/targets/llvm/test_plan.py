from __future__ import annotations

import numpy as np
import pytest

from hinge import robots
from hinge.algebra import Joint
from hinge.dynamics import CATALOGUE, compile
from hinge.sweeps import Call, Code, Column, DenseCall, Slot
from hinge.targets.llvm.plan import Places, Run, kernel_of, segments, slots_read, slots_shown
from tests.targets.llvm.running import result, traced

ADD = traced(lambda x, y: (x + y,), 2)
BOTH = traced(lambda x, y: (x + y, x * y), 2)


def call(loads, stores, kernel=ADD, stage=0, params=()):
    return Call(kernel, tuple(loads), tuple(params), tuple(stores), stage, 0)


def block(*slots):
    found = np.empty((len(slots), 1), dtype=object)
    found[:, 0] = [Slot(s) if isinstance(s, int) else s for s in slots]
    return found


def code(*calls, inputs=3, shown=()):
    return Code(calls, {"x": tuple(range(inputs))}, (result("y", [Slot(s) for s in shown]),), 50)


def test_calls_of_one_kernel_that_follow_each_other_are_a_run():
    calls = [call((0, 1), (3,)), call((3, 2), (4,)), call((3, 4), (5, 6), BOTH), call((5, 6), (7,))]
    found = segments(code(*calls))
    assert [len(part.calls) for part in found] == [2, 1, 1]
    assert [part.calls[0].kernel for part in found] == [ADD, BOTH, ADD]
    assert [c for part in found for c in part.calls] == calls


@pytest.mark.parametrize("period", [1, 2, 3, 4])
def test_kernels_that_come_in_turn_are_a_run(period):
    kernels = [traced(lambda x, y, k=k: (x + k * y,), 2) for k in range(period)]
    calls = [call((n, 1), (10 + n,), kernels[n % period]) for n in range(3 * period)]
    odd = call((30, 31), (32, 33), BOTH)
    found = segments(code(*calls, odd))
    assert [(part.period, part.repeats) for part in found] == [(period, 3), (1, 1)]
    assert found[0].first == tuple(calls[:period]) and found[0].turns(period - 1) == tuple(
        calls[period - 1 :: period]
    )
    assert all(part.period == 1 for part in segments(code(*calls, odd), 1))


def test_a_solve_stands_between_runs():
    solve = DenseCall(block(3), block(0.5), block(4), 0)
    first, second = call((0, 1), (3,)), call((4, 2), (5,))
    found = segments(code(first, solve, second))
    assert found[1] is solve and [found[0].calls, found[2].calls] == [(first,), (second,)]


def test_what_depends_on_q_alone_is_sorted_by_kernel():
    early = [call((k, 1), (10 + k,), ADD if k % 2 else BOTH, stage=-1) for k in range(4)]
    late = [call((10 + k, 1), (20 + k,)) for k in range(2)]
    found = segments(code(*early, *late))
    assert [part.calls for part in found] == [(early[0], early[2]), (early[1], early[3]), tuple(late)]


@pytest.mark.parametrize("bodies", [(0, 1, 2), (2, 1, 0)])
def test_columns_go_body_by_body(bodies):
    columns = [Column(Joint, k) for k in range(2)]
    calls = [
        Call(ADD, (10 * k + b, 1), (), (50 + 10 * k + b,), 0, b, c)
        for k, c in enumerate(columns)
        for b in bodies
    ]
    (run,) = segments(code(*calls))
    assert [c.body for c in run.calls] == [b for b in bodies for _ in columns]


def test_what_each_turn_takes_from_the_one_before_is_carried():
    run = Run(tuple(call((10 + k, k), (11 + k,)) for k in range(4)))
    assert run.carried(0, 0) == (0, 0) and run.carried(0, 1) is None and run.within(0, 0) is None


def test_a_branch_is_not_carried():
    chain = [call((10, 0), (11,)), call((11, 1), (12,)), call((11, 2), (13,))]
    assert Run(tuple(chain)).carried(0, 0) is None
    assert Run(tuple(chain[:2])).carried(0, 0) == (0, 0)
    assert Run(tuple(chain[:1])).carried(0, 0) is None


def test_what_a_call_takes_from_its_own_turn_is_within():
    calls = [
        c
        for k in range(3)
        for c in (call((5 * k, 1), (5 * k + 2, 5 * k + 3), BOTH), call((5 * k + 3, 5 * k), (5 * k + 4,)))
    ]
    run = Run(tuple(calls), 2)
    assert run.within(1, 0) == (0, 1) and run.within(1, 1) is None and run.carried(1, 0) is None


def test_slots_that_are_read_and_shown():
    solve = DenseCall(block(3, 7), block(0.5, Slot(4, negative=True)), block(8, 9), 0)
    assert list(slots_read(solve)) == [3, 7, 4]
    assert list(slots_read(call((5, 6), (7,)))) == [5, 6]
    assert list(slots_shown(code(shown=[3, 2, 2]))) == [3, 2, 2]
    assert list(slots_shown(Code((), {}, (result("y", [1.5, Slot(3)]),), 4))) == [3]


def test_places_are_given_one_after_the_other():
    places = Places()
    assert places.put([7, 3]) == 0 and places.more(4) == 2 and places.put([9]) == 6
    assert places.of == {7: 0, 3: 1, 9: 6} and places.size == 7


def test_the_stores_of_a_run_are_evenly_spaced():
    run = Run(tuple(call((0, 1), (10 + 2 * k, 11 + 2 * k), BOTH) for k in range(5)))
    places = Places()
    places.put_run(run, range(50))
    for s in (0, 1):
        assert set(np.diff([places.of[c.stores[s]] for c in run.calls])) == {2}
    few = Places()
    few.put_run(run, {13})
    assert few.size == 5 and not {10, 12} & few.of.keys()


def branched():
    return robots.random_tree(5, 8, ["prismatic", "revolute", "continuous"], branching=0.9)


@pytest.mark.parametrize("verb", ["forward_dynamics", "mass_matrix", "mass_matrix_inverse", "accelerations"])
def test_calls_of_a_kernel_take_and_give_the_same_number_of_values(verb):
    found = compile(CATALOGUE[verb], branched(), nodes=["tip"], target="llvm").code
    by_kernel: dict[tuple[int, int], set[tuple[int, ...]]] = {}
    for c in found.calls:
        assert isinstance(c, Call)
        by_kernel.setdefault(kernel_of(c), set()).add((len(c.loads), len(c.params), len(c.stores)))
    assert all(len(sizes) == 1 for sizes in by_kernel.values())


@pytest.mark.parametrize("verb", ["forward_dynamics", "mass_matrix", "mass_matrix_inverse", "jacobian"])
@pytest.mark.parametrize("make", [branched, lambda: robots.random_tree(7, 3), robots.quadruped])
def test_every_call_comes_once_and_after_what_it_reads(verb, make):
    robot = make()
    found = compile(CATALOGUE[verb], robot, nodes=[robot.bodies[-1].name], target="llvm").code
    for longest in (1, 4):
        known = {s for slots in found.inputs.values() for s in slots}
        seen = []
        for part in segments(found, longest):
            for c in [part] if isinstance(part, DenseCall) else part.calls:
                seen.append(id(c))
                assert set(slots_read(c)) <= known
                known |= {x.index for x in c.result.flat} if isinstance(c, DenseCall) else set(c.stores)
        assert set(slots_shown(found)) <= known
        assert sorted(seen) == sorted(map(id, found.calls))
