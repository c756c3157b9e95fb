from __future__ import annotations

import pytest

from hinge.kernels import Graph


@pytest.fixture
def graph():
    return Graph()


@pytest.fixture
def x(graph):
    return graph.input("x")
