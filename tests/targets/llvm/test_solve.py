from __future__ import annotations

import numpy as np
import pytest

from hinge.sweeps import DenseCall, ForceLaw
from hinge.targets.floored import floored_solve
from hinge.targets.llvm.solve import (
    is_written_out,
    write_floored_solve,
    write_rolled_floored_solve,
    write_rolled_solve,
    write_solve,
)
from hinge.targets.llvm.text import Lanes
from tests.targets.llvm.running import bits, running

KINDS = ("written out", "rolled")
kinds = pytest.mark.parametrize("kind", KINDS)
sizes = pytest.mark.parametrize("n", range(1, 10))


def written_out(n, k, positive=False):
    def write(w, v):
        rows = [v[i * (n + k) : (i + 1) * (n + k)] for i in range(n)]
        found = write_solve(w, [r[:n] for r in rows], [r[n:] for r in rows], positive=positive)
        return [x for row in found for x in row]

    return write


def rolled(n, k, positive=False):
    def write(w, v):
        w.do(f"%system = alloca [{len(v)} x {w.lanes.type}]")
        for i, x in enumerate(v):
            w.store(x, "%system", i)
        write_rolled_solve(w, "%system", n, k, positive=positive)
        return [w.load("%system", i * (n + k) + n + j) for i in range(n) for j in range(k)]

    return write


def floored(n, k):
    def write(w, v):
        rows = [v[i * (n + k) : (i + 1) * (n + k)] for i in range(n)]
        found = write_floored_solve(w, [r[:n] for r in rows], [r[n:] for r in rows])
        return [x for row in found for x in row]

    return write


def rolled_floored(n, k):
    def write(w, v):
        for name, size in (("system", len(v)), ("copy", len(v)), ("largest", 1)):
            w.do(f"%{name} = alloca [{size} x {w.lanes.type}]")
        for i, x in enumerate(v):
            w.store(x, "%system", i)
        write_rolled_floored_solve(w, "%system", "%copy", "%largest", n, k)
        return [w.load("%system", i * (n + k) + n + j) for i in range(n) for j in range(k)]

    return write


def solve(kind, matrix, right, lanes, positive=False):
    """Return matrix⁻¹ right for (blocks, W, n, n) and (blocks, W, n, k)."""
    n, k = right.shape[-2:]
    return run({"written out": written_out, "rolled": rolled}[kind](n, k, positive), matrix, right, lanes)


def solve_floored(kind, matrix, right, lanes):
    """Return the floored solve; of the matrix only the upper triangle is given."""
    n, k = right.shape[-2:]
    write = {"written out": floored, "rolled": rolled_floored}[kind](n, k)
    return run(write, np.triu(matrix), right, lanes)


def run(write, matrix, right, lanes):
    rows = np.concatenate([matrix, right], axis=-1)
    flat = np.moveaxis(rows.reshape(*rows.shape[:2], -1), 1, 2)
    found = running(lanes, write)(flat)
    return np.moveaxis(found, 2, 1).reshape(*right.shape)


def systems(n, k, lanes, blocks=3, seed=0):
    rng = np.random.default_rng(seed + n)
    shape = (blocks, lanes.width)
    return rng.standard_normal((*shape, n, n)).astype(lanes.dtype), rng.standard_normal(
        (*shape, n, k)
    ).astype(lanes.dtype)


def off(found, matrix, right):
    """Return the residual, relative to what rounding may leave."""
    left = matrix.astype(np.float64) @ found - right
    size = np.abs(matrix).max() * np.abs(found).max(axis=(-1, -2), keepdims=True) * matrix.shape[-1]
    return float((np.abs(left) / (size * np.finfo(matrix.dtype).eps)).max())


@kinds
@sizes
def test_a_random_system_is_solved(kind, n):
    for lanes in (Lanes(4), Lanes(2, "float32")):
        for k in (1, 3):
            matrix, right = systems(n, k, lanes)
            assert off(solve(kind, matrix, right, lanes), matrix, right) < 4


@kinds
@sizes
def test_a_positive_system_is_solved_by_its_upper_triangle(kind, n):
    for lanes in (Lanes(4), Lanes(2, "float32")):
        root, right = systems(n, 3, lanes)
        matrix = (root @ np.swapaxes(root, -1, -2) + np.eye(n)).astype(lanes.dtype)
        upper = np.triu(matrix)
        assert off(solve(kind, upper, right, lanes, positive=True), matrix, right) < 4


@kinds
def test_a_positive_system_that_is_singular_is_nan(kind):
    matrix, right = np.zeros((1, 4, 3, 3)), np.ones((1, 4, 3, 1))
    matrix[:, 1:] = np.eye(3)
    found = solve(kind, matrix, right, Lanes(4), positive=True)
    assert np.isnan(found[0, 0]).all() and (found[0, 1:] == 1).all()


@kinds
@sizes
def test_every_lane_exchanges_rows_by_itself(kind, n):
    lanes = Lanes(4)
    rng, (_, right) = np.random.default_rng(n), systems(n, 2, lanes)
    matrix = np.stack([[np.eye(n)[rng.permutation(n)] for _ in range(4)] for _ in range(3)])
    assert np.array_equal(solve(kind, matrix, right, lanes), np.swapaxes(matrix, -1, -2) @ right)


@kinds
@sizes
def test_a_small_pivot_is_not_taken(kind, n):
    lanes = Lanes(4)
    matrix, right = systems(n, 1, lanes, seed=9)
    matrix[:, ::2, 0, 0] = 1e-18 if n > 1 else 1.0
    assert off(solve(kind, matrix, right, lanes), matrix, right) < 4


