"""Pieces of IR as functions of arrays, and handmade code for the target."""

from __future__ import annotations

import ctypes

import numpy as np

from hinge.kernels import Graph, finish
from hinge.sweeps import Call, Code, Result, Slot
from hinge.targets import Traced
from hinge.targets.llvm.machine import assembled, loaded
from hinge.targets.llvm.native_program import NativeProgram
from hinge.targets.llvm.text import Lanes, Writer


def running(lanes, write):
    """Return what `write(w, values)` writes as a function: (blocks, n, W) numbers to (blocks, m, W)."""
    kept = {}

    def run(x):
        x = np.ascontiguousarray(x, lanes.dtype)
        blocks, n, width = x.shape
        assert width == lanes.width
        if n not in kept:
            kept[n] = _function(lanes, write, n)
        (function, m), code = kept[n][:2], kept[n][2]
        found = np.full((blocks, m, width), np.nan, lanes.dtype)
        function(x.ctypes.data, found.ctypes.data, blocks)
        assert code
        return found

    return run


def _function(lanes, write, n):
    w = Writer(lanes)
    with w.loop(0, "%blocks") as block:
        source = w.at("%in", w.let(f"mul i64 {block}, {n}"))
        found = write(w, [w.load(source, k) for k in range(n)])
        sink = w.at("%out", w.let(f"mul i64 {block}, {len(found)}"))
        for k, x in enumerate(found):
            w.store(x, sink, k)
    w.do("ret void")
    head = "define void @run(ptr %in, ptr %out, i64 %blocks) nounwind"
    body = "\n".join(w.lines)
    text = "\n".join([*w.globals, *w.declared, f"{head} {{\nentry:\n{body}\n}}\n"])
    code = loaded(assembled(text)[0])
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    return kind(code.address), len(found), code


def each_lane(lanes, write):
    """Return a function of one value, or several, as a function of flat arrays of any length."""
    run = running(lanes, write)

    def apply(x):
        x = np.asarray(x, lanes.dtype).ravel()
        padded = np.resize(x, -(-len(x) // lanes.width) * lanes.width)
        found = run(padded.reshape(-1, 1, lanes.width))
        return np.moveaxis(found, 1, 0).reshape(found.shape[1], -1)[:, : len(x)]

    return apply


def bits(x):
    """Return the bits of numbers as integers."""
    return x.view({8: np.int64, 4: np.int32}[x.itemsize])


# Handmade code.


def traced(function, inputs):
    """Return the kernel of a function of scalars that returns a tuple of them."""
    graph = Graph()
    found = function(*(graph.input(("x", k)) for k in range(inputs)))
    return finish(graph, {("y", k): y for k, y in enumerate(found)})


def result(name, values):
    """Return an output that shows slots and constants, in an array of any shape."""
    shown = np.empty(np.shape(values), dtype=object)
    for k in np.ndindex(shown.shape):
        shown[k] = np.asarray(values, dtype=object)[k]
    return Result(name, shown)


def copying(size):
    """Return code that copies x and shows it turned around with other signs, constants between."""
    shown = [Slot(k, negative=k % 2 == 1) for k in reversed(range(size))]
    values = [v for s in shown for v in (s, 0.5)]
    same = result("same", [Slot(k) for k in range(size)])
    return Code((), {"x": tuple(range(size))}, (same, result("turned", values)), size)


def blending():
    """Return code of q (3) and u (2) with a vector sin q + u₀, a matrix q uᵀ and a scalar."""
    mix = traced(
        lambda *x: (*(x[k].sin() + x[3] for k in range(3)), *(x[k] * x[j] for k in range(3) for j in (3, 4))),
        5,
    )
    outer = [[Slot(8), Slot(9)], [Slot(10), Slot(11)], [Slot(12), Slot(13)]]
    shown = result("v", [Slot(5), Slot(6), Slot(7)]), result("m", outer), result("s", Slot(4))
    inputs = {"q": (0, 1, 2), "u": (3, 4)}
    return Code((Call(mix, (0, 1, 2, 3, 4), (), tuple(range(5, 14)), 0, 0),), inputs, shown, 14)


def blended(q, u):
    """Return what that code computes."""
    batch = np.broadcast_shapes(q.shape[:-1], u.shape[:-1])
    v = np.sin(q) + u[..., :1]
    return {"v": v, "m": q[..., :, None] * u[..., None, :], "s": np.broadcast_to(u[..., 1], batch)}


def native(code, **options):
    """Return code as a native program, not kept on disk."""
    return NativeProgram(Traced(code), **options)


LANES = [Lanes(w, d) for d in ("float64", "float32") for w in (1, 2, 4, 8, 16)]
