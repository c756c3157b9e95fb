from __future__ import annotations

from hinge.kernels import Graph, Operations, count, finish
from hinge.spatial import rotation


def test_count_of_each_kind():
    graph = Graph()
    x, y = graph.input("x"), graph.input("y")
    kernel = finish(graph, {"a": -(x * y + 2.0) / (x - y), "b": x.sin() * y.cos(), "c": (x * x).sqrt().log()})
    assert count(kernel) == Operations(multiplications=3, additions=2, divisions=1, functions=4)


def test_signs_constants_and_dead_code_are_free():
    graph = Graph()
    x = graph.input("x")
    x * x
    assert count(finish(graph, {"a": -x, "b": 2.0, "c": x * 1.0 + 0.0})) == Operations()


def test_a_rotation_about_a_coordinate_axis_costs_a_sine_and_a_cosine():
    graph = Graph()
    r = rotation.about((0, 1, 0), graph.input("q"))
    kernel = finish(graph, {(i, j): r[i, j] for i in range(3) for j in range(3)})
    assert count(kernel) == Operations(functions=2)


def test_sum_total_and_text():
    a, b = Operations(12, 9, 1, 2), Operations(multiplications=1)
    assert a + b == Operations(13, 9, 1, 2)
    assert (a + b).total == 25
    assert str(a) == "12 mul, 9 add, 1 div, 2 functions"
    assert str(b) == "1 mul, 0 add"
