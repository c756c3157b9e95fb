from __future__ import annotations

import threading
from functools import cached_property

import numpy as np
import pytest

from hinge.errors import ArgumentError
from hinge.targets import Traced, listing
from hinge.targets.llvm import cache, host, threads
from hinge.targets.llvm import native_program as program
from hinge.targets.llvm.host import this_host
from hinge.targets.llvm.native_program import NativeProgram
from tests.targets.llvm.codes import random_code
from tests.targets.llvm.entries import marked
from tests.targets.llvm.running import bits, blended, blending, native


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HINGE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("HINGE_CACHE", raising=False)
    return tmp_path / "cache"


def kept(code=None, identity="blending", **options):
    return NativeProgram(Traced(code or blending(), identity, "blend"), **options)


class Late:
    """A source whose code is made when it is first asked for."""

    identity, label = None, ""

    def __init__(self, trace, identity=None):
        self.trace, self.identity = trace, identity

    @cached_property
    def code(self):
        return self.trace()


def given(*batch, dtype="float64"):
    rng = np.random.default_rng(1)
    return {
        "q": rng.standard_normal((*batch, 3)).astype(dtype),
        "u": rng.standard_normal((*batch, 2)).astype(dtype),
    }


def no_trace():
    raise AssertionError("the code was traced")


# What it is made of.


def test_the_signature_is_that_of_the_code():
    s = native(blending()).signature
    assert (
        s.inputs == {"q": 3, "u": 2} and s.results == {"v": (3,), "m": (3, 2), "s": ()} and s.operations > 0
    )


def test_code_is_traced_when_it_is_needed_and_once():
    traced = []
    f = NativeProgram(Late(lambda: traced.append(1) or blending()))
    assert not traced
    for batch in ((), (9,), (2, 30)):
        f(given(*batch))
        f(given(*batch, dtype="float32"))
    assert traced == [1]


def test_machine_code_is_made_when_it_is_needed():
    f = native(blending(), lanes=4)
    assert f._pieces == {}
    f(given(3))
    assert set(f._pieces) == {("float64", 1)}
    f(given(4))
    assert set(f._pieces) == {("float64", 1), ("float64", 4)}
    f(given(4, dtype="float32"))
    assert set(f._pieces) == {("float64", 1), ("float64", 4), ("float32", 4)}


def test_the_width_is_that_of_the_machine_unless_given():
    assert native(blending()).width("float64") == this_host().lanes("float64")
    assert native(blending(), lanes=2).width("float32") == 2


def test_many_threads_make_one_piece():
    f, found = native(random_code(1), lanes=2), []
    callers = [threading.Thread(target=lambda: found.append(f.piece("float64", 2))) for _ in range(8)]
    for c in callers:
        c.start()
    for c in callers:
        c.join(60)
    assert len(found) == 8 and len(set(map(id, found))) == 1


@pytest.mark.parametrize("language", ["python", "fortran", ""])
def test_other_languages_are_refused(language):
    with pytest.raises(ArgumentError, match=f"expected 'llvm' or 'asm' for target 'llvm', got '{language}'"):
        listing(native(blending()), language)


def test_describe_names_every_piece():
    f = native(blending(), shape="R", lanes=2)
    f(given())
    f(given(5, dtype="float32"))
    head, *lines = f.describe()
    assert "2 states at once" in head
    names = sorted(line.split(":")[0].strip() for line in lines)
    assert names == ["float32 × 2", "float64 × 1", "float64 × 2"]
    assert all(
        f"shape R, {f.signature.operations} operations" in line and "compiled in" in line for line in lines
    )


# Work space.


def test_work_space_is_used_again():
    f = native(random_code(0), shape="R", lanes=2)
    x = {n: np.zeros((4, len(s))) for n, s in f.code.inputs.items()}
    for _ in range(5):
        f(x)
    (piece,) = f._pieces.values()
    assert len(piece.spare) == 1 and piece.spare[0].ctypes.data % 64 == 0


def test_what_work_space_held_before_does_not_matter():
    for shape in ("U", "H", "R"):
        f = native(random_code(0), shape=shape, lanes=2)
        x = {n: np.ones((4, len(s))) for n, s in f.code.inputs.items()}
        first = f(x)
        for piece in f._pieces.values():
            for space in piece.spare:
                space[...] = np.nan
        again = f(x)
        assert all(np.array_equal(bits(first[n]), bits(again[n])) for n in first)


# One state.


