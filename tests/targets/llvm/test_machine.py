from __future__ import annotations

import ctypes
import gc
import re

import numpy as np
import pytest
from llvmlite import binding as llvm

import hinge
from hinge.dynamics import CATALOGUE
from hinge.errors import ArgumentError
from hinge.targets.llvm.host import Host, made_for
from hinge.targets.llvm.machine import assembled, assembly, loaded
from hinge.targets.llvm.module import SHAPES, write_module
from hinge.targets.llvm.pieces import RUN
from hinge.targets.llvm.text import Lanes
from tests.targets.llvm.codes import random_code
from tests.targets.llvm.running import blended, blending

LINUX = "x86_64-unknown-linux-gnu"
SKYLAKE = Host(LINUX, "skylake-avx512", "+avx512f,+avx512vl,+avx512dq,+avx512bw,+avx2,+avx,+fma,+sse2")
HASWELL = Host(LINUX, "haswell", "+avx2,+avx,+fma,+sse2,-avx512f")
PLAIN = Host(LINUX, "x86-64", "+sse2,-avx,-avx2,-avx512f,-fma")
ARM = Host("aarch64-unknown-linux-gnu", "generic", "+neon,+fp-armv8")
shapes = pytest.mark.parametrize("shape", SHAPES)


def has(triple):
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    try:
        llvm.Target.from_triple(triple)
    except RuntimeError:
        return False
    return True


intel = pytest.mark.skipif(not has(LINUX), reason="this LLVM makes no code for x86-64")
arm = pytest.mark.skipif(not has(ARM.triple), reason="this LLVM makes no code for AArch64")


def text(width, shape="U", seed=0, dtype="float64"):
    return write_module(random_code(seed), Lanes(width, dtype), shape).text


@intel
@shapes
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_wide_vectors_are_used_where_they_are(shape, dtype):
    made = assembly(text({"float64": 8, "float32": 16}[dtype], shape, dtype=dtype), SKYLAKE)
    assert "%zmm" in made and "vfmadd" in made


@intel
@shapes
def test_no_wider_vectors_are_used_than_there_are(shape):
    made = assembly(text(4, shape), HASWELL)
    assert "%ymm" in made and "vfmadd" in made and "%zmm" not in made
    for width in (1, 4):
        plain = assembly(text(width, shape), PLAIN)
        assert "%xmm" in plain and not re.search(r"%[yz]mm|\bvfmadd|\bv[a-z]+pd", plain)


@arm
@shapes
def test_other_processors_are_served(shape):
    made = assembly(text(2, shape), ARM)
    assert re.search(r"fmla\tv\d+\.2d", made) and "run:" in made
    code, seconds = assembled(text(2, shape), ARM)
    assert code[:4] == b"\x7fELF" and seconds > 0


def run(code, lanes, q, u):
    out = [np.full((*q.shape[:1], *shape), np.nan, lanes.dtype) for shape in ((3,), (3, 2), ())]
    address = ctypes.c_void_p * 3
    sizes = (ctypes.c_int64 * 5)(3, 2, 3, 6, 1)
    inputs, outputs = address(q.ctypes.data, u.ctypes.data), address(*(x.ctypes.data for x in out))
    RUN(code.address)(inputs, sizes, outputs, np.empty(100).ctypes.data, 0, len(q))
    return dict(zip(("v", "m", "s"), out, strict=True))


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_code_runs_where_it_was_made(level):
    lanes = Lanes(2)
    object_code, seconds = assembled(write_module(blending(), lanes, "U").text, level=level)
    assert isinstance(object_code, bytes) and seconds > 0
    q, u = np.random.default_rng(1).standard_normal((2, 5, 3))
    u = u[:, :2].copy()
    found = run(loaded(object_code), lanes, q, u)
    assert all(np.allclose(found[n], x, rtol=1e-14, atol=1e-14) for n, x in blended(q, u).items())


@pytest.mark.parametrize("shape", ["U", "H", "R"])
@pytest.mark.parametrize("verb", ["forward_dynamics", "mass_matrix_inverse", "inverse_dynamics"])
def test_the_level_of_optimisation_changes_no_bit(verb, shape, monkeypatch):
    robot = hinge.robots.random_tree(5, 3)
    s = hinge.testing.random_state(robot, 1, 7)
    given = {"qd": s.qd, "qdd": s.qdd, "tau": s.tau}
    found, made = [], []
    for level in "01":
        monkeypatch.setenv("HINGE_LEVEL", level)
        f = hinge.compile(CATALOGUE[verb], robot, target="llvm", shape=shape, lanes=2)
        found.append(f(s.q, **{n: given[n] for n in f.inputs if n in given}))
        made.append(f.asm)
    assert found[0].tobytes() == found[1].tobytes() and made[0] != made[1]


def test_levels_have_entries_of_their_own_in_the_cache(monkeypatch):
    keys = []
    for level in ("", "0", "1"):
        monkeypatch.setenv("HINGE_LEVEL", level)
        keys.append(made_for())
    assert keys[0] == keys[2] != keys[1]


def test_a_level_that_is_none_is_refused(monkeypatch):
    monkeypatch.setenv("HINGE_LEVEL", "fast")
    with pytest.raises(ArgumentError, match="HINGE_LEVEL: expected 0, 1, 2 or 3, got 'fast'; unset it"):
        made_for()


def test_code_stays_as_long_as_it_is_held():
    object_code, _ = assembled(write_module(blending(), Lanes(1), "U").text)
    pieces = [loaded(object_code) for _ in range(20)]
    assert len({p.address for p in pieces}) == 20
    kept = pieces[7]
    del pieces
    gc.collect()
    q, u = np.ones((3, 3)), np.ones((3, 2))
    assert np.allclose(run(kept, Lanes(1), q, u)["m"], 1)


def test_what_is_no_module_is_an_error():
    with pytest.raises(RuntimeError):
        assembled("this is no module")


def test_the_same_text_gives_the_same_code():
    made = text(4, "H", 3)
    assert assembled(made)[0] == assembled(made)[0]
    assert write_module(random_code(3), Lanes(4), "H").text == made
