"""The quick way into verbs gives what the slow way gives, to the last bit."""

from __future__ import annotations

import sys
import threading

import numpy as np
import pytest

import hinge
from hinge import robots
from hinge.dynamics import cached, compiled
from hinge.errors import ArgumentError, UnknownNameError
from hinge.targets import has_llvm
from hinge.targets.llvm.host import this_host
from hinge.targets.llvm.threads import set_threads

pytestmark = pytest.mark.skipif(not has_llvm(), reason="no llvmlite")

PLAIN = {
    "inverse_dynamics": ("q", "v", "v"),
    "forward_dynamics": ("q", "v", "v"),
    "bias_force": ("q", "v"),
    "gravity_force": ("q",),
    "coriolis_force": ("q", "v"),
    "mass_matrix": ("q",),
    "mass_matrix_inverse": ("q",),
    "kinetic_energy": ("q", "v"),
    "momentum": ("q", "v"),
}
FRAMED = {
    "velocities": ("q", "v"),
    "accelerations": ("q", "v", "v"),
    "classical_accelerations": ("q", "v", "v"),
    "jacobian": ("q",),
    "jacobian_bias": ("q", "v"),
    "classical_jacobian_bias": ("q", "v"),
}
ROBOTS = {"panda": robots.panda(), "tree": robots.random_tree(6, 1)}
WIDTH = this_host().lanes("float64")
SIZES = [0, 1, 2, 3, WIDTH - 1, WIDTH, WIDTH + 1, 1000]


def states(robot, takes, *batch, seed=1):
    rng = np.random.default_rng(seed)
    sizes = {"q": robot.nq, "v": robot.nv}
    return [rng.standard_normal((*batch, sizes[t])) for t in takes]


def slow(robot, verb, arrays, nodes=(), expressed="body"):
    """Return what the verb gives without the native way in; a single frame's dimension is kept."""
    return compiled(robot, verb, nodes, expressed).at(*arrays)


def same(found, wanted):
    return (
        found.shape == wanted.shape
        and found.dtype == wanted.dtype
        and np.array_equal(found, wanted, equal_nan=True)
    )


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("verb", PLAIN)
def test_verbs(verb, name):
    robot, f = ROBOTS[name], getattr(hinge, verb)
    for batch in [(), *((n,) for n in SIZES), (2, 3)]:
        arrays = states(robot, PLAIN[verb], *batch)
        for _ in range(2):  # the second call finds everything compiled
            assert same(f(robot, *arrays), slow(robot, verb, arrays)), batch


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("verb", FRAMED)
def test_verbs_with_a_frame(verb, name):
    robot, f = ROBOTS[name], getattr(hinge, verb)
    tip = robot.bodies[-1].name
    axes = ("body", "world-aligned") if verb.startswith("classical") else ("body", "world", "world-aligned")
    for batch in [(), *((n,) for n in SIZES), (2, 3)]:
        arrays = states(robot, FRAMED[verb], *batch)
        for expressed in axes:
            wanted = slow(robot, verb, arrays, (tip,), expressed)
            wanted = wanted if verb == "jacobian" else wanted[..., 0, :]
            for frame in (tip, "".join(list(tip)), np.str_(tip)):
                assert same(f(robot, *arrays, frame, expressed=expressed), wanted)
                assert same(f(robot, *arrays, frame=frame, expressed=expressed), wanted)
            if expressed == "body":
                assert same(f(robot, *arrays, tip), wanted)


@pytest.mark.parametrize("verb", ["velocities", "accelerations", "classical_accelerations"])
def test_verbs_with_all_bodies_or_some(verb):
    robot, f = ROBOTS["panda"], getattr(hinge, verb)
    names = [b.name for b in robot.bodies]
    for batch in ((), (3,), (9,)):
        arrays = states(robot, FRAMED[verb], *batch)
        wanted = slow(robot, verb, arrays, names)
        assert all(
            same(f(robot, *arrays, *more), wanted) for more in ((), (None,), (names,), (tuple(names),))
        )
        assert same(f(robot, *arrays, names[2:3]), wanted[..., 2:3, :])


def test_a_list_of_names_that_changes_is_read_again():
    robot, names = ROBOTS["panda"], [ROBOTS["panda"].bodies[3].name]
    q, v = states(robot, ("q", "v"))
    first = hinge.velocities(robot, q, v, names)
    names[0] = robot.bodies[5].name
    assert not same(hinge.velocities(robot, q, v, names), first)


