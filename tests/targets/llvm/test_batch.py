from __future__ import annotations

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from hinge import dynamics, robots
from hinge.targets.llvm import native_program as module
from hinge.targets.llvm.batch import Axis, apart, as_rows, layout, writable_rows
from hinge.testing import random_state
from tests.targets.llvm.running import blended, blending, native

PROGRAM = native(blending(), lanes=4)
DOUBLE = np.dtype(np.float64)
WIDTHS = pytest.mark.parametrize("lanes", [1, 4])


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def check(program, q, u, dtype=np.float64):
    found, wanted = program({"q": q, "u": u}), blended(q.astype(np.float64), u.astype(np.float64))
    off = 1e-6 if dtype == np.float32 else 1e-14
    for name, x in wanted.items():
        assert found[name].shape == x.shape and found[name].dtype == dtype
        assert np.allclose(found[name], x, rtol=off, atol=off)
    return found


# Layouts.


def test_a_contiguous_batch_is_one_axis():
    q, u = numbers(4, 5, 3), numbers(4, 5, 2)
    assert layout((4, 5), [(q, 1), (u, 1)]) == layout((20,), [(q.reshape(20, 3), 1), (u.reshape(20, 2), 1)])
    assert layout((4, 5), [(q, 1)]).axis == Axis(20, (3,))


def test_what_is_broadcast_has_stride_zero():
    q, u = numbers(3, 1, 3), numbers(4, 2)
    found = layout((3, 4), [(q, 1), (u, 1)])
    assert found.axis == Axis(4, (0, 2)) and found.outer == (Axis(3, (3, 0)),)
    assert list(found.starts()) == [(0, 0), (3, 0), (6, 0)]


def test_the_longest_axis_is_the_batch():
    q, u = numbers(9, 1, 3), numbers(4, 2)
    assert layout((9, 4), [(q, 1), (u, 1)]).axis.size == 9


def test_axes_of_one_state_do_not_count():
    found = layout((1, 6, 1), [(numbers(1, 6, 1, 3), 1), (numbers(2), 1)])
    assert found.axis == Axis(6, (3, 0)) and found.outer == ()
    for batch in ((), (1,), (1, 1)):
        one = layout(batch, [(numbers(*batch, 3), 1)])
        assert one.axis.size == 1 and list(one.starts()) == [(0,)]


def test_strides_may_be_negative_or_wide():
    q = numbers(10, 3)[::-2]
    assert layout((5,), [(q, 1)]).axis == Axis(5, (-6,))
    wide = numbers(5, 7)[:, 2:5]
    assert layout((5,), [(wide, 1)]).axis == Axis(5, (7,))


def test_inner_dimensions_are_no_batch():
    m = numbers(4, 5, 3, 2)
    assert layout((4, 5), [(m, 2)]).axis == Axis(20, (6,))


# Arrays are copied only where they must be.


@pytest.mark.parametrize(
    "x",
    [
        numbers(4, 3),
        numbers(4, 6)[:, :3],
        numbers(8, 3)[::-2],
        np.broadcast_to(numbers(3), (4, 3)),
        np.asfortranarray(numbers(4, 1)),
        numbers(0, 3),
        numbers(2, 4, 3).swapaxes(0, 1),
    ],
    ids=lambda x: str(x.strides),
)
def test_rows_that_are_contiguous_are_not_copied(x):
    assert as_rows(x, DOUBLE, 1) is x and writable_rows(x, 1) is x


def misaligned(x):
    raw = np.zeros(x.nbytes + 1, np.uint8)
    found = raw[1:].view(x.dtype).reshape(x.shape)
    found[...] = x
    assert not found.flags.aligned
    return found


def uneven(x):
    """Return an array whose rows are not whole numbers apart."""
    record = np.zeros(x.shape[0], np.dtype([("flag", "u4"), ("x", x.dtype, x.shape[1:])], align=False))
    record["x"] = x
    return record["x"]


