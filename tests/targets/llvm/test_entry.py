from __future__ import annotations

import ctypes
import gc
import inspect
import math
import pickle
import pydoc
import subprocess
import sys
import threading
import types
import weakref
from typing import Any

import numpy as np
import pytest

from hinge.targets.llvm import entry as module
from hinge.targets.llvm.entry import make_entry
from tests.targets.llvm.entries import Kernel, address, axpy, empty, growth, kernels, make, marked, went_back


@pytest.fixture(scope="module")
def entry():
    return make()


@pytest.fixture
def a():
    return np.array([1.0, -2.0, 3.5])


@pytest.fixture
def b():
    return np.array([0.25, 5.0, -7.0])


def test_result_is_a_new_array(entry, a, b):
    first, second = entry(a, b), entry(a, b)
    assert type(first) is np.ndarray
    assert first.dtype is np.dtype(np.float64)
    assert first.shape == (3,)
    assert first.flags.owndata and first.flags.writeable and first.flags.c_contiguous
    np.testing.assert_array_equal(first, 2 * a + b)
    assert not np.shares_memory(first, second)
    assert sys.getrefcount(first) == 2


def test_same_array_twice(entry, a):
    np.testing.assert_array_equal(entry(a, a), 3 * a)


def test_views_and_read_only_inputs_are_fast(entry, a, b):
    x = np.arange(20.0)
    np.testing.assert_array_equal(entry(x[4:7], x[10:13]), 2 * x[4:7] + x[10:13])
    a.flags.writeable = False
    np.testing.assert_array_equal(entry(a, b), 2 * a + b)
    np.testing.assert_array_equal(entry(np.arange(6.0).reshape(2, 3)[1], b), [6 + b[0], 8 + b[1], 10 + b[2]])


def test_star_arguments(entry, a, b):
    np.testing.assert_array_equal(entry(*[a, b], **{}), 2 * a + b)


def test_kernel_sees_its_arguments():
    seen: list[Any] = []

    @Kernel
    def kernel(inputs, strides, outputs, scratch, start, stop):
        numbers = [[inputs[k][i] for i in range(n)] for k, n in enumerate((2, 0, 4))]
        work = (ctypes.c_double * 1000).from_address(scratch)
        work[0], work[999] = 1.0, 2.0
        outputs[0][0], outputs[1][5] = 7.0, 8.0
        seen.append((numbers, scratch % 64, start, stop))

    entry = make(address(kernel), (2, 0, 4), ((), (2, 3), (0, 3)), ("energy", "matrix", "none"), 1000)
    found = entry(np.array([1.0, 2.0]), np.empty(0), np.arange(4.0))
    assert seen == [([[1.0, 2.0], [], [0.0, 1.0, 2.0, 3.0]], 0, 0, 1)]
    assert list(found) == ["energy", "matrix", "none"]
    assert type(found["energy"]) is np.ndarray and found["energy"].shape == ()
    assert found["energy"] == 7.0
    assert found["matrix"].shape == (2, 3) and found["matrix"][1, 2] == 8.0
    assert found["none"].shape == (0, 3)
    assert all(sys.getrefcount(x) == 4 for x in found.values()), "the entry keeps each"
    assert went_back(entry, np.array([1.0, 2.0]), np.empty(1), np.arange(4.0))


def test_one_output_without_axes():
    found = make(empty, outputs=((),))(np.empty(3), np.empty(3))
    assert type(found) is np.ndarray and found.shape == ()


def test_one_output_without_elements():
    assert make(empty, outputs=((0, 4),))(np.empty(3), np.empty(3)).shape == (0, 4)


def test_no_input_and_no_output():
    assert make(empty, (), (), ())() == {}
    assert make(empty, (), ((2,),))().shape == (2,)
    assert went_back(make(empty, (), (), ()), 1)


def test_keys_are_interned(a, b):
    word = "".join(["acc", "eleration"])
    found = make(empty, outputs=((3,), (1,)), names=(word, "other"))(a, b)
    assert next(iter(found)) is sys.intern("acceleration")


def test_most_inputs_and_outputs():
    x = [np.empty(1)] * 65
    names = [f"n{k}" for k in range(65)]
    entry = make(empty, (1,) * 64, ((1,),) * 64, names[:64])
    assert isinstance(entry, types.BuiltinFunctionType)
    assert list(entry(*x[:64])) == names[:64]
    assert not isinstance(make(empty, (1,) * 65, ((1,),)), types.BuiltinFunctionType)
    assert not isinstance(make(empty, (1,), ((1,),) * 65, names), types.BuiltinFunctionType)


