from __future__ import annotations

from dataclasses import replace

import pytest

from hinge.kernels import Graph, Instruction, Kernel, Output, finish, verify
from tests.kernels.expressions import NAMES, program

#: t2 = x * y, t3 = 2.0, t4 = t2 - t3, t5 = sin(t4)
GOOD = Kernel(
    ("x", "y"),
    (
        Instruction("mul", (0, 1)),
        Instruction("const", (2.0,)),
        Instruction("sub", (2, 3)),
        Instruction("sin", (4,)),
    ),
    (Output("z", 5, True, None), Output("c", None, False, 1.0)),
)


def with_step(k, *step):
    steps = list(GOOD.instructions)
    steps[k] = Instruction(*step)
    return replace(GOOD, instructions=tuple(steps))


def with_more(*steps):
    return replace(GOOD, instructions=(*GOOD.instructions, *(Instruction(*s) for s in steps)))


def with_outputs(*outputs):
    return replace(GOOD, outputs=(GOOD.outputs[0], *(Output(*o) for o in outputs)))


#: Each breach of the specification, and what the message must say.
BREACHES = {
    "two inputs of one name": (replace(GOOD, inputs=("x", "x")), "input x: there are 2"),
    "two outputs of one name": (with_outputs(("z", 4, False, None)), "out z: there are 2"),
    "unknown op": (with_step(3, "tan", (4,)), r"t5 = tan\(4\): unknown op"),
    "an input amid the code": (with_step(3, "input", (4,)), r"t5 = input\(4\): unknown op"),
    "too many arguments": (with_step(3, "sin", (4, 4)), r"t5 = sin\(4, 4\): wrong number"),
    "too few arguments": (with_step(0, "mul", (0,)), r"t2 = mul\(0\): wrong number"),
    "a constant without number": (with_step(1, "const", ()), r"t3 = const\(\): wrong number"),
    "infinite constant": (with_step(1, "const", (float("inf"),)), r"t3 = const\(inf\): not a finite"),
    "NaN": (with_step(1, "const", (float("nan"),)), r"t3 = const\(nan\): not a finite"),
    "integer constant": (with_step(1, "const", (2,)), r"t3 = const\(2\): not a finite float"),
    "argument of the future": (with_step(2, "sub", (2, 5)), r"t4 = sub\(2, 5\): argument 5"),
    "argument is itself": (with_step(2, "sub", (2, 4)), r"t4 = sub\(2, 4\): argument 4"),
    "negative argument": (with_step(2, "sub", (2, -1)), r"t4 = sub\(2, -1\): argument -1"),
    "float argument": (with_step(3, "sin", (4.0,)), r"t5 = sin\(4.0\): argument 4.0"),
    "arguments out of order": (with_step(0, "mul", (1, 0)), r"t2 = mul\(1, 0\): arguments of mul"),
    "duplicate": (with_more(("mul", (0, 1))), r"t6 = mul\(0, 1\): the same as t2"),
    "duplicate constant": (with_more(("const", (2.0,))), r"t6 = const\(2.0\): the same as t3"),
    "missing value": (with_outputs(("w", 6, False, None)), "out w: there is no value t6"),
    "neither value nor constant": (
        with_outputs(("w", None, False, None)),
        "out w: expected either a value or a constant",
    ),
    "both value and constant": (
        with_outputs(("w", 4, False, 1.0)),
        "out w: expected either a value or a constant",
    ),
    "constant with sign": (with_outputs(("w", None, True, 1.0)), "out w: 1.0 is not"),
    "infinite output": (with_outputs(("w", None, False, float("inf"))), "out w: inf is not"),
    "output of a constant value": (with_outputs(("w", 3, False, None)), "out w: t3 is constant"),
    "unfolded constants": (with_more(("sin", (3,))), r"t6 = sin\(3\): all arguments are constant"),
    "dead instruction": (with_more(("cos", (4,))), r"t6 = cos\(4\): dead"),
    "dead input": (with_step(0, "mul", (0, 0)), "input y: dead"),
}


def test_the_example_is_legal():
    verify(GOOD)


@pytest.mark.parametrize("name", BREACHES)
def test_a_breach_is_named(name):
    kernel, message = BREACHES[name]
    with pytest.raises(AssertionError, match=message):
        verify(kernel)


@pytest.mark.parametrize("seed", range(40))
def test_finished_kernels_are_legal(seed):
    graph = Graph()
    kernel = finish(graph, dict(enumerate(program(seed)(*map(graph.input, NAMES)))))
    verify(kernel)
    verify(kernel.restricted([0, 7, 31]))