@pytest.mark.parametrize(
    "x",
    [
        np.asfortranarray(numbers(4, 3)),
        numbers(4, 6)[:, ::2],
        numbers(4, 3)[:, ::-1],
        np.broadcast_to(numbers(4, 1), (4, 3)),
        misaligned(numbers(4, 3)),
        uneven(numbers(4, 3)),
        numbers(4, 3).astype(">f8"),
        numbers(4, 3).astype(np.float32),
        numbers(4, 3).astype(np.float16),
        numbers(4, 3).astype(np.longdouble),
    ],
    ids=lambda x: f"{x.dtype}{x.strides}",
)
def test_other_rows_are_copied(x):
    found = as_rows(x, DOUBLE, 1)
    assert not np.shares_memory(found, x) and np.array_equal(found, x)
    assert found.dtype == DOUBLE and found.dtype.isnative and found.flags.c_contiguous and found.flags.aligned


def test_a_result_that_cannot_be_written_row_by_row_gets_a_new_array():
    for x in (np.asfortranarray(numbers(4, 3)), misaligned(numbers(4, 3)), uneven(numbers(4, 3))):
        found = writable_rows(x, 1)
        assert not np.shares_memory(found, x) and found.shape == x.shape and found.dtype == x.dtype


def test_arrays_that_share_memory_are_taken_apart():
    x = numbers(10)
    assert apart(x[:5], [x[5:]]).base is x
    copy = apart(x[:6], [x[5:]])
    assert copy.base is None and np.array_equal(copy, x[:6])


# Whole calls.


@pytest.mark.parametrize(
    ("q", "u"),
    [
        ((3,), (2,)),
        ((7, 3), (7, 2)),
        ((3, 1, 3), (4, 2)),
        ((5, 1, 3), (1, 6, 2)),
        ((3,), (9, 2)),
        ((2, 3, 4, 3), (3, 1, 2)),
        ((1, 1, 1, 3), (5, 2)),
        ((0, 3), (0, 2)),
        ((0, 3), (2,)),
        ((4, 0, 3), (1, 2)),
        ((1, 3), (0, 2)),
    ],
)
@WIDTHS
def test_batches_broadcast(q, u, lanes):
    check(native(blending(), lanes=lanes), numbers(*q), numbers(*u, seed=1))


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x[::-1],
        lambda x: x[::3],
        np.asfortranarray,
        lambda x: x[:, ::-1],
        lambda x: np.repeat(x, 2, axis=1)[:, ::2],
        lambda x: np.broadcast_to(x[:1], x.shape),
        lambda x: as_strided(x, strides=(0, x.strides[1]), writeable=False),
        misaligned,
        uneven,
        lambda x: x.astype(">f8"),
        lambda x: np.pad(x, ((0, 0), (2, 3)))[:, 2:-3],
    ],
)
@WIDTHS
def test_arrays_of_any_layout_are_read(change, lanes):
    q, u = numbers(11, 3), numbers(11, 2, seed=1)
    program = native(blending(), lanes=lanes)
    x = change(q)
    check(program, x, u[: len(x)])
    y = change(u)
    check(program, q[: len(y)], y)


def test_read_only_arrays_are_read():
    q, u = numbers(6, 3), numbers(6, 2)
    q.flags.writeable = u.flags.writeable = False
    check(PROGRAM, q, u)


def test_what_is_broadcast_is_not_copied(monkeypatch):
    seen, real = [], module.as_rows
    monkeypatch.setattr(module, "as_rows", lambda *args: seen.append((args[0], real(*args))) or seen[-1][1])
    q, u = np.broadcast_to(numbers(3), (10**7, 3))[:9], numbers(9, 2)
    check(PROGRAM, q, u)
    assert len(seen) == 2 and all(x is y for x, y in seen)


def test_single_precision_stays_single():
    q, u = numbers(9, 3).astype(np.float32), numbers(9, 2).astype(np.float32)
    check(PROGRAM, q, u, np.float32)
    check(PROGRAM, q[0], u[0], np.float32)
    check(PROGRAM, q, u.astype(np.float64))


# Arrays for results.


def rooms(batch):
    return {"v": np.full((*batch, 3), -1.0), "m": np.full((*batch, 3, 2), -1.0), "s": np.full(batch, -1.0)}


def holds(out, q, u):
    return all(np.allclose(out[n], x, rtol=1e-14, atol=1e-14) for n, x in blended(q, u).items())


@pytest.mark.parametrize("batch", [(), (1,), (7,), (3, 5), (0,)])
def test_results_are_written_where_they_should(batch):
    q, u, out = numbers(*batch, 3), numbers(*batch, 2), rooms(batch)
    found = PROGRAM({"q": q, "u": u}, out)
    assert all(found[n] is out[n] for n in out) and holds(out, q, u)