class Vector(np.ndarray):
    pass


class Arraylike:
    def __array__(self, dtype=None, copy=None):
        return np.zeros(3)


def misaligned():
    return np.zeros(25, np.uint8)[1:].view(np.float64)


OTHERS = {
    "subclass": np.zeros(3).view(Vector),
    "masked": np.ma.zeros(3),
    "recarray": np.zeros(3).view(np.recarray),
    "float32": np.zeros(3, np.float32),
    "int64": np.zeros(3, np.int64),
    "complex": np.zeros(3, complex),
    "object": np.zeros(3, object),
    "swapped": np.zeros(3, np.dtype(np.float64).newbyteorder()),
    "metadata": np.zeros(3, np.dtype(np.float64, metadata={"unit": "rad"})),
    "structured": np.zeros(3, [("x", float)]),
    "reversed": np.zeros(3)[::-1],
    "strided": np.zeros(6)[::2],
    "column": np.zeros((3, 2))[:, 0],
    "broadcast": np.broadcast_to(np.float64(1.0), (3,)),
    "misaligned": misaligned(),
    "short": np.zeros(2),
    "long": np.zeros(4),
    "nothing": np.zeros(0),
    "scalar": np.float64(1.0),
    "zero-dimensional": np.array(1.0),
    "rows of another length": np.zeros((3, 2)),
    "no rows": np.zeros((0, 3)),
    "columns": np.zeros((3, 3)).T,
    "two batches": np.zeros((2, 3, 3)),
    "list": [0.0, 0.0, 0.0],
    "tuple": (0.0, 0.0, 0.0),
    "none": None,
    "number": 1.0,
    "text": "abc",
    "type": np.ndarray,
    "like an array": Arraylike(),
    "memoryview": memoryview(np.zeros(3)),
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_other_arguments_go_to_the_fallback(entry, a, other):
    assert went_back(entry, other, a)
    assert went_back(entry, a, other)


def test_keywords_go_to_the_fallback(entry, a, b):
    assert went_back(entry, a, b=b)
    assert went_back(entry, a=a, b=b)
    assert went_back(entry, a, b, out=None)


def test_other_numbers_of_arguments_go_to_the_fallback(entry, a):
    for count in (0, 1, 3, 70):
        assert went_back(entry, *[a] * count)


def test_exceptions_of_the_fallback_come_through(a):
    def refuse(*args, **kwargs):
        raise LookupError(f"{len(args)} arguments")

    with pytest.raises(LookupError, match="1 arguments"):
        make(fallback=refuse)(a)


def test_endless_fallback_is_a_recursion_error():
    found: list[Any] = []
    entry = make(fallback=lambda *args: found[0](*args, 1))
    found.append(entry)
    with pytest.raises(RecursionError):
        entry(None)


def test_failed_allocation_raises_and_drops_what_was_made(a, b):
    huge = 2**59  # times 8 bytes: beyond any address space
    entry = make(empty, outputs=((200,), (5,), (huge,)), names=("x", "y", "z"))

    def fail():
        with pytest.raises(MemoryError):
            entry(a, b)

    assert growth(fail, 2000)[0] < 500


def test_impossible_shape_raises(a, b):
    with pytest.raises(ValueError, match="too big"):
        make(empty, outputs=((2**62,),))(a, b)


def test_references_to_arguments_are_given_back(a, b):
    entry = make(outputs=((3,), (2, 2)), names=("c", "d"))
    double, wrong = np.dtype(np.float64), [1.0]

    def counts():
        return [sys.getrefcount(x) for x in (a, b, wrong, marked, entry, np.ndarray)]

    before, descriptors = counts(), sys.getrefcount(double)
    for _ in range(1000):
        entry(a, b)
        entry(a, wrong)
        entry(a, b=b)
    assert counts() == before
    assert abs(sys.getrefcount(double) - descriptors) < 20


@pytest.mark.parametrize("several", [False, True])
def test_memory_is_flat_over_calls(a, b, several):
    entry = make(outputs=((3,), (20, 20)), names=("c", "d")) if several else make()
    blocks, memory = growth(lambda: entry(a, b), 1_000_000 if not several else 300_000)
    assert blocks < 500
    assert memory < 20_000_000


def test_memory_is_flat_over_fallbacks(a):
    entry = make()
    blocks, memory = growth(lambda: entry(a, 1.0), 300_000)
    assert blocks < 500
    assert memory < 20_000_000


def test_memory_is_flat_over_entries(a, b):
    def one():
        name = "x" * 100
        found = make(scratch=1000, fallback=lambda: name, name=name, doc=name)
        np.testing.assert_array_equal(found(a, b), 2 * a + b)

    def quick():
        make(scratch=1000, fallback=lambda: None, doc="y" * 1000)(a, b)

    one()
    blocks, memory = growth(quick, 20_000)
    assert blocks < 500
    assert memory < 40_000_000  # 160 MB if the work spaces leaked


def test_entry_dies_with_its_last_reference():
    def fallback():
        return None

    entry = make(fallback=fallback)
    dead = weakref.ref(entry), weakref.ref(fallback)
    del fallback
    assert dead[1]() is not None
    del entry
    assert dead[0]() is None and dead[1]() is None


class Program:
    def __init__(self):
        self.entry = make(fallback=self.general)

    def general(self, *args, **kwargs):
        return args, self


def test_cycle_through_the_fallback_is_collected(a, b):
    program = Program()
    np.testing.assert_array_equal(program.entry(a, b), 2 * a + b)
    assert program.entry(1) == ((1,), program)
    dead = weakref.ref(program), weakref.ref(program.entry)
    del program
    assert dead[0]() is not None
    gc.collect()
    assert dead[0]() is None and dead[1]() is None


def test_entry_keeps_what_it_needs(a, b):
    entries = [
        make_entry(
            kernels(empty, 10),
            [3, 3],
            [(k % 5,), ()],
            ["".join(["name", str(k)]), "".join(["other", str(k)])],
            lambda *args, k=k: k,
            name="".join(["f", str(k)]),
            doc="".join(["d", str(k)]),
        )
        for k in range(300)
    ]
    gc.collect()
    rubbish = [bytes(range(256)) * k for k in range(300)]
    for k, entry in enumerate(entries):
        assert entry() == k
        assert {n: x.shape for n, x in entry(a, b).items()} == {f"name{k}": (k % 5,), f"other{k}": ()}
        assert (entry.__name__, entry.__doc__) == (f"f{k}", f"d{k}")
    assert len(rubbish) == 300


def test_call_that_drops_its_own_entry(a):
    holder = {}

    def forget(*args):
        holder.clear()
        gc.collect()
        return args

    holder["entry"] = make(fallback=forget)
    del forget
    assert holder["entry"](1, a) == (1, a)
    assert holder == {}


def test_finalizers_may_call_the_entry(a, b):
    entry = make(outputs=((3,), (1,)), names=("c", "d"))

    class Cycle:
        def __init__(self):
            self.me = self

        def __del__(self):
            called.append(entry(b, b)["c"])

    called: list[Any] = []
    before = gc.get_threshold()
    gc.set_threshold(3)
    try:
        for _ in range(500):
            Cycle()
            np.testing.assert_array_equal(entry(a, b)["c"], 2 * a + b)
    finally:
        gc.set_threshold(*before)
    gc.collect()
    assert len(called) == 500
    assert all((x == 3 * b).all() for x in called)


def test_threads_share_an_entry(entry):
    wrong: list[int] = []

    def work(k):
        x = np.full(3, float(k))
        wrong.extend(k for _ in range(20_000) if entry(x, x)[1] != 3.0 * k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_name_doc_and_help(entry):
    assert isinstance(entry, types.BuiltinFunctionType)
    assert entry.__name__ == "axpy"
    assert inspect.getdoc(entry) == "Return 2 a + b."
    page = pydoc.plain(pydoc.render_doc(entry))
    assert "axpy" in page and "Return 2 a + b." in page
    assert "axpy" in repr(entry)
    assert "marked" in repr(entry.__self__)


def test_signature_in_the_doc():
    doc = "f(q, v, *, gravity=9.81)\n--\n\nReturn the accelerations of q̈."
    entry = make(empty, (1,), ((1,),), name="f", doc=doc)
    assert str(inspect.signature(entry)) == "(q, v, *, gravity=9.81)"
    assert entry.__doc__ == "Return the accelerations of q̈."


def test_pickling_is_refused(entry):
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(entry)


def test_plain_function_where_the_layout_is_unknown(monkeypatch, a, b):
    monkeypatch.setattr(module, "trampoline", lambda: None)
    entry = make()
    assert inspect.isfunction(entry)
    assert (entry.__name__, entry.__doc__) == ("axpy", "Return 2 a + b.")
    assert went_back(entry, a, b)
    assert went_back(entry, a, b=b)


SHUTDOWN = """
import os
import numpy as np
from hinge.targets.llvm.entry import Kernels, make_entry
from hinge.targets.llvm.machine import assembled, loaded

code = loaded(assembled('''define void @run(ptr %a, ptr %b, ptr %c, ptr %d, i64 %e, i64 %f) {
  ret void
}''')[0])
code.engine.detach()
kernels = Kernels(4, long=1, most=100)
kernels.set_one(code.address, 5)
kernels.set_wide(code.address, 5)

class Late:
    def __init__(self):
        self.x, self.many, self.write = np.zeros(3), np.zeros((9, 3)), os.write
        self.entry = make_entry(kernels, [3], [(2, 3)], ["y"], lambda: None, name="f", doc="d")

    def __del__(self):
        self.write(1, str(self.entry(self.x).shape + self.entry(self.many).shape).encode())

late = Late()
late.cycle = late
"""


def test_call_while_the_interpreter_shuts_down():
    done = subprocess.run(
        [sys.executable, "-c", SHUTDOWN], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "(2, 3, 9, 2, 3)", "")


def random_array(random):
    dtypes = [float] * 8 + [np.float32, np.int64, ">f8", complex, object, bool, "U3", "M8[s]", "V8"]
    dtype = np.dtype(dtypes[random.integers(len(dtypes))])
    shape = tuple(random.integers(0, 5, random.choice([0, 1, 1, 1, 1, 2, 3])))
    x = np.zeros(3 if random.random() < 0.7 and len(shape) == 1 else shape, dtype)
    if dtype == np.float64:
        x = x + random.normal(size=x.shape)
    change = random.integers(12)
    if change == 0:
        return x[..., None][..., 0] if x.ndim else x
    if change == 1 and x.ndim:
        return x[::-1]
    if change == 2 and x.ndim:
        return np.repeat(x, 2, axis=0)[::2]
    if change == 3 and dtype.kind not in "O":
        return x.view(Vector)
    if change == 4 and x.ndim:
        x.flags.writeable = False
    if change == 5 and dtype == np.float64:
        return misaligned()
    return x


def random_object(random):
    kind = random.random()
    if kind < 0.4:
        return random.normal(size=3)
    if kind < 0.8:
        return random_array(random)
    makers = [
        lambda: None,
        lambda: int(random.integers(-(2**62), 2**62)) ** 3,
        lambda: float(random.normal()),
        lambda: math.nan,
        lambda: "é" * int(random.integers(5)),
        lambda: bytes(int(random.integers(40))),
        lambda: bytearray(24),
        lambda: [0.0] * int(random.integers(5)),
        lambda: (0.0, 1.0, 2.0),
        lambda: {"a": 1},
        lambda: {1.0, 2.0},
        lambda: np.ndarray,
        lambda: np.dtype(float),
        lambda: np.float64(random.normal()),
        lambda: np.zeros(3).flat,
        lambda: memoryview(np.zeros(3)),
        ctypes.c_double * 3,
        Arraylike,
        lambda: iter([1.0]),
        lambda: (x for x in [1.0]),
        lambda: make_entry,
        lambda: np,
        lambda: ValueError("x"),
        lambda: np.ma.masked,
        lambda: slice(3),
        object,
    ]
    return makers[random.integers(len(makers))]()


def is_fast(args):
    if not all(type(x) is np.ndarray and x.dtype is np.dtype(np.float64) for x in args):
        return False
    plain = all(x.flags.c_contiguous and x.flags.aligned and x.shape[-1:] == (3,) for x in args)
    sizes = {x.shape[0] for x in args if x.ndim == 2}
    return plain and all(x.ndim < 3 for x in args) and len(sizes) < 2 and 0 not in sizes


def test_random_arguments():
    entry = make(wide=axpy)
    random = np.random.default_rng(20)
    fast = 0
    for _ in range(3000):
        args = [random_object(random) for _ in range(random.choice([0, 1, 2, 2, 2, 2, 2, 2, 3]))]
        if len(args) == 2 and is_fast(args):
            np.testing.assert_array_equal(entry(*args), 2 * args[0] + args[1])
            fast += 1
        else:
            assert went_back(entry, *args)
    assert 100 < fast < 1500