def test_every_form_of_a_call_gives_the_same():
    robot, tip = ROBOTS["panda"], ROBOTS["panda"].bodies[-1].name
    q, v, tau = states(robot, ("q", "v", "v"))
    plain, own = hinge.forward_dynamics, hinge.dynamics.expression("forward_dynamics", passive=True)
    for passive, wanted in (
        (False, slow(robot, "forward_dynamics", (q, v, tau))),
        (True, slow(robot, own, (q, v, tau))),
    ):
        for _ in range(2):
            for flag in (passive, np.bool_(passive)):
                assert same(plain(robot, q, v, tau, passive=flag), wanted)
                assert same(plain(robot, q, v, tau=tau, passive=flag, external=None), wanted)
                assert same(plain(passive=flag, tau=tau, qd=v, q=q, robot=robot), wanted)
            for odd in (int(passive), float(passive), None, [passive]):
                with pytest.raises(ArgumentError, match="passive: "):
                    plain(robot, q, v, tau, passive=odd)
    wanted = slow(robot, "velocities", (q, v), (tip,), "world")
    for _ in range(2):
        assert same(hinge.velocities(robot, q, v, [tip], expressed="world"), wanted)
        assert same(hinge.velocities(expressed="world", frame=(tip,), qd=v, q=q, robot=robot), wanted)


def test_a_wrong_call_is_refused_whatever_came_before():
    robot = ROBOTS["panda"]
    q, v, tau = states(robot, ("q", "v", "v"))
    for _ in range(2):
        hinge.forward_dynamics(robot, q, v, tau=tau)
        for args, kwargs in (
            ((robot, q, v), {}),
            ((robot, q, v, tau, tau), {}),
            ((robot, q, v, tau), {"tau": tau}),
            ((robot, q, v), {"torque": tau}),
            ((robot, q, v, tau), {"frame": "base"}),
        ):
            with pytest.raises(TypeError, match="forward_dynamics"):
                hinge.forward_dynamics(*args, **kwargs)


def test_calls_ask_for_the_target_again_when_told_to(monkeypatch):
    hinge.dynamics.forget()
    robot = robots.chain(3)
    q, v = states(robot, ("q", "v"))
    names = [robot.bodies[0].name, robot.bodies[-1].name]
    found = [hinge.velocities(robot, q, v, names) for _ in range(2)]
    monkeypatch.setenv("HINGE_TARGET", "numpy")
    hinge.dynamics.forget(programs=False)
    before = len(cached.PROGRAMS)
    np.testing.assert_allclose(hinge.velocities(robot, q, v, names), found[0], atol=1e-12)
    assert len(cached.PROGRAMS) == before + 1
    monkeypatch.undo()
    hinge.dynamics.forget(programs=False)


def test_frames_that_are_none_are_named():
    robot = ROBOTS["panda"]
    (q,) = states(robot, "q")
    for _ in range(2):
        hinge.jacobian(robot, q, robot.bodies[-1].name)
        with pytest.raises(UnknownNameError):
            hinge.jacobian(robot, q, "nowhere")
        for frame in (3, b"panda_link7", [3], object(), q):
            with pytest.raises(ArgumentError, match="frame: "):
                hinge.jacobian(robot, q, frame)
        for axes in (None, 3, ["body"], object()):
            with pytest.raises(ArgumentError, match="expressed: "):
                hinge.jacobian(robot, q, robot.bodies[-1].name, expressed=axes)


def test_two_robots_with_frames_of_the_same_name():
    arm = robots.panda()
    other = hinge.lock(arm, {arm.joints[3].name: -1.0})
    for robot in (arm, other, arm):
        (q,) = states(robot, "q")
        assert hinge.jacobian(robot, q, arm.bodies[-1].name).shape == (6, robot.nv)


