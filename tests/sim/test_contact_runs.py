"""Runs that step over contacts: forces at the last time, on disk, and runs that go on."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import hinge
from hinge.errors import FormatError
from hinge.sim import Interrupted, load_run, resume, save_run, to_xarray

START = np.array([[1.0, 0, 0, 0, 0, 0, 0.11], [1.0, 0, 0, 0, 0, 0, 0.10], [1.0, 0, 0, 0, 0, 0, 0.15]])


def ball() -> hinge.Robot:
    b = hinge.Builder("ball")
    sphere = hinge.Inertia.from_com(1.0, (0, 0, 0), 0.004 * np.eye(3))
    b.body("ball", joint=hinge.model.joints.Free(), inertia=sphere)
    return hinge.on_ground(b.build(), "ball", radius=0.1, friction=0.3)


def bouncing(t: float = 0.25, **more) -> hinge.sim.Run:
    qd = np.array([0, 0, 0, 0.5, 0, 0])
    given = {"contact_friction": 0.2, "restitution": [[0.5], [0.0], [0.3]]}
    return hinge.simulate(
        ball(), START, qd, t=t, dt=1e-3, integrator="stepping", **{"parameters": given, **more}
    )


@pytest.fixture(scope="module")
def run():
    return bouncing()


def test_the_last_forces_are_recorded_too(run):
    few = bouncing(record=100)
    assert_array_equal(few.t, run.t[[0, 100, 200, 250]])
    assert_array_equal(few.contacts.forces, run.contacts.forces[:, [0, 100, 200, 250]])
    assert_array_equal(few.contacts.residual, run.contacts.residual[:, [0, 100, 200, 250]])
    assert (few.contacts.forces[:, -1, 0, 0] > 0).all()


def test_an_interrupted_run_has_its_last_forces(run):
    def stop(done, _):
        if done == 30:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as found:
        bouncing(record=100, control=lambda t, q, qd: 0 * qd, progress=stop)
    contacts = found.value.run.contacts
    assert contacts is not None and found.value.run.t[-1] == pytest.approx(0.03)
    assert_array_equal(contacts.forces[:, -1], run.contacts.forces[:, 30])


def test_forces_end_with_their_state():
    start = START.copy()
    start[1, 6] = np.nan
    found = hinge.simulate(ball(), start, t=0.01, dt=1e-3, integrator="stepping")
    assert np.isnan(found.contacts.forces[1, 1:]).all() and np.isfinite(found.contacts.forces[[0, 2]]).all()


@pytest.mark.parametrize("suffix", ["npz", "parquet"])
def test_contacts_come_back(run, suffix, tmp_path):
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    found = load_run(save_run(run, tmp_path / f"a.{suffix}"))
    assert_array_equal(found.contacts.forces, run.contacts.forces)
    assert_array_equal(found.contacts.residual, run.contacts.residual)
    assert [c.name for c in found.robot.contacts] == ["ball"]
    for name, x in run.settings["parameters"].items():
        assert_array_equal(found.settings["parameters"][name], x)


def test_a_run_without_contacts_has_none_on_disk(tmp_path):
    falling = hinge.simulate(ball(), START[0], t=0.01)
    assert load_run(save_run(falling, tmp_path / "a.npz")).contacts is None


def test_a_file_that_lacks_its_forces_is_refused(run, tmp_path):
    path = save_run(run, tmp_path / "a.npz")
    with np.load(path) as arrays:
        kept = {name: arrays[name] for name in arrays if name != "forces"}
    np.savez(path, **kept)
    with pytest.raises(FormatError, match="it has no 'forces'"):
        load_run(path)


def test_a_run_goes_on_over_contacts(run, tmp_path):
    half = load_run(save_run(bouncing(t=0.1), tmp_path / "half.npz"))
    joined = resume(half, t=0.15)
    np.testing.assert_allclose(joined.q, run.q, atol=1e-12)
    np.testing.assert_allclose(joined.contacts.forces, run.contacts.forces, atol=1e-8)
    assert joined.contacts.residual.shape == (3, 251)


def test_a_dataset_has_names_of_contacts(run):
    pytest.importorskip("xarray")
    found = to_xarray(run)
    assert found.contact_forces.dims == ("state", "time", "contact", "axis")
    assert list(found.contact.values) == ["ball"]
    assert_array_equal(found.contact_residual, run.contacts.residual)


def test_a_ball_that_rolls_keeps_its_energy():
    """Its velocity along axes that turn must keep its length, however fast these turn."""
    qd = np.array([[0, 10.0, 0, 1.0, 0, 0], [0, 60.0, 0, 6.0, 0, 0]])
    rolled = hinge.simulate(ball(), START[1], qd, t=0.5, dt=1e-3, integrator="stepping", record=100)
    np.testing.assert_allclose(rolled.kinetic_energy, rolled.kinetic_energy[:, :1] + np.zeros(6), rtol=1e-13)
    np.testing.assert_allclose(rolled.q[:, -1, 4], [0.5, 3.0], rtol=1e-13)


@pytest.mark.parametrize("kind", [hinge.model.joints.Free(), hinge.model.joints.Planar((0, 1, 0))])
def test_velocities_turn_back_as_axes_turn(kind):
    rng, h = np.random.default_rng(0), 0.3
    q, v = kind.random(rng, (), *kind.limits()), rng.standard_normal(kind.nv)
    after = kind.normalized(q + h * kind.rate(q, v))
    turn = kind.placement(after).rotation.T @ kind.placement(q).rotation
    s = kind.subspace(q)
    np.testing.assert_allclose((s @ kind.turned_velocity(v, h * v))[3:], turn @ (s @ v)[3:], atol=1e-12)
    small = 1e-6
    np.testing.assert_allclose((v - kind.turned_velocity(v, small * v)) / small, kind.turning(v), atol=1e-5)
