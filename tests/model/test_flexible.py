"""Flexible bodies as values: condensing, frames, references, beams, what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hinge.errors import ArgumentError, ModelError
from hinge.model import Attachment, Builder, Flexible, beam, check, digest, lock, reduce, reroot
from hinge.model.joints import Fixed, Free, Revolute
from hinge.robots.random_trees import random_flexible
from hinge.spatial import Inertia, Transform, rotation
from tests.dynamics.sweep_flexible import arm, spacecraft
from tests.folding import folded

#: Clamped and free: β² of cos β cosh β = −1.
CANTILEVER = [3.51601527, 22.03449156, 61.69721441, 120.90191605]


def points(rng, k, n, *, second=False):
    """Return random masses, positions, shapes and a quadratic field."""
    field = rng.normal(size=(k, 3, n, n)) if second else None
    return (
        rng.uniform(0.1, 1.0, k),
        rng.normal(size=(k, 3)),
        rng.normal(size=(k, 3, n)),
        None if field is None else field + np.swapaxes(field, -1, -2),
    )


def moments(m, x, shapes, second):
    """Return J = Σ m ξ ξᵀ."""
    parts = [np.ones((len(m), 1)), x, shapes.reshape(len(m), -1)]
    parts += [] if second is None else [second.reshape(len(m), -1)]
    xi = np.concatenate(parts, axis=1)
    return xi.T @ (m[:, None] * xi)


def own(f):
    return f.masses, f.positions, f.shapes, f.second


@folded(n=(1, 2, 3), second=(False, True))
def test_condensing_keeps_the_moments(n, second):
    given = points(np.random.default_rng(n), 1000, n, second=second)
    f = Flexible(*given[:3], np.eye(n), second=given[3])
    assert len(f.masses) == 4 + 3 * n + (3 * n * (n + 1) // 2 if second else 0)
    assert np.ptp(f.masses) == 0
    wanted = moments(*given)
    assert_allclose(moments(*own(f)), wanted, atol=1e-12 * np.abs(wanted).max())
    if not second:  # of a quadratic field the rows have the upper triangle alone
        assert_allclose(f.triangular.T @ f.triangular, wanted, atol=1e-12 * np.abs(wanted).max())


@folded(seed=range(4))
def test_condensing_again_changes_nothing(seed):
    f = random_flexible(np.random.default_rng(seed))
    assert digest(replace(f)) == digest(f)


@folded(second=(False, True))
def test_inertia_and_positivity_are_those_of_all_points(second):
    rng = np.random.default_rng(3)
    m, x, shapes, field = points(rng, 60, 3, second=second)
    f = Flexible(m, x, shapes, np.eye(3), second=field)
    for size in (0.1, 1.0, 10.0):
        eta = size * rng.normal(size=3)
        s = x + shapes @ eta + (0 if field is None else 0.5 * (field @ eta) @ eta)
        slopes = shapes + (0 if field is None else field @ eta)
        g = np.concatenate([np.zeros((60, 3, 3)), np.broadcast_to(np.eye(3), (60, 3, 3)), slopes], axis=-1)
        g[:, :, :3] = [np.array([[0, p[2], -p[1]], [-p[2], 0, p[0]], [p[1], -p[0], 0]]) for p in s]
        wanted = np.einsum("p,pai,paj->ij", m, g, g)
        found = f.mass_matrix(eta)
        assert_allclose(found, wanted, atol=1e-12 * np.abs(wanted).max())
        assert np.linalg.eigvalsh(found)[0] > -1e-12 * np.abs(found).max()
        rigid = f.inertia(eta)
        assert_allclose(rigid.matrix(), wanted[:6, :6], atol=1e-11 * np.abs(wanted).max())


def test_frames_and_references_commute_with_condensing():
    rng = np.random.default_rng(5)
    m, x, shapes, _ = points(rng, 40, 2)
    place = Transform.place(rotation.from_rpy((0.3, -0.4, 0.5)), (0.1, 0.2, 0.3))
    end = Attachment("end", Transform.place(None, (0.5, 0.1, 0)), rng.normal(size=(6, 2)))
    f = Flexible(m, x, shapes, np.eye(2), frames=(end,))
    turned = Flexible(m, (x - place.r) @ place.E.T, np.einsum("ab,pbj->paj", place.E, shapes), np.eye(2))
    there = f.in_frame(place)
    assert_allclose(moments(*own(there)), moments(*own(turned)), atol=1e-12)
    held = f.at("end")
    assert_allclose(held.frame("end").shapes, 0, atol=1e-15)
    turn, shift = end.shapes[:3], end.shapes[3:]
    arms = [np.cross(p - end.placement.r, turn, axisa=0, axisb=0, axisc=0) for p in x]
    raw = Flexible(m, x, shapes - shift + np.array(arms), np.eye(2))
    assert_allclose(moments(*own(held)), moments(*own(raw)), atol=1e-12)


def test_nodes_with_rotary_inertia_have_the_energy_of_rigid_bodies():
    rng = np.random.default_rng(7)
    m, x, shapes, _ = points(rng, 5, 2)
    turns = rng.normal(size=(5, 3, 2))
    boxes = [np.diag(b) + 0.02 * np.eye(3) for b in rng.uniform(0.05, 0.1, (5, 3))]
    f = Flexible.from_nodes(m, x, shapes, np.eye(2), rotations=turns, inertias=boxes, frames={"end": 4})
    modal = np.einsum("p,paj,pak->jk", m, shapes, shapes) + np.einsum("paj,pab,pbk->jk", turns, boxes, turns)
    assert_allclose(f.mass_matrix(np.zeros(2))[6:, 6:], modal, rtol=1e-12)
    assert_allclose(f.frame("end").shapes, np.concatenate([turns[4], shapes[4]]))
    consistent = Flexible.from_nodes(np.diag(m), x, shapes, np.eye(2))
    assert_allclose(moments(*own(consistent)), moments(m, x, shapes, None), atol=1e-12)


def test_a_beam_has_the_frequencies_of_a_cantilever():
    f = beam(1.0, mass_per_length=1.0, bending=(1.0, None), modes=4)
    assert_allclose(f.frequencies(), CANTILEVER, atol=1e-8)
    assert (len(beam(1.0, mass_per_length=1.0, bending=(1.0, None)).masses)) == 7
    linear = beam(1.0, mass_per_length=1.0, bending=(1.0, None), stiffening=False)
    assert len(linear.masses) == 4 and f.second is not None and linear.second is None
    other = beam(2.0, mass_per_length=3.0, bending=5.0, modes={"z": 2, "y": 1})
    assert_allclose(other.frequencies()[0], CANTILEVER[0] * np.sqrt(5 / 3 / 2**4), rtol=1e-9)


def test_torsion_and_extension_are_those_of_rods():
    f = beam(
        2.0,
        mass_per_length=3.0,
        bending=None,
        torsion=7.0,
        axial=11.0,
        polar=0.5,
        modes={"torsion": 1, "axial": 1},
    )
    wanted = np.array([np.sqrt(11 / 3), np.sqrt(7 / 0.5)]) * np.pi / 4
    assert_allclose(f.frequencies(), np.sort(wanted), rtol=1e-9)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"masses": [-1.0, 2.0]}, "masses: expected numbers ≥ 0"),
        ({"masses": [0.0, 0.0]}, "not all zero"),
        ({"shapes": np.zeros((2, 3, 2))}, "independent shapes"),
        ({"shapes": np.ones((2, 3, 2))}, "independent shapes"),
        ({"shapes": np.ones((2, 3))}, "shapes: expected shape"),
        ({"shapes": np.full((2, 3, 2), np.nan)}, "finite"),
        ({"stiffness": [[1.0, 0.0], [0.5, 1.0]]}, "stiffness: expected a symmetric matrix"),
        ({"stiffness": np.diag([1.0, -2.0])}, "stiffness: expected no negative eigenvalues, got -2"),
        ({"damping": np.diag([1.0, -2.0])}, "damping: expected no negative eigenvalues"),
        ({"second": np.arange(24.0).reshape(2, 3, 2, 2)}, "symmetric in its last two axes"),
        ({"limit": np.ones(3)}, "limit: expected shape"),
        (
            {"frames": (Attachment("a", Transform.identity(), np.zeros((6, 3))),)},
            "a column for each of 2 modes",
        ),
    ],
)
def test_what_is_no_flexible_body_is_refused(change, words):
    shapes = np.random.default_rng(0).normal(size=(2, 3, 2))
    given = {"masses": [1.0, 2.0], "positions": np.eye(3)[:2], "shapes": shapes, "stiffness": np.eye(2)}
    with pytest.raises(ModelError, match=words):
        Flexible(**{**given, **change})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"length": -1.0}, "length: expected a number > 0"),
        ({"bending": (1.0, None), "modes": {"z": 1}}, "modes: expected kinds whose stiffness is given"),
        ({"modes": 0}, "modes: expected from 1 to 20"),
        ({"ends": "loose"}, "ends: expected"),
        ({"torsion": 1.0}, "polar: expected"),
        ({"bending": None}, "a rigid body needs no beam"),
        ({"damping": -1.0}, "damping: expected a modal ratio"),
        ({"stations": {"far": 3.0}}, "stations"),
    ],
)
def test_what_is_no_beam_is_refused(change, words):
    given = {"length": 1.0, "mass_per_length": 1.0, "bending": 1.0}
    with pytest.raises(ArgumentError, match=words):
        beam(**{**given, **change})


def test_a_static_shape_short_is_refused():
    with pytest.raises(ModelError, match="at least 2"):
        beam(1.0, mass_per_length=1.0, bending=1.0, modes=1, ends="craig-bampton")


# In a tree.


def test_names_and_slices_are_as_promised():
    robot = arm()
    assert [j.name for j in robot.joints[:3]] == ["upper_joint", "upper_modes", "upper_tip_flexure"]
    assert robot.joint("upper_modes").q_slice == robot.joint("upper_tip_flexure").q_slice == slice(1, 3)
    assert robot.nq == robot.nv == 6 and robot.mass == pytest.approx(0.2 + 0.5 + 0.2 + 0.5 + 0.3)
    assert not check(robot)
    assert_allclose(robot.upper[1:3], robot.body("upper_flexible").flexible.limit)


def test_shapes_that_move_the_joint_are_refused_unless_it_is_free():
    f = beam(
        1.0, mass_per_length=1.0, bending=1.0, ends="free-free", stations={"root": 0.0}, stiffening=False
    )
    b = Builder("b")
    with pytest.raises(ModelError, match=r"take flexible.at\('root'\)"):
        b.body("beam", joint=Revolute((0, 0, 1)), flexible=f)
    b = Builder("b")
    b.body("beam", joint=Revolute((0, 0, 1)), flexible=f.at("root"))
    assert b.build(strict=None).nv == 5
    b = Builder("b")
    b.body("beam", joint=Free(), flexible=f)
    assert b.build(strict=None).nv == 10


def test_nothing_hangs_on_the_flexible_part_itself():
    b = Builder("b")
    b.body("beam", flexible=beam(1.0, mass_per_length=1.0, bending=1.0))
    b.body("load", parent="beam_flexible", inertia=Inertia.from_com(1.0, (0, 0, 0), np.eye(3)))
    with pytest.raises(ModelError, match="nothing hangs on the flexible body"):
        b.build()
    b = Builder("b")
    b.body("beam", flexible=beam(1.0, mass_per_length=1.0, bending=1.0))
    b.frame("mark", "beam_flexible")
    with pytest.raises(ModelError, match="expected one of its attachments"):
        b.build()


def test_locked_modes_leave_a_rigid_body_bent_as_it_is():
    robot = arm()
    eta = np.array([0.05, -0.02])
    rigid = lock(robot, {"upper_modes": eta, "lower_modes": 0 * eta})
    assert not rigid.is_flexible and rigid.nv == 2 and rigid.mass == pytest.approx(robot.mass)
    f = robot.body("upper_flexible").flexible
    assert_allclose(rigid.body("upper_flexible").inertia.matrix(), f.inertia(eta).matrix())
    assert rigid.joint("upper_tip_flexure").type == Fixed()
    tip = f.frame("tip")
    bent = tip.shapes[3:] @ eta + 0.5 * (tip.second @ eta) @ eta
    assert_allclose(rigid.joint("upper_tip_flexure").inner.position, np.array([1, 0, 0]) + bent)
    with pytest.raises(ModelError, match="lock the modes of that body, 'upper_modes'"):
        lock(robot, {"upper_tip_flexure": eta})


def test_a_flexible_body_is_not_turned_round_nor_cut():
    robot = spacecraft()
    with pytest.raises(ModelError, match="lock its modes first"):
        reroot(robot, "right_tip")
    assert reduce(robot).nv == robot.nv and reduce(robot).mass == pytest.approx(robot.mass)
