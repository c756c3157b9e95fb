from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from hinge.algebra import E0, Body, E, H, M, One, identity, leaf, phi, tau, zero
from hinge.errors import ArgumentError, MissingExtraError
from hinge.targets import block_structure, plot_blocks, random_system


@pytest.fixture(scope="module")
def system():
    return random_system((-1, 0, 0, 1), 0, (1, 0, 2, 3), (6, 6, 6, 6))


def picture(text):
    return "\n".join(line.strip() for line in text.strip().splitlines())


def drawn(*arguments, **options):
    return "\n".join(line.strip() for line in block_structure(*arguments, **options).splitlines())


def test_phi_is_upper_triangular_base_first(system):
    assert drawn(system, phi) == picture("""
        φ: Body ← Body
          0 1 2 3
        0 I ■ ■ ■
        1 · I · ■
        2 · · I ·
        3 · · · I
        """)


def test_phi_is_lower_triangular_tip_first(system):
    assert drawn(system, phi, order="tip-first") == picture("""
        φ: Body ← Body
          3 2 1 0
        3 I · · ·
        2 · I · ·
        1 ■ · I ·
        0 ■ ■ ■ I
        """)


@pytest.mark.parametrize(
    ("expr", "wanted"),
    [
        (E, "E: Body ← Body|0 1 2 3|0 · ■ ■ ·|1 · · · ■|2 · · · ·|3 · · · ·"),
        (H, "H: Joint ← Body|0 1 2 3|0 ■ · · ·|1 · · · ·|2 · · ■ ·|3 · · · ■"),
        (E0, "E₀: World ← Body|0 1 2 3|w ■ · · ·"),
        (tau, "τ: Joint ← One|1|0 ■|1 ·|2 ■|3 ■"),
        (M @ M.inv(), "M M⁻¹: Body ← Body|0 1 2 3|0 I · · ·|1 · I · ·|2 · · I ·|3 · · · I"),
        (zero(Body, One), "0: Body ← One|1|0 ·|1 ·|2 ·|3 ·"),
    ],
    ids=str,
)
def test_other_structures(system, expr, wanted):
    assert drawn(system, expr).replace("\n", "|") == wanted


def test_rounding_is_not_drawn(system):
    assert "■" not in block_structure(system, phi @ phi.inv())
    assert block_structure(system, 1e-20 * phi).count("■") == 8
    assert "I" not in block_structure(system, 2 * identity(Body)).split("\n", 1)[1]


def test_numbers_of_two_digits_stay_in_line():
    long = random_system(tuple(range(-1, 11)), 0)
    lines = block_structure(long, phi).splitlines()
    assert len({len(line) for line in lines[1:]}) == 1
    assert lines[1].split() == [str(i) for i in range(12)]
    assert lines[2].split() == ["0", "I", *["■"] * 11]
    assert lines[-1].split() == ["11", *["·"] * 11, "I"]


def test_a_system_without_bodies_has_an_empty_picture():
    assert block_structure(random_system((), 0), phi).strip() == "φ: Body ← Body"


@pytest.mark.parametrize("draw", [block_structure, plot_blocks])
def test_a_wrong_order_is_named(system, draw):
    with pytest.raises(ArgumentError, match="order: expected 'base-first' or 'tip-first', got 'tip'"):
        draw(system, phi, order="tip")


class Axes:
    """Remembers what is drawn, in the place of Matplotlib's axes."""

    def __init__(self):
        self.lines = {"axhline": [], "axvline": []}
        self.ticks = {}
        self.xaxis, self.yaxis = (
            SimpleNamespace(set_ticks=lambda at, labels, k=k: self.ticks.update({k: (at, labels)}))
            for k in "xy"
        )

    def imshow(self, image):
        self.image = image

    def axhline(self, at, **style):
        self.lines["axhline"].append(at)

    def axvline(self, at, **style):
        self.lines["axvline"].append(at)

    def set_title(self, title):
        self.title = title


def test_a_plot_shows_logarithms_with_lines_between_blocks(system):
    ax = Axes()
    assert plot_blocks(system, H, ax=ax) is ax
    entries = system.evaluate(H)
    assert ax.title == "H"
    np.testing.assert_array_equal(ax.image.mask, entries == 0)
    np.testing.assert_allclose(10.0 ** ax.image.compressed(), np.abs(entries[entries != 0]))
    assert ax.lines == {"axhline": [0.5, 0.5, 2.5], "axvline": [5.5, 11.5, 17.5]}
    np.testing.assert_allclose(ax.ticks["x"][0], [2.5, 8.5, 14.5, 20.5])
    np.testing.assert_allclose(ax.ticks["y"][0], [0, 0.5, 1.5, 4])
    assert ax.ticks["x"][1] == ["0", "1", "2", "3"]


def test_a_plot_tip_first_turns_the_blocks_round(system):
    ax = Axes()
    plot_blocks(system, phi, ax=ax, order="tip-first")
    assert ax.ticks["x"][1] == ["3", "2", "1", "0"]
    np.testing.assert_allclose(10.0 ** ax.image[18:, 12:18].filled(), np.abs(system.evaluate(E)[:6, 6:12]))
    assert ax.image.mask[:6, 6:].all()


def test_a_vector_is_plotted_as_a_column(system):
    ax = Axes()
    plot_blocks(system, leaf("u", Body, One), ax=ax)
    assert ax.image.shape == (24, 1)
    assert ax.ticks["x"][1] == ["1"]


def test_new_axes_come_from_matplotlib(system, monkeypatch):
    ax = Axes()
    pyplot = SimpleNamespace(subplots=lambda: (None, ax))
    monkeypatch.setitem(sys.modules, "matplotlib", SimpleNamespace(pyplot=pyplot))
    assert plot_blocks(system, phi) is ax


def test_without_matplotlib_the_remedy_is_named(system, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r'pip install "hinge\[view\]"'):
        plot_blocks(system, phi)


def test_matplotlib_draws_it(system):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    ax = plot_blocks(system, phi)
    assert ax.get_title() == "φ"
    ax.figure.canvas.draw()