def test_the_entry_computes_one_state():
    f = native(blending())
    entry = f.entry(lambda *a: "fallback", [(3,), (3, 2), ()], name="blend", doc="Blend.")
    x = given()
    assert entry(x["q"], x["u"]) == "fallback"  # until there is code for one state
    f.piece("float64", 1)
    found, wanted = entry(x["q"], x["u"]), blended(**x)
    assert list(found) == ["v", "m", "s"]
    assert all(np.allclose(found[n], y, rtol=1e-14, atol=1e-14) for n, y in wanted.items())
    assert entry(x["q"], x["u"].astype(np.float32)) == "fallback" == entry(x["q"])


@pytest.mark.parametrize("lanes", [1, 2, 4, 8])
def test_the_entry_computes_batches_to_the_same_bits(lanes):
    f = native(blending(), lanes=lanes)
    entry = f.entry(lambda *a: "fallback", [(3,), (3, 2), ()], name="blend", doc="Blend.")
    for batch in (1, 2, 3, lanes - 1, lanes, lanes + 1, 1000):
        if batch:
            x = given(batch)
            wanted, found = f(x), entry(x["q"], x["u"])
            assert all(np.array_equal(bits(found[n]), bits(wanted[n])) for n in wanted)


def test_the_entry_of_a_program_makes_no_machine_code():
    f = native(blending(), lanes=4)
    entry = f.entry(lambda q, u: f({"q": q, "u": u}), [(3,), (3, 2), ()], name="blend", doc="Blend.")
    assert f._pieces == {}
    for batch, pieces in (((9,), {4}), ((3,), {1, 4})):
        entry(*given(*batch).values())
        assert {width for _, width in f._pieces} == pieces
    entries = [f.entry(marked, [(3,), (3, 2), ()], name="blend", doc="Blend.") for _ in range(2)]
    assert all(set(e(*given(5).values())) == {"v", "m", "s"} for e in entries)


def test_large_batches_are_for_threads_unless_there_is_one(monkeypatch):
    monkeypatch.setattr(program, "LEAST_WORK", 1000)
    f = native(blending(), lanes=2)
    count = 2 * (1000 // f.signature.operations)
    f(given(5))
    entry = f.entry(lambda *a: "fallback", [(3,), (3, 2), ()], name="blend", doc="Blend.")
    assert isinstance(entry(*given(count - 1).values()), dict)
    assert entry(*given(count).values()) == "fallback"
    try:
        threads.set_threads(1)
        assert isinstance(entry(*given(count).values()), dict)
        threads.set_threads(2)
        assert entry(*given(count).values()) == "fallback"
    finally:
        threads.set_threads(None)
    assert entry(*given(count).values()) == "fallback"


# On disk.


def test_a_program_is_loaded_without_tracing(folder):
    f = kept()
    wanted = {b: f(given(*b)) for b in ((), (9,))}
    again = NativeProgram(Late(no_trace, "blending"))
    assert again.signature == f.signature
    for b, x in wanted.items():
        y = again(given(*b))
        assert all(np.array_equal(bits(np.asarray(x[n])), bits(np.asarray(y[n]))) for n in x)
    assert all(p.from_cache for p in again._pieces.values())
    assert all("from the cache" in line for line in again.describe()[1:])


def test_facts_come_back_as_they_were(folder):
    f = kept(shape="R", lanes=4)
    f(given(9))
    again = kept(shape="R", lanes=4).piece("float64", 4)
    assert again.from_cache and again.facts == f.piece("float64", 4).facts
    assert again.size == f.piece("float64", 4).size


def test_what_differs_is_compiled(folder):
    kept(lanes=4)(given(9))
    assert kept(lanes=4).piece("float64", 4).from_cache
    assert not kept(lanes=4, identity="another").piece("float64", 4).from_cache
    assert not kept(lanes=4, shape="H").piece("float64", 4).from_cache
    assert not kept(lanes=2).piece("float64", 2).from_cache
    assert not kept(lanes=4).piece("float32", 4).from_cache


def test_another_machine_or_version_is_compiled(folder, monkeypatch):
    kept(lanes=4)(given(9))
    monkeypatch.setattr(host, "versions", lambda: ("0", "0", "0"))
    assert not kept(lanes=4).piece("float64", 4).from_cache


def test_what_has_no_identity_is_not_kept(folder):
    native(blending())(given(9))
    assert cache.entries() == []


def test_a_cache_that_is_off_is_not_asked(folder, monkeypatch):
    monkeypatch.setenv("HINGE_CACHE", "0")
    kept()(given(9))
    assert not folder.exists()
