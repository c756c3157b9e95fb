"""Flexible bodies as files: exact, and files that lie."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import hinge
from hinge.errors import ArgumentError, FormatError
from hinge.io import from_json, to_json
from hinge.model import beam, digest, fingerprint
from hinge.robots.random_trees import random_flexible
from tests.dynamics.sweep_flexible import arm, spacecraft


@pytest.mark.parametrize("make", [arm, spacecraft])
def test_json_keeps_a_robot_exactly(make):
    robot = make()
    assert fingerprint(from_json(to_json(robot))) == fingerprint(robot)


@pytest.mark.parametrize("seed", range(3))
def test_files_keep_a_body_exactly(seed, tmp_path):
    body = (
        random_flexible(np.random.default_rng(seed)) if seed else beam(1.0, mass_per_length=1.0, bending=1.0)
    )
    hinge.write_flexible(body, tmp_path / "body.npz")
    assert digest(hinge.read_flexible(tmp_path / "body.npz")) == digest(body)


def altered(tmp_path, **change):
    """Write a file with some arrays changed, or left out if None."""
    path = tmp_path / "body.npz"
    hinge.write_flexible(beam(1.0, mass_per_length=1.0, bending=1.0), path)
    with np.load(path) as data:
        arrays = {name: data[name] for name in data.files} | change
    np.savez(path, **{n: x for n, x in arrays.items() if x is not None})
    return path


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": np.array(2)}, "format = 1"),
        ({"format": None}, "format = 1"),
        ({"stiffness": None}, "no array 'stiffness'"),
        ({"stiffness": np.eye(3)}, "stiffness: expected shape"),
        ({"stiffness": -np.eye(4)}, "no negative eigenvalues"),
        ({"masses": np.full(3, np.inf)}, "shapes: expected shape"),
        ({"positions": np.full((7, 3), np.nan)}, "positions"),
        ({"shapes": np.zeros((7, 3, 4))}, "independent shapes"),
        ({"shapes": np.zeros((2, 3, 100000))}, "at most"),
        ({"shapes": np.array([["a"]])}, "expected numbers"),
        ({"places": np.zeros((2, 3))}, "places: expected shape"),
        ({"names": np.array([1.0])}, "expected shape"),
        ({"turns": np.zeros((1, 3, 3))}, "expected rotations"),
        ({"more": np.zeros(3), **{f"x{k}": np.zeros(1) for k in range(20)}}, "arrays of"),
    ],
)
def test_files_that_lie_are_refused(change, words, tmp_path):
    with pytest.raises(FormatError, match=words):
        hinge.read_flexible(altered(tmp_path, **change))


def test_pickles_and_other_files_are_refused(tmp_path):
    path = altered(tmp_path, masses=np.array([{}], dtype=object))
    with pytest.raises(FormatError, match="is not a flexible body"):
        hinge.read_flexible(path)
    other = tmp_path / "text.npz"
    other.write_text("no archive", encoding="utf-8")
    with pytest.raises(FormatError, match="is not a flexible body"):
        hinge.read_flexible(other)
    with pytest.raises(FileNotFoundError):
        hinge.read_flexible(tmp_path / "none.npz")


def matrices(n):
    """Return mass and stiffness of a unit beam of n elements, held at its root: deflections and slopes."""
    h, mass, stiffness = 1.0 / n, np.zeros((2 * n + 2,) * 2), np.zeros((2 * n + 2,) * 2)
    m = np.array(
        [
            [156, 22 * h, 54, -13 * h],
            [22 * h, 4 * h * h, 13 * h, -3 * h * h],
            [54, 13 * h, 156, -22 * h],
            [-13 * h, -3 * h * h, -22 * h, 4 * h * h],
        ]
    )
    k = np.array(
        [
            [12, 6 * h, -12, 6 * h],
            [6 * h, 4 * h * h, -6 * h, 2 * h * h],
            [-12, -6 * h, 12, -6 * h],
            [6 * h, 2 * h * h, -6 * h, 4 * h * h],
        ]
    )
    for e in range(n):
        at = slice(2 * e, 2 * e + 4)
        mass[at, at] += h / 420 * m
        stiffness[at, at] += k / h**3
    return mass[2:, 2:], stiffness[2:, 2:]


def test_shapes_of_finite_elements_are_those_of_the_beam():
    n = 40
    m, k = matrices(n)
    shapes, stiffness = hinge.craig_bampton(m, k, [2 * n - 2, 2 * n - 1], 2)
    wanted = beam(1.0, mass_per_length=1.0, bending=(1.0, None), modes=4, ends="craig-bampton").frequencies()
    assert_allclose(np.sqrt(np.diagonal(stiffness)), wanted, rtol=1e-4)
    assert_allclose(shapes.T @ m @ shapes, np.eye(4), atol=1e-9)
    moves, turns = np.zeros((n, 3, 4)), np.zeros((n, 3, 4))
    moves[:, 1], turns[:, 2] = shapes[::2], shapes[1::2]
    x = np.column_stack([np.arange(1, n + 1) / n, np.zeros((n, 2))])
    masses = np.full(n, 1 / n)
    masses[-1] *= 0.5
    body = hinge.Flexible.from_nodes(masses, x, moves, stiffness, rotations=turns, frames={"tip": n - 1})
    assert_allclose(body.frequencies()[:3], wanted[:3], rtol=2e-3)


@pytest.mark.slow
def test_large_sparse_matrices_go_through_scipy():
    sparse = pytest.importorskip("scipy.sparse")
    m, k = (sparse.csr_matrix(x) for x in matrices(1100))
    _, stiffness = hinge.craig_bampton(m, k, [2198, 2199], 2)
    assert np.sqrt(stiffness[0, 0]) == pytest.approx(3.51622, rel=1e-4)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"interface": [0, 0]}, "interface: expected different numbers"),
        ({"interface": [99]}, "interface: expected different numbers"),
        ({"modes": 99}, "modes: expected a number"),
        ({"stiffness": np.zeros((8, 8))}, "shape without stiffness|ingular"),
        ({"mass": -np.eye(8)}, "positive definite"),
        ({"stiffness": np.eye(3)}, "stiffness: expected shape"),
    ],
)
def test_matrices_that_fit_nothing_are_refused(change, words):
    m, k = matrices(4)
    given = {"mass": m, "stiffness": k, "interface": [6, 7], "modes": 2} | change
    with pytest.raises((ArgumentError, np.linalg.LinAlgError), match=words):
        hinge.craig_bampton(**given)
