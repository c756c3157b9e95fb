from __future__ import annotations

import ctypes
import sys
import types

import pytest

from hinge.targets.llvm import trampoline as module


def test_there_is_no_gate_where_the_layout_is_unknown(monkeypatch):
    assert module.trampoline() is not None
    monkeypatch.setattr(module, "layout_is_known", lambda: False)
    assert module.trampoline.__wrapped__() is None


def test_layout_check(monkeypatch):
    assert module.layout_is_known()
    monkeypatch.setattr(module, "_reads_well", lambda x: x.ndim != 3)
    assert not module.layout_is_known()


def test_layout_check_notices_other_fields(monkeypatch):
    fields = list(module._ArrayFields._fields_)
    fields[6], fields[7] = fields[7], fields[6]
    swapped = type("Swapped", (ctypes.Structure,), {"_fields_": fields})
    monkeypatch.setattr(module, "_ArrayFields", swapped)
    assert not module.layout_is_known()


@pytest.mark.parametrize("name", ["pypy", "graalpy"])
def test_other_interpreters_are_left_alone(monkeypatch, name):
    monkeypatch.setattr(sys, "implementation", types.SimpleNamespace(name=name))
    assert not module.layout_is_known()


def test_no_gil_is_left_alone(monkeypatch):
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
    assert not module.layout_is_known()
