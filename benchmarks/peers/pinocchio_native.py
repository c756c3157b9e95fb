"""Pinocchio in C++: built here with all optimisation, looping over the states natively."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Contender, quickest
from benchmarks.peers import PeerMissing, build
from benchmarks.peers.pinocchio_python import PinocchioModel
from benchmarks.subjects import States, Subject
from hinge.spatial import Array

#: Kinds of joints by the numbers of native.cpp.
KINDS = {
    name: k
    for k, name in enumerate(
        ("RX", "RY", "RZ", "RevoluteUnaligned", "PX", "PY", "PZ", "PrismaticUnaligned",
         "RUBX", "RUBY", "RUBZ", "RevoluteUnboundedUnaligned", "FreeFlyer")
    )
}  # fmt: skip

#: Quantities that native.cpp computes in two ways.
VARIANTS = {"forward_dynamics": 2, "mass_matrix": 2, "operational_inertia": 2}


class Native:
    """Pinocchio as one compiler builds it, each quantity by the quicker of its ways."""

    def __init__(self, subject: Subject, compiler: build.Compiler) -> None:
        reason = build.missing()
        if reason:
            raise PeerMissing(reason)
        path = build.library(compiler)
        if path is None:
            raise PeerMissing("does not build")
        self.name = f"native {compiler.name}"
        self._at = PinocchioModel(subject)
        self._library = opened_library(path)
        self._handle = ctypes.c_void_p(self._library.robot_new(*model_arrays(self._at.model, self._at.tip)))

    def __del__(self) -> None:
        if hasattr(self, "_handle"):
            self._library.robot_delete(self._handle)

    def contender(self, quantity: str, s: States) -> Contender:
        """Return one call that loops over the states and writes the results."""
        ways = range(VARIANTS.get(quantity, 1))
        return quickest([Contender(self.name, self._run(quantity, s, k)[0], len(s)) for k in ways])

    def values(self, quantity: str, s: States) -> Array:
        """Return the quantity in Hinge's coordinates, by the last of its ways."""
        run, out = self._run(quantity, s, VARIANTS.get(quantity, 1) - 1)
        run()
        by_columns = quantity in ("mass_matrix", "jacobian")
        return self._at.back(quantity, np.swapaxes(out, -1, -2) if by_columns else out)

    def _run(self, quantity: str, s: States, variant: int) -> tuple[Callable[[], object], Array]:
        """Return the call, and the array that it writes."""
        given = self._at.arguments(quantity, s)
        given += [given[0]] * (3 - len(given))  # not read
        n, nv = len(s), self._at.model.nv
        shapes = {
            "mass_matrix": (n, nv, nv),
            "mass_matrix_inverse": (n, nv, nv),
            "jacobian": (n, nv, 6),
            "operational_inertia": (n, 6, 6),
            "inverse_dynamics_derivatives": (n, 2, nv, nv),
            "forward_dynamics_derivatives": (n, 3, nv, nv),
        }
        out = np.zeros(shapes.get(quantity, (n, nv)))
        pointers = [ctypes.c_void_p(x.ctypes.data) for x in (*given, out)]
        f, count = getattr(self._library, quantity), ctypes.c_long(n)

        def run(_kept: object = (given, out)) -> None:
            f(self._handle, count, variant, *pointers)

        return run, out


def opened_library(path: Path) -> ctypes.CDLL:
    """Return the library that was built."""
    library = ctypes.CDLL(str(path))
    library.robot_new.restype = ctypes.c_void_p
    return library


def model_arrays(model: Any, tip: int = 0) -> list[Any]:
    """Return the arguments of robot_new: the model as plain arrays, and a frame."""
    moving, frame = range(1, model.njoints), model.frames[tip]
    kinds = [KINDS[model.joints[i].shortname().removeprefix("JointModel")] for i in moving]
    axes = [getattr(model.joints[i].extract(), "axis", np.zeros(3)) for i in moving]
    return [
        len(moving),
        pointer([model.parents[i] for i in moving], np.int32),
        pointer(kinds, np.int32),
        pointer(axes),
        pointer([placement(model.jointPlacements[i]) for i in moving]),
        pointer([_parameters(model.inertias[i]) for i in moving]),
        pointer(model.armature),
        pointer(model.gravity.linear),
        int(frame.parentJoint),
        pointer(placement(frame.placement)),
    ]


def _parameters(inertia: Any) -> Array:
    """Return the ten numbers of an inertia; a joint without a body has a mass to be divided by."""
    found = np.array(inertia.toDynamicParameters())
    found[0] = max(found[0], np.finfo(np.float64).tiny)
    return found


def placement(x: Any) -> Array:
    """Return a placement as twelve numbers: rotation by rows, translation."""
    return np.concatenate([np.asarray(x.rotation).ravel(), x.translation])


def pointer(x: Any, dtype: Any = np.float64) -> Any:
    """Return an array as an argument of a C function, which keeps it alive."""
    array = np.ascontiguousarray(x, dtype=dtype)
    return array.ctypes.data_as(ctypes.c_void_p)
