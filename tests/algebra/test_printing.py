from __future__ import annotations

import re

import pytest

from hinge.algebra import (
    E0,
    LATEX,
    PYTHON,
    TEXT,
    UNICODE,
    B,
    Body,
    D,
    Di,
    H,
    Hp,
    Joint,
    K,
    Kp,
    M,
    Mi,
    P,
    Q,
    R,
    Ups,
    a,
    a_n,
    appendix,
    b,
    f_ext,
    identity,
    leaf,
    logdet,
    phi,
    psi,
    psip,
    qd,
    tau,
    tau_p,
    v_n,
    whole,
    zero,
)
from tests.expressions import JACOBIAN

w = identity(Joint) - H @ psi @ K

#: (expression, plain text, Unicode, LaTeX)
WRITTEN = [
    (whole.mass, "H phi M phi' H'", "H φ M φᵀ Hᵀ", r"H \, \phi \, M \, \phi^{T} \, H^{T}"),
    (
        whole.mass.inv() @ (tau - H @ phi @ (M @ phi.T @ a + b)),
        "(H phi M phi' H')^-1 (tau - H phi (M phi' a + b))",
        "(H φ M φᵀ Hᵀ)⁻¹ (τ − H φ (M φᵀ a + b))",
        r"\left(H \, \phi \, M \, \phi^{T} \, H^{T}\right)^{-1} \, "
        r"\left(\tau - H \, \phi \, \left(M \, \phi^{T} \, a + b\right)\right)",
    ),
    (
        w.T @ Di @ w,
        "(I - K' psi' H') Di (I - H psi K)",
        "(I − Kᵀ ψᵀ Hᵀ) D⁻¹ (I − H ψ K)",
        r"\left(I - K^{T} \, \psi^{T} \, H^{T}\right) \, D^{-1} \, \left(I - H \, \psi \, K\right)",
    ),
    (phi @ R + R @ phi.T - R, "phi R + R phi' - R", "φ R + R φᵀ − R", r"\phi \, R + R \, \phi^{T} - R"),
    (M / 2 - 7 * P / 3, "1/2 M - 7/3 P", "1/2 M − 7/3 P", r"1/2 \, M - 7/3 \, P"),
    (-(H.T @ D.inv()), "-H' D^-1", "−Hᵀ D⁻¹", r"-H^{T} \, D^{-1}"),
    (
        (JACOBIAN @ Mi @ JACOBIAN.T).inv(),
        "(B' phi' H' Mi H phi B)^-1",
        "(Bᵀ φᵀ Hᵀ 𝓜⁻¹ H φ B)⁻¹",
        r"\left(B^{T} \, \phi^{T} \, H^{T} \, \mathcal{M}^{-1} \, H \, \phi \, B\right)^{-1}",
    ),
    (
        logdet(whole.mass) - logdet(D),
        "logdet(H phi M phi' H') - logdet(D)",
        "log det (H φ M φᵀ Hᵀ) − log det D",
        r"\log\det \left(H \, \phi \, M \, \phi^{T} \, H^{T}\right) - \log\det D",
    ),
    (
        qd.T @ whole.mass @ qd / 2,
        "1/2 qd' H phi M phi' H' qd",
        "1/2 q̇ᵀ H φ M φᵀ Hᵀ q̇",
        r"1/2 \, \dot q^{T} \, H \, \phi \, M \, \phi^{T} \, H^{T} \, \dot q",
    ),
    (
        E0 @ phi @ M @ phi.T @ E0.T,
        "E0 phi M phi' E0'",
        "E₀ φ M φᵀ E₀ᵀ",
        r"E_0 \, \phi \, M \, \phi^{T} \, E_0^{T}",
    ),
    (
        Hp @ psip @ Kp @ tau_p,
        "Hp psip Kp tau_p",
        "Hₚ ψₚ Kₚ τₚ",
        r"H_p \, \psi_p \, K_p \, \tau_p",
    ),
    (-(M + P) @ phi, "(-M - P) phi", "(−M − P) φ", r"\left(-M - P\right) \, \phi"),
    (phi.T.inv(), "(phi')^-1", "(φᵀ)⁻¹", r"\left(\phi^{T}\right)^{-1}"),
    (
        2 * (H.T @ (D + Di).inv() @ H),
        "2 H' (D + Di)^-1 H",
        "2 Hᵀ (D + D⁻¹)⁻¹ H",
        r"2 \, H^{T} \, \left(D + D^{-1}\right)^{-1} \, H",
    ),
    (3 * logdet(phi.T), "3 logdet(phi')", "3 log det (φᵀ)", r"3 \, \log\det \left(\phi^{T}\right)"),
    (
        Ups @ psi + psi.T @ Ups - Ups,
        "Ups psi + psi' Ups - Ups",
        "Υ ψ + ψᵀ Υ − Υ",
        r"\Upsilon \, \psi + \psi^{T} \, \Upsilon - \Upsilon",
    ),
    (
        Q @ (B.T @ phi.T @ a + a_n - v_n),
        "Q (B' phi' a + a_n - v_n)",
        "Q (Bᵀ φᵀ a + aₙ − vₙ)",
        r"Q \, \left(B^{T} \, \phi^{T} \, a + a_n - v_n\right)",
    ),
    (-f_ext, "-f_ext", "−fₓ", "-f_{ext}"),
    (appendix.Phi @ appendix.L, "Phi L", "Φ L", r"\Phi \, L"),
    (-identity(Joint), "-I", "−I", "-I"),
    (zero(Joint, Body), "0", "0", "0"),
    (leaf("W", Body, Body, unicode="ω"), "W", "ω", "ω"),
]


