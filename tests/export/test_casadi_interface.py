"""CasADi's interface in C, called as CasADi calls it, and loaded by CasADi where it is installed."""

from __future__ import annotations

import ctypes
import subprocess

import numpy as np
import pytest

import hinge
from hinge.errors import ArgumentError
from hinge.export import c
from tests.export.test_c import COMPILERS, FLAGS, needs_a_compiler
from tests.tiers import daily

Pointers = ctypes.POINTER(ctypes.c_double)
Index = ctypes.c_longlong


def shared(library, folder):
    """Compile a library with CasADi's interface, and return its path."""
    library.write(folder)
    p = library.prefix
    path = folder / f"{p}.so"
    subprocess.run(
        [COMPILERS[0], *FLAGS, "-fPIC", "-shared", f"{p}.c", f"{p}_casadi.c", "-lm", "-o", path],
        cwd=folder, check=True, timeout=300,
    )  # fmt: skip
    return path


class Called:
    """A function of the interface, called by hand."""

    def __init__(self, path, name):
        self.lib, self.name = ctypes.CDLL(str(path)), name
        for what in ("name_in", "name_out"):
            getattr(self.lib, f"{name}_{what}").restype = ctypes.c_char_p
        for what in ("sparsity_in", "sparsity_out"):
            getattr(self.lib, f"{name}_{what}").restype = ctypes.POINTER(Index)

    def fact(self, what, *args):
        return getattr(self.lib, f"{self.name}_{what}")(*map(Index, args))

    def names(self, which):
        count = self.fact(f"n_{which}")
        return [self.fact(f"name_{which}", k).decode() for k in range(count)]

    def pattern(self, k):
        """Return shape, and rows and columns of the numbers of a result."""
        s = self.fact("sparsity_out", k)
        n, m = s[0], s[1]
        if s[2] == 1:
            return (n, m), [i for _ in range(m) for i in range(n)], [j for j in range(m) for _ in range(n)]
        starts = s[2 : 3 + m]
        columns = [j for j in range(m) for _ in range(starts[j], starts[j + 1])]
        return (n, m), s[3 + m : 3 + m + starts[m]], columns

    def __call__(self, *args, wanted=None):
        sizes = [Index() for _ in range(4)]
        getattr(self.lib, f"{self.name}_work")(*map(ctypes.byref, sizes))
        count = self.fact("n_out")
        given = [None if x is None else np.ascontiguousarray(x, dtype=float) for x in args]
        patterns = [self.pattern(k) for k in range(count)]
        rooms = [np.full(len(rows) + 1, np.nan) for _, rows, _ in patterns]
        arg = (Pointers * sizes[0].value)(*(x if x is None else x.ctypes.data_as(Pointers) for x in given))
        res = (Pointers * sizes[1].value)(
            *(r.ctypes.data_as(Pointers) if wanted in (None, k) else None for k, r in enumerate(rooms))
        )
        work = (ctypes.c_double * max(1, sizes[3].value))()
        assert getattr(self.lib, self.name)(arg, res, None, work, 0) == 0
        found = []
        for (shape, rows, columns), room in zip(patterns, rooms, strict=True):
            assert np.isnan(room[-1])  # it writes nothing beyond the end
            found.append(np.zeros(shape))
            found[-1][rows, columns] = room[:-1]
        return found


@needs_a_compiler
def test_jacobians_by_numbers_of_the_model(tmp_path):
    robot = hinge.robots.double_pendulum()
    library = c({"energy": "kinetic_energy"}, robot, prefix="arm", casadi=True, parameters=["inertias"])
    jac = Called(shared(library, tmp_path), "jac_arm_energy_casadi")
    q, v = np.random.default_rng(0).standard_normal((2, 2))
    rows = hinge.model.inertial_parameters(robot)
    found = dict(zip(jac.names("out"), jac(q, v, rows.ravel(), np.zeros(1)), strict=True))
    energy = hinge.compile("kinetic_energy", robot, parameters=["inertias"])  # linear in them
    wanted = [energy(q, v, inertias=e.reshape(rows.shape)) for e in np.eye(rows.size)]
    np.testing.assert_allclose(found["jac_kinetic_energy_out_inertias"].ravel(), wanted, atol=1e-13)