@pytest.mark.parametrize("count", [3, 9])
def test_arrays_of_every_kind(count):
    robot = ROBOTS["panda"]
    q, v, tau = states(robot, ("q", "v", "v"), count)
    wanted = hinge.forward_dynamics(robot, q, v, tau)
    fixed = q.copy()
    fixed.flags.writeable = False
    for x in (fixed, np.asfortranarray(q), np.repeat(q, 2, axis=1)[:, ::2], np.ma.array(q), q.tolist()):
        assert same(np.asarray(hinge.forward_dynamics(robot, x, v, tau)), wanted)
    out = np.empty_like(wanted)
    assert hinge.forward_dynamics(robot, q, v, tau, out=out) is out and same(out, wanted)
    assert same(hinge.forward_dynamics(robot, q, v[0], tau), slow(robot, "forward_dynamics", (q, v[0], tau)))
    assert same(hinge.forward_dynamics(robot, q, v[:1], tau), slow(robot, "forward_dynamics", (q, v[0], tau)))
    single = [x.astype("f4") for x in (q, v, tau)]
    assert hinge.forward_dynamics(robot, *single).dtype == np.float32
    for bad in (v[:, :-1], v[:2], v.astype(bool), np.zeros((count, 7, 7))):
        with pytest.raises(ArgumentError):
            hinge.forward_dynamics(robot, q, bad, tau)


def test_code_is_made_for_what_comes():
    for first, second in (((3,), (20,)), ((20,), ())):
        robot = robots.chain(4)
        f = compiled(robot, "forward_dynamics").program()
        made = set()
        for batch in (first, second):
            made.add(WIDTH if batch == (20,) else 1)
            for _ in range(2):
                hinge.forward_dynamics(robot, *states(robot, ("q", "v", "v"), *batch))
                assert {width for _, width in f._pieces} >= made
            if f._pieces and not any(p.from_cache for p in f._pieces.values()):
                assert {width for _, width in f._pieces} == made


def test_large_batches_are_the_same_with_any_number_of_threads():
    robot = ROBOTS["panda"]
    arrays = states(robot, ("q", "v", "v"), 3001)
    found = []
    try:
        for n in (1, 2, None):
            set_threads(n)
            found.append(hinge.forward_dynamics(robot, *arrays))
    finally:
        set_threads(None)
    assert same(found[0], found[1]) and same(found[0], found[2])


def test_references_are_given_back():
    robot, tip = ROBOTS["panda"], ROBOTS["panda"].bodies[-1].name
    q, v, tau = states(robot, ("q", "v", "v"), 100)
    things = (robot, tip, q, v, tau, v[0])

    def call():
        hinge.forward_dynamics(robot, q, v, tau)
        hinge.forward_dynamics(robot, q, things[5], tau)
        hinge.jacobian(robot, q, tip, expressed="world")
        hinge.velocities(robot, q, v, frame=tip)

    call()
    before = [sys.getrefcount(x) for x in things]
    for _ in range(1000):
        call()
    assert [sys.getrefcount(x) for x in things] == before


def test_threads_call_together():
    robot, wrong = ROBOTS["tree"], []
    names = [b.name for b in robot.bodies]

    def work(k):
        q, v = states(robot, ("q", "v"), 60, seed=k)
        frame = names[k]
        wanted = [hinge.jacobian(robot, q, frame), hinge.coriolis_force(robot, q, v)]
        for _ in range(200):
            found = [hinge.jacobian(robot, q, frame), hinge.coriolis_force(robot, q, v)]
            rows = np.stack([hinge.jacobian(robot, x, frame=frame) for x in q[:5]])
            wrong.extend(k for x, y in zip(found, wanted, strict=True) if not same(x, y))
            wrong.extend([k] if not same(rows, wanted[0][:5]) else [])

    callers = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for c in callers:
        c.start()
    for c in callers:
        c.join()
    assert wrong == []


def test_forces_on_nodes_keep_their_shape():
    from hinge.algebra import B, H, f_ext, phi

    robot = ROBOTS["panda"]
    f = hinge.compile(H @ phi @ B @ f_ext, robot, nodes=[robot.bodies[-1].name])
    q, push = states(robot, "q", 3)[0], np.ones((3, 1, 6))
    rows = f(q, f_ext=push)
    assert rows.shape == (3, robot.nv) and same(f(q[0], f_ext=push[0]), rows[0])
    for bad in (np.ones(6), np.ones((3, 6))):
        with pytest.raises(ArgumentError, match="f_ext"):
            f(q, f_ext=bad)
    with pytest.raises(ArgumentError, match="f_ext"):
        f(q[0], f_ext=np.ones(6))
