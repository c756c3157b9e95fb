"""Functions of PyTorch are the native target's, their gradients `vjp`'s and `gradcheck`'s."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import hinge
import hinge.torch as homes
from hinge.algebra import H, M, phi, qd
from hinge.errors import ArgumentError, MissingExtraError
from tests.dynamics.sweep_flexible import arm
from tests.dynamics.zoo import REAL
from tests.sweeps.models import every_joint_type, without_rolling
from tests.tiers import daily

torch = pytest.importorskip("torch")

#: PyTorch warns of what it loads itself for forward mode.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")

ROBOTS = {
    "pendulum": hinge.robots.double_pendulum,
    "panda": hinge.robots.panda,
    "quadruped": hinge.robots.quadruped,
    **{name: REAL[name] for name in ("solo12", "talos") if name in REAL},
    "every joint": lambda: every_joint_type(0).robot,
    "no rolling": without_rolling,
    "four-bar": hinge.robots.four_bar,
    "stewart": hinge.robots.stewart_platform,
    "two arms": hinge.robots.two_pandas_with_plate,
    "delta": hinge.robots.delta,
}
some = pytest.mark.parametrize("name", daily(ROBOTS, lambda _, n: n in ("pendulum", "four-bar")))


def state(robot, seed=0, size=()):
    rng = np.random.default_rng(seed)
    q = hinge.random_configuration(robot, rng, size=size)
    if robot.closures:
        q = np.stack([hinge.assemble(robot, x).q for x in q.reshape(-1, robot.nq)]).reshape(q.shape)
    return q, *rng.standard_normal((2, *size, robot.nv))


def tensors(*arrays, grad=False, dtype=None):
    return [torch.tensor(x, dtype=dtype).requires_grad_(grad) for x in arrays]


def near(found, wanted, bound=1e-12):
    found, wanted = (
        x.detach().numpy() if isinstance(x, torch.Tensor) else np.asarray(x) for x in (found, wanted)
    )
    assert found.shape == wanted.shape
    assert np.abs(found - wanted).max(initial=0.0) <= bound * max(1.0, np.abs(wanted).max(initial=0.0))


@some
def test_values_are_those_of_the_native_target(name):
    robot = ROBOTS[name]()
    q, v, u = state(robot, size=(5,))
    if robot.closures:
        found = homes.function("closed_dynamics", robot)(*tensors(q, v, u))
        wanted = hinge.closed_dynamics(robot, q, v, u)
        assert list(found) == ["qdd", "forces", "residual"]
        # near singular closures rounding grows: by how much, another target tells
        numpy = hinge.compile("closed_dynamics", robot, target="numpy")(q, v, tau=u)
        off = np.abs(numpy["qdd"] - wanted.qdd).max() / max(1.0, np.abs(wanted.qdd).max())
        near(found["qdd"], wanted.qdd, max(1e-12, 10 * off))
        return
    for verb in ("forward_dynamics", "inverse_dynamics"):
        f = homes.function(verb, robot)
        wanted = getattr(hinge, verb)(robot, q, v, u)
        near(f(*tensors(q, v, u)), wanted)
        single = f(*tensors(q, v, u, dtype=torch.float32))
        assert single.dtype == torch.float32
        near(single, wanted, 1e-4 if verb == "inverse_dynamics" else 2e-3)
    near(homes.function("mass_matrix", robot)(*tensors(q)), hinge.mass_matrix(robot, q))


@some
def test_gradients_are_those_of_vjp(name):
    robot = ROBOTS[name]()
    if robot.closures:
        pytest.skip("next test")
    q, v, u = state(robot, 1, (3,))
    c = np.random.default_rng(2).standard_normal((3, robot.nv))
    rolls = any(x.type.unrate(x.type.neutral(), np.zeros(len(x.q))) is None for x in hinge.model.units(robot))
    _, wanted = hinge.vjp("forward_dynamics", robot)(q, v, u, c)
    x = tensors(q, v, u, grad=True)
    f = homes.function("forward_dynamics", robot)
    if rolls:  # q has no derivative by coordinates, and says so; others have
        x[0].requires_grad_(False)
        found = torch.autograd.grad(f(*x), x[1:], torch.tensor(c))
        near(found[0], wanted["qd"], 1e-10)
        near(found[1], wanted["tau"], 1e-10)
        with pytest.raises(NotImplementedError, match="derivatives by coordinates are not supported"):
            f(x[0].requires_grad_(True), *x[1:]).sum().backward()
        return
    found = torch.autograd.grad(f(*x), x, torch.tensor(c))
    near(found[1], wanted["qd"], 1e-10)
    near(found[2], wanted["tau"], 1e-10)
    dq = torch.zeros(3, robot.nv, dtype=torch.float64, requires_grad=True)
    g = homes.function("forward_dynamics", robot, tangent=True)
    (by_dq,) = torch.autograd.grad(g(x[0].detach(), dq, *(y.detach() for y in x[1:])), dq, torch.tensor(c))
    near(by_dq, wanted["q"], 1e-10)
    for k, unit in enumerate(hinge.model.units(robot)):  # in coordinates: along rates the same change
        d = np.random.default_rng(k).standard_normal(unit.type.nv)
        for n in range(3):
            rate = unit.type.rate(q[n, list(unit.q)], d)
            a, b = found[0][n, list(unit.q)].numpy() @ rate, wanted["q"][n, list(unit.qd)] @ d
            assert abs(a - b) <= 1e-9 * max(1.0, abs(b), np.abs(wanted["q"]).max())


CHECKED = {
    "pendulum": ("forward_dynamics", hinge.robots.double_pendulum),
    "ball": ("forward_dynamics", hinge.robots.quadruped),
    "closed": ("closed_dynamics", hinge.robots.four_bar),
    "matrix": ("mass_matrix", hinge.robots.double_pendulum),
    "number": ("kinetic_energy", hinge.robots.double_pendulum),
    "all": ("inverse_dynamics", without_rolling),
    "panda": ("forward_dynamics", hinge.robots.panda),
}


@pytest.mark.parametrize("name", daily(CHECKED, lambda _, n: n in ("pendulum", "closed", "matrix", "number")))
def test_gradcheck(name):
    verb, make = CHECKED[name]
    robot = make()
    f = homes.function(verb, robot)
    x = tensors(*state(robot, 1)[: len(f.inputs)], grad=True)

    def moving(*given):
        found = f(*given)
        return (found["qdd"], found["forces"]) if isinstance(found, dict) else found

    size = max(1.0, float(torch.cat([y.detach().ravel().abs() for y in torch.atleast_1d(moving(*x))]).max()))
    close = {"atol": 1e-6 * size, "rtol": 1e-4}
    assert torch.autograd.gradcheck(moving, x, check_forward_ad=True, **close)
    if name in ("pendulum", "matrix", "number", "closed"):
        assert torch.autograd.gradgradcheck(moving, x, check_fwd_over_rev=True, **close)


def test_transforms_of_torch_func():
    from torch.func import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap

    robot = hinge.robots.panda()
    f = homes.function("forward_dynamics", robot)
    q, v, u = state(robot, 2, (4,))
    x = tensors(q, v, u)
    d = hinge.forward_dynamics_derivatives(robot, q, v, u)
    for jac in (jacrev, jacfwd):
        for found, wanted in zip(vmap(jac(f, argnums=(0, 1, 2)))(*x), (d.q, d.qd, d.tau), strict=True):
            near(found, wanted, 1e-10)
    one = [y[0] for y in x]
    wanted = hinge.second_derivatives("forward_dynamics", robot, q[0], v[0], u[0], c=np.eye(7)[3], wrt=["q"])
    near(hessian(lambda y: f(y, *one[1:])[3])(one[0]), wanted["q", "q"], 1e-9)
    near(vmap(f, in_dims=(0, None, 1))(x[0], one[1], x[2].T), hinge.forward_dynamics(robot, q, v[0], u))
    # mapped dimensions go in front of leading ones, whose numbers differ
    both = vmap(f, in_dims=(0, None, 0))(x[0].reshape(2, 2, 7), one[1], x[2][:2])
    near(both, hinge.forward_dynamics(robot, q.reshape(2, 2, 7), v[0], u[:2, None]))
    value, change = jvp(f, tuple(one), tuple(torch.ones_like(y) for y in one))
    wanted = hinge.jvp("forward_dynamics", robot)(
        q[0], v[0], u[0], d_q=np.ones(7), d_qd=np.ones(7), d_tau=np.ones(7)
    )
    near(value, wanted[0])
    near(change, wanted[1], 1e-10)
    _, back = vjp(f, *one)
    _, wanted = hinge.vjp("forward_dynamics", robot)(q[0], v[0], u[0], np.ones(7))
    near(back(torch.ones(7).double())[2], wanted["tau"], 1e-10)
    each = vmap(grad(lambda *y: f(*y).square().sum()))(*x)
    whole = tensors(q, v, u, grad=True)
    near(each, torch.autograd.grad(f(*whole).square().sum(), whole[0])[0], 1e-10)


def test_a_batch_shares_what_it_shares():
    robot = hinge.robots.double_pendulum()
    f = homes.function("forward_dynamics", robot, parameters=["inertias"])
    q, v, u = tensors(*state(robot, 3, (6,)))
    masses = torch.tensor(hinge.inertial_parameters(robot), requires_grad=True)
    g = torch.autograd.grad(f(q, v, u, masses).square().sum(), masses)[0]
    parts = [torch.autograd.grad(f(q[k], v[k], u[k], masses).square().sum(), masses)[0] for k in range(6)]
    near(g, sum(parts), 1e-11)
    assert g.shape == (2, 10)
    own = masses.detach().expand(6, 2, 10).clone().requires_grad_()
    near(torch.autograd.grad(f(q, v, u, own).square().sum(), own)[0], torch.stack(parts), 1e-11)
    assert f(q[:0], v[:0], u[:0], masses).shape == (0, 2)
    near(f(q[:, None], v[:1], u[:1], masses), f(q[:, None].expand(6, 1, 2), v[:1], u[:1], masses))


def test_several_results_names_and_steps():
    robot = hinge.robots.double_pendulum()
    q, v, u = state(robot)
    momentum = H @ phi @ M @ phi.T @ H.T @ qd
    f = homes.function({"p": momentum, "e": qd.T @ momentum}, robot)
    x = tensors(q, v, grad=True)
    found = f(qd=x[1], q=x[0])
    near(found["p"], hinge.mass_matrix(robot, q) @ v)
    assert found["e"].shape == ()
    found["e"].backward()  # of one result alone
    near(x[1].grad, 2 * hinge.mass_matrix(robot, q) @ v)
    go = homes.step(robot, 1e-2)
    x = tensors(q, v, u, grad=True)
    now = x[:2]
    for _ in range(20):
        now = go(*now, x[2])
    roll = hinge.Rollout(robot, dt=1e-2, steps=20)
    forces = np.broadcast_to(u, (20, 2))
    near(now[0], roll(q, v, tau=forces).q)
    now[0].sum().backward()
    wanted = roll.pull(q, v, tau=forces, q=np.ones(2))
    near(x[0].grad, wanted["q"], 1e-9)
    near(x[1].grad, wanted["qd"], 1e-9)
    near(x[2].grad, wanted["tau"].sum(0), 1e-9)
    assert "dt" in homes.step(robot).inputs


def test_memory_is_shared_not_copied():
    robot = hinge.robots.panda()
    f = homes.function("forward_dynamics", robot)
    q, v, u = tensors(*state(robot, size=(3,)))
    wanted = f(q, v, u)
    rows = torch.zeros(3, 7, 2, dtype=torch.float64)
    rows[..., 0] = q
    assert not rows[..., 0].is_contiguous()
    assert torch.equal(f(rows[..., 0], v, u), wanted)
    assert torch.equal(f(q.flip(0).flip(0), v, u.T.contiguous().T), wanted)
    assert torch.equal(f(torch.complex(q, -q).conj().imag, v, u), wanted)  # a tensor with a sign to come
    assert torch.equal(f(q.numpy(), v, u), wanted)
    again = f(q, v, u)
    assert again.data_ptr() != wanted.data_ptr()
    q[0, 1] += 1.0  # what was returned stays
    assert not torch.equal(f(q, v, u), wanted)
    assert torch.equal(again, wanted)


def test_precisions_mix_upwards():
    robot = hinge.robots.panda()
    f = homes.function("forward_dynamics", robot)
    q, v, u = tensors(*state(robot))
    half = q.float().requires_grad_()
    found = f(half, v, u)
    assert found.dtype == torch.float64
    found.sum().backward()
    assert half.grad.dtype == torch.float32
    x = [y.float().requires_grad_() for y in (q, v, u)]
    f(*x).sum().backward()
    y = [z.clone().requires_grad_() for z in (q, v, u)]
    f(*y).sum().backward()
    for a, b in zip(x, y, strict=True):
        near(a.grad, b.grad, 1e-3)


REFUSED = [
    (lambda q: f_of(q.half()), ArgumentError, r"q: expected float64 or float32, got torch.float16; q.double"),
    (lambda q: f_of(q.bfloat16()), ArgumentError, "got torch.bfloat16"),
    (lambda q: f_of(q.long()), ArgumentError, "got torch.int64"),
    (lambda q: f_of(q.to(torch.complex128)), ArgumentError, "got torch.complex128"),
    (lambda q: f_of(q.to_sparse()), ArgumentError, r"q: expected a dense tensor, got torch.sparse_coo"),
    (lambda q: f_of(q.to("meta")), ArgumentError, "on one device, got q on meta, qd on cpu, tau on cpu"),
    (lambda q: f_of(*[q.to("meta")] * 3), ArgumentError, "expected tensors with values"),
    (lambda q: f_of([0.0] * 7), ArgumentError, r"q: expected a tensor or a NumPy array, got list; torch.ten"),
    (lambda q: f_of(q[:6]), ArgumentError, r"q: expected shape \(…, 7\), got \(6,\)"),
    (lambda q: f_of(q[0]), ArgumentError, r"q: expected shape \(…, 7\), got \(\)"),
    (lambda q: f_of(q.expand(2, 7), q.expand(3, 7)), ArgumentError, r"broadcast, got q \(2,\), qd \(3,\)"),
    (lambda q: f_of(q, q, q, q), TypeError, "expected the tensors q, qd, tau, each once, got 4"),
    (lambda q: plain()(q, q), TypeError, "each once, got q, qd"),
    (lambda q: plain()(q, q, q=q), TypeError, "each once, got q, qd, q"),
    (lambda q: plain()(q, q, torque=q), TypeError, "each once, got q, qd, torque"),
    (lambda q: with_masses(q[:6]), ArgumentError, r"inertias: expected shape \(…, 8, 10\), got \(6,\)"),
    (lambda _: homes.function("mass_matrx", hinge.robots.panda()), ArgumentError, "mass_matrix"),
    (lambda _: homes.step(hinge.robots.panda(), -1.0), ArgumentError, "dt: expected a time"),
    (lambda q: batched(q.clone()), NotImplementedError, "torch.func.vmap, jacrev"),
    (
        lambda q: tangent(q.clone()),
        ArgumentError,
        "q: expected a tensor without gradient, got one that has one; with",
    ),
]


def plain():
    return homes.function("forward_dynamics", hinge.robots.panda())


def f_of(q, *others):
    rest = others or (torch.zeros(7).double(),)
    return plain()(q, *rest, *[torch.zeros(7).double()] * (2 - len(rest)))


def with_masses(x):
    return homes.function("mass_matrix", hinge.robots.panda(), parameters=["inertias"])(
        torch.zeros(7).double(), x
    )


def batched(q):
    return torch.autograd.functional.jacobian(f_of, q, vectorize=True)


def tangent(q):
    f = homes.function("gravity_force", hinge.robots.panda(), tangent=True)
    f(q.requires_grad_(), torch.zeros(7).double()).sum().backward()


@pytest.mark.parametrize(("call", "error", "message"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call(torch.ones(7).double())


def test_tensors_of_other_devices_are_copied_with_a_warning(monkeypatch):
    """A device that is not the CPU, without one: its tensors stand on the CPU and say otherwise."""

    class There(torch.Tensor):
        device = torch.device("cuda", 0)
        is_cpu = False

        def cpu(self):
            return self.as_subclass(torch.Tensor)

    moved = []
    monkeypatch.setattr(torch.Tensor, "to", lambda x, *a: (moved.append(a[0]), x)[1], raising=True)
    f, x = plain(), torch.ones(7).double()
    with pytest.warns(UserWarning, match="tensors on cuda:0 are copied to the CPU"):
        f(*[x.as_subclass(There)] * 3)
    assert moved[-1] == torch.device("cuda", 0)  # the result


def test_compiled_graphs_have_no_break():
    robot = hinge.robots.double_pendulum()
    f = homes.function("forward_dynamics", robot, parameters=["inertias"])

    def loss(*x):
        return (2.0 * f(*x)).square().sum()

    x = tensors(*state(robot, size=(3,)), hinge.inertial_parameters(robot), grad=True)
    compiled = torch.compile(loss, backend="aot_eager", fullgraph=True)
    near(compiled(*x), loss(*x))
    for a, b in zip(torch.autograd.grad(compiled(*x), x), torch.autograd.grad(loss(*x), x), strict=True):
        near(a, b)
    torch._dynamo.reset()


class Accelerations(torch.utils.data.Dataset):
    """What workers of a DataLoader compute."""

    def __init__(self):
        self.f = plain()

    def __len__(self):
        return 8

    def __getitem__(self, k):
        return self.f(torch.full((7,), 0.1 * k).double(), *torch.zeros(2, 7).double())


def test_forks_threads_and_pickles():
    data = Accelerations()
    wanted = torch.stack([data[k] for k in range(8)])
    loader = torch.utils.data.DataLoader(data, batch_size=4, num_workers=2, multiprocessing_context="fork")
    near(torch.cat(list(loader)), wanted)
    found = {}

    def work(k):
        x = [torch.full((64, 7), 0.1 * k).double().requires_grad_(), *torch.zeros(2, 7).double()]
        for _ in range(20):
            found[k] = data.f(*x)
            found[k].sum().backward()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for k in range(4):
        near(found[k][7], wanted[k])
    again = pickle.loads(pickle.dumps(data.f))
    assert torch.equal(again(*torch.ones(3, 7).double()), data.f(*torch.ones(3, 7).double()))
    assert copy.deepcopy(data.f) is data.f
    assert "forward_dynamics[7]" in repr(data.f)


def test_a_missing_extra(monkeypatch):
    from hinge.torch import extras

    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r'pip install "hinge\[torch\]"'):
        extras.pytorch()


def test_the_room_does_not_load_torch():
    script = "import sys, hinge, hinge.torch; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True, cwd=Path(__file__).parents[2])


def test_flexible_bodies_have_the_gradients_of_vjp():
    robot = arm()
    q, v, u = state(robot)
    q *= 0.1
    at = tensors(q, v, u, grad=True)
    homes.function("forward_dynamics", robot)(*at).sum().backward()
    by = hinge.vjp("forward_dynamics", robot)(q, v, u, np.ones(robot.nv))[1]
    for x, n in zip(at, ("q", "qd", "tau"), strict=True):
        near(x.grad, by[n], 1e-11)