ROBOTS = {
    "pendulum": hinge.robots.double_pendulum,
    "panda": hinge.robots.panda,
    "quadruped": hinge.robots.quadruped,
}


@needs_a_compiler
@pytest.mark.parametrize("name", daily(ROBOTS, lambda _, n: n == "pendulum"))
def test_values_and_jacobians(name, tmp_path):
    robot, rng = ROBOTS[name](), np.random.default_rng(0)
    path = shared(c(["forward_dynamics", "mass_matrix"], robot, prefix="arm", casadi=True), tmp_path)
    f, M = Called(path, "arm_forward_dynamics_casadi"), Called(path, "arm_mass_matrix_casadi")
    q, (qd, tau) = hinge.random_configuration(robot, rng), rng.standard_normal((2, robot.nv))
    assert (f.names("in"), f.names("out")) == (["q", "qd", "tau"], ["qdd"])
    assert np.abs(f(q, qd, tau)[0].ravel() / hinge.forward_dynamics(robot, q, qd, tau) - 1).max() < 1e-9
    assert np.abs(M(q)[0] - hinge.mass_matrix(robot, q)).max() < 1e-12
    zero = np.zeros(robot.nv)
    assert np.allclose(f(q, None, tau)[0].ravel(), hinge.forward_dynamics(robot, q, zero, tau), rtol=1e-9)

    jac = Called(path, "jac_arm_forward_dynamics_casadi")
    assert jac.names("in") == ["q", "qd", "tau", "out_qdd"]
    assert jac.names("out") == ["jac_qdd_q", "jac_qdd_qd", "jac_qdd_tau"]
    found, d = jac(q, qd, tau, None), hinge.forward_dynamics_derivatives(robot, q, qd, tau)
    for x, wanted in zip(found, (by_coordinates(robot, q, d.q), d.qd, d.tau), strict=True):
        assert np.abs(x - wanted).max() <= 1e-11 * np.abs(wanted).max()
    only = jac(q, qd, tau, None, wanted=1)
    assert np.array_equal(only[1], found[1]) and np.isnan(only[0]).any()


def by_coordinates(robot, q, columns):
    """Return columns (…, nv) times the left inverse of the rates of q, by least squares."""
    rates = np.zeros((robot.nq, robot.nv))
    for u in hinge.model.units(robot):
        own = [u.type.rate(u.q_of(q), e) for e in np.eye(u.type.nv)]
        rates[np.ix_(u.q, u.qd)] = np.stack(own, axis=-1) if own else 0.0
    return columns @ np.linalg.pinv(rates)


@needs_a_compiler
def test_casadi_loads_it(tmp_path):
    casadi = pytest.importorskip("casadi")
    robot, rng = hinge.robots.double_pendulum(), np.random.default_rng(0)
    step = hinge.sim.step(robot, 1e-3, integrator="semi-implicit")
    what = {"forward_dynamics": "forward_dynamics", "step": step}
    path = shared(c(what, robot, prefix="arm", casadi=True), tmp_path)
    f = casadi.external("arm_forward_dynamics_casadi", str(path))
    q, qd, tau = rng.standard_normal((3, 2))
    wanted = hinge.forward_dynamics_derivatives(robot, q, qd, tau)
    assert np.allclose(np.array(f(q, qd, tau)).ravel(), wanted.qdd, rtol=1e-12)
    x = casadi.MX.sym("x", 2)
    slope = casadi.Function("slope", [x], [casadi.jacobian(f(x, qd, tau), x)])
    assert np.allclose(np.array(slope(q)), wanted.q, rtol=1e-11)
    go = casadi.external("arm_step_casadi", str(path))
    assert np.allclose(np.array(go(q, qd, tau)[1]).ravel(), step(q, qd, tau=tau)[1], rtol=1e-13)


def test_single_precision_is_refused():
    with pytest.raises(ArgumentError, match="casadi: expected double precision"):
        c("mass_matrix", hinge.robots.double_pendulum(), single=True, casadi=True)