@pytest.mark.parametrize(("e", "text", "unicode", "latex"), WRITTEN, ids=[row[1] for row in WRITTEN])
def test_an_expression_is_written(e, text, unicode, latex):
    assert e.ascii() == e.text(TEXT) == text
    assert str(e) == e.text() == e.text(UNICODE) == unicode
    assert e.latex() == e.text(LATEX) == latex
    assert e._repr_latex_() == f"${latex}$"
    assert text.isascii() and (latex.isascii() or e is WRITTEN[-1][0])


PYTHON_TEXT = [
    (whole.mass.inv() @ (tau - H @ b), "(H @ phi @ M @ phi.T @ H.T).inv() @ (tau - H @ b)"),
    (M / 2 - 7 * P / 3, "Fraction(1, 2) * M - Fraction(7, 3) * P"),
    (-M / 2 + 3 * P, "-Fraction(1, 2) * M + 3 * P"),
    (-(M + P) @ phi, "(-M - P) @ phi"),
    (phi.T.inv(), "(phi.T).inv()"),
    (2 * logdet(M + P), "2 * logdet(M + P)"),
    (identity(Body) - zero(Body, Joint) @ H, "identity(Body)"),
    (zero(Joint, Body), "zero(Joint, Body)"),
]


@pytest.mark.parametrize(("e", "wanted"), PYTHON_TEXT, ids=[row[1] for row in PYTHON_TEXT])
def test_an_expression_is_written_as_python(e, wanted):
    assert repr(e) == e.text(PYTHON) == wanted


def test_a_leaf_of_your_own_is_written_with_its_options():
    x = leaf("W", Body, Body, self_adjoint=True, unicode="ω", latex=r"\omega", meaning="weights", needs=(b,))
    assert repr(x) == (
        r"leaf('W', Body, Body, Structure.DENSE, self_adjoint=True, unicode='ω', latex='\\omega', "
        "meaning='weights', needs=(b,))"
    )
    assert (x.ascii(), str(x), x.latex()) == ("W", "ω", r"\omega")


@pytest.mark.parametrize("e", [Di.inv(), Mi.inv()], ids=str)
def test_latex_has_no_double_superscripts(e):
    assert not re.search(r"\^\{[^{}]*\}\^", e.latex())