@pytest.mark.parametrize("step", [2, -1, -3])
def test_results_may_be_far_apart_or_backwards(step):
    q, u, size = numbers(5, 3), numbers(5, 2), 5 * abs(step)
    whole = rooms((size,))
    out = {n: x[::step] for n, x in whole.items()}
    PROGRAM({"q": q, "u": u}, out)
    assert holds(out, q, u)
    for n, x in out.items():
        x[...] = -1
        assert (whole[n] == -1).all(), "what lies between is not touched"


def test_results_may_be_columns_of_a_wider_array():
    q, u, wide = numbers(6, 3), numbers(6, 2), np.full((6, 10), -1.0)
    out = {"v": wide[:, 1:4], "m": wide[:, 4:].reshape(6, 3, 2).copy(order="F"), "s": wide[:, 0]}
    PROGRAM({"q": q, "u": u}, out)
    assert holds(out, q, u) and (wide[:, 4:] == -1).all()


@pytest.mark.parametrize("make", [np.asfortranarray, misaligned, uneven])
def test_results_of_any_layout_are_written(make):
    q, u = numbers(6, 3), numbers(6, 2)
    out = {n: make(x) for n, x in rooms((6,)).items()}
    PROGRAM({"q": q, "u": u}, out)
    assert holds(out, q, u)


@pytest.mark.parametrize("shift", [0, 1, 2, 5])
@pytest.mark.parametrize("count", [1, 3, 4, 9, 10])
def test_results_may_overlap_what_is_read(count, shift):
    room, u = numbers(count + 5, 3), numbers(count, 2)
    q = room[shift : shift + count]
    wanted = q.copy()
    out = {**rooms((count,)), "v": room[:count]}
    PROGRAM({"q": q, "u": u}, out)
    assert np.array_equal(out["v"], PROGRAM({"q": wanted, "u": u})["v"])


def test_results_broadcast_from_both_sides_are_written():
    q, u, out = numbers(3, 1, 3), numbers(5, 2), rooms((3, 5))
    out = {n: np.asfortranarray(x) for n, x in out.items()}
    PROGRAM({"q": q, "u": u}, out)
    assert holds(out, q, u)


# Through the verbs.


@pytest.mark.parametrize("dtype", [">f8", "<f8", np.float32, ">f4", np.float16, np.longdouble])
def test_the_verbs_take_every_kind_of_float(dtype):
    robot = robots.double_pendulum()
    s = random_state(robot, 1, 6)
    arrays = [np.asarray(x, dtype) for x in (s.q, s.qd, s.tau)]
    found = dynamics.forward_dynamics(robot, *arrays)
    wanted = dynamics.forward_dynamics(robot, *(x.astype(np.float64) for x in arrays))
    single = np.dtype(dtype) == np.float32
    assert found.dtype == (np.float32 if single else np.float64)
    assert np.allclose(found, wanted, rtol=1e-4, atol=1e-4) if single else np.array_equal(found, wanted)
    one = dynamics.forward_dynamics(robot, *(x[2] for x in arrays))
    assert np.array_equal(one, found[2])


@pytest.mark.parametrize(
    "change", [np.asfortranarray, misaligned, uneven, lambda x: x[::-1], lambda x: x[:, ::-1]]
)
def test_the_verbs_take_every_layout(change):
    robot = robots.double_pendulum()
    s = random_state(robot, 1, 6)
    arrays = [change(x) for x in (s.q, s.qd, s.tau)]
    wanted = dynamics.forward_dynamics(robot, *(x.copy(order="C") for x in arrays))
    assert np.array_equal(dynamics.forward_dynamics(robot, *arrays), wanted)


def test_a_verb_may_write_over_its_own_arguments():
    robot = robots.double_pendulum()
    s = random_state(robot, 1, 9)
    wanted = dynamics.forward_dynamics(robot, s.q, s.qd, s.tau)
    tau = s.tau.copy()
    assert dynamics.forward_dynamics(robot, s.q, s.qd, tau, out=tau) is tau
    assert np.array_equal(tau, wanted)
    one = s.tau[0].copy()
    dynamics.forward_dynamics(robot, s.q[0], s.qd[0], one, out=one)
    assert np.array_equal(one, wanted[0])