@kinds
@sizes
def test_a_singular_lane_is_nan_alone(kind, n):
    lanes = Lanes(4)
    matrix, right = systems(n, 2, lanes)
    sound = solve(kind, matrix, right, lanes)
    matrix[1, 2, -1] = 0.0
    matrix[2, 0, :, 0] = 0.0
    found = solve(kind, matrix, right, lanes)
    singular = np.zeros((3, 4), dtype=bool)
    singular[1, 2] = singular[2, 0] = True
    assert np.isnan(found[singular]).all()
    assert np.array_equal(bits(found[~singular]), bits(sound[~singular]))


@kinds
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_lane_that_is_not_finite_stays_alone(kind, bad):
    lanes = Lanes(4)
    for n in (1, 3, 7):
        matrix, right = systems(n, 2, lanes)
        sound = solve(kind, matrix, right, lanes)
        matrix[1, 2, 0, n // 2] = bad
        right[2, 3, -1, 0] = bad
        found = solve(kind, matrix, right, lanes)
        touched = np.zeros((3, 4), dtype=bool)
        touched[1, 2] = touched[2, 3] = True
        assert not np.isfinite(found[2, 3]).all()
        assert np.array_equal(bits(found[~touched]), bits(sound[~touched]))


@kinds
@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_lanes_and_ways_of_writing_give_the_same_bits(kind, n):
    matrix, right = systems(n, 2, Lanes(8), blocks=1)
    one = solve("written out", matrix.reshape(8, 1, n, n), right.reshape(8, 1, n, 2), Lanes(1))
    for width in (2, 8):
        shape = (8 // width, width)
        many = solve(kind, matrix.reshape(*shape, n, n), right.reshape(*shape, n, 2), Lanes(width))
        assert np.array_equal(bits(many).ravel(), bits(one).ravel())


def test_a_system_of_nothing_has_no_solution_to_write():
    assert write_solve(None, [], []) == []


@kinds
@pytest.mark.parametrize("n", [1, 2, 5, 9, 12, 18])
def test_a_floored_solve_is_exact_where_the_matrix_is_regular(kind, n):
    for lanes, bound in ((Lanes(4), 4), (Lanes(2, "float32"), 4)):
        root, right = systems(n, 2, lanes)
        matrix = (root @ np.swapaxes(root, -1, -2) + np.eye(n)).astype(lanes.dtype)
        assert off(solve_floored(kind, matrix, right, lanes), matrix, right) < bound


@kinds
@pytest.mark.parametrize("n", [2, 5, 12, 18])
def test_a_dependent_unknown_is_zero_and_the_others_solve(kind, n):
    lanes = Lanes(4)
    root, _ = systems(n, 1, lanes, seed=3)
    root += 2 * np.eye(n)
    root[..., -1, :] = 2.0 * root[..., 0, :]
    matrix = root @ np.swapaxes(root, -1, -2)
    right = matrix @ np.ones((n, 1))
    found = solve_floored(kind, matrix, right, lanes)
    assert not found[..., -1, :].any()
    assert np.abs(matrix @ found - right).max() < 1e-9 * np.abs(right).max()
    assert np.abs(found - floored_solve(matrix, right)).max() < 1e-6 * np.abs(found).max()


@pytest.mark.parametrize("n", [1, 2, 5, 12, 18])
def test_floored_solves_have_the_same_bits_in_all_lanes_and_ways_of_writing(n):
    root, right = systems(n, 2, Lanes(8), blocks=1)
    matrix = root @ np.swapaxes(root, -1, -2)
    matrix[0, 3] = 0.0
    one = solve_floored("written out", matrix.reshape(8, 1, n, n), right.reshape(8, 1, n, 2), Lanes(1))
    assert not one[3].any()
    for kind in KINDS:
        for width in (2, 8):
            shape = (8 // width, width)
            many = solve_floored(
                kind, matrix.reshape(*shape, n, n), right.reshape(*shape, n, 2), Lanes(width)
            )
            assert np.array_equal(bits(many).ravel(), bits(one).ravel())


@kinds
@pytest.mark.parametrize("n", [2, 5, 12])
def test_floors_go_with_the_scale_of_each_unknown(kind, n):
    lanes = Lanes(4)
    root, right = systems(n, 1, lanes, seed=5)
    root[..., -1, :] = root[..., 0, :]
    matrix = root @ np.swapaxes(root, -1, -2)
    scale = 2.0 ** np.random.default_rng(n).integers(-12, 13, n)  # exact, so the same bits must come out
    found = solve_floored(kind, matrix, right, lanes)
    scaled = solve_floored(kind, matrix * np.outer(scale, scale), right * scale[:, None], lanes)
    assert not found[..., -1, :].any()
    assert np.array_equal(scaled * scale[:, None], found)
    numpy = floored_solve(matrix * np.outer(scale, scale), right * scale[:, None]) * scale[:, None]
    assert np.array_equal(numpy, floored_solve(matrix, right))


def test_large_solves_are_loops():
    def written(n, width, **more):
        right = np.zeros((n, width), dtype=object)
        return is_written_out(DenseCall(np.zeros((n, n), dtype=object), right, right, 0, **more))

    assert written(6, 50) and not written(7, 1)
    assert written(18, 1, floored=True) and not written(24, 1, floored=True)
    assert not written(12, 12, floored=True)
    assert not written(3, 3, law=ForceLaw(cone=1))
