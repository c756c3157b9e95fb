"""Small kernels, and entries that run them."""

from __future__ import annotations

import ctypes
import gc
import sys

import pytest
from llvmlite import binding as llvm

from hinge.targets.llvm.entry import Kernels, make_entry

#: c = 2 a + b for three numbers of each state.
AXPY = """
define void @run(ptr %in, ptr %strides, ptr %out, ptr %scratch, i64 %start, i64 %stop) {
begin:
  %b.at = getelementptr ptr, ptr %in, i64 1
  %a = load ptr, ptr %in
  %b = load ptr, ptr %b.at
  %c = load ptr, ptr %out
  %b.stride.at = getelementptr i64, ptr %strides, i64 1
  %c.stride.at = getelementptr i64, ptr %strides, i64 2
  %a.stride = load i64, ptr %strides
  %b.stride = load i64, ptr %b.stride.at
  %c.stride = load i64, ptr %c.stride.at
  br label %states
states:
  %s = phi i64 [%start, %begin], [%s.next, %more]
  %done = icmp eq i64 %s, %stop
  br i1 %done, label %end, label %state
state:
  %a.first = mul i64 %s, %a.stride
  %b.first = mul i64 %s, %b.stride
  %c.first = mul i64 %s, %c.stride
  br label %head
head:
  %i = phi i64 [0, %state], [%next, %body]
  %over = icmp eq i64 %i, 3
  br i1 %over, label %more, label %body
body:
  %a.k = add i64 %a.first, %i
  %b.k = add i64 %b.first, %i
  %c.k = add i64 %c.first, %i
  %a.i = getelementptr double, ptr %a, i64 %a.k
  %b.i = getelementptr double, ptr %b, i64 %b.k
  %c.i = getelementptr double, ptr %c, i64 %c.k
  %x = load double, ptr %a.i
  %y = load double, ptr %b.i
  %twice = fmul double %x, 2.0
  %z = fadd double %twice, %y
  store double %z, ptr %c.i
  %next = add i64 %i, 1
  br label %head
more:
  %s.next = add i64 %s, 1
  br label %states
end:
  ret void
}
"""

EMPTY = "define void @run(ptr %in, ptr %strides, ptr %out, ptr %scratch, i64 %a, i64 %b) {\n  ret void\n}"
#: States at once, of entries made here.
WIDTH = 4


def compiled(text):
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(reloc="pic", codemodel="jitdefault")
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(text), machine)
    engine.finalize_object()
    return engine, engine.get_function_address("run")


ENGINES = [compiled(AXPY), compiled(EMPTY)]
axpy, empty = (address for _, address in ENGINES)

Pointers = ctypes.POINTER(ctypes.POINTER(ctypes.c_double))
Integers = ctypes.POINTER(ctypes.c_int64)
Kernel = ctypes.CFUNCTYPE(None, Pointers, Integers, Pointers, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


def address(kernel):
    return ctypes.cast(kernel, ctypes.c_void_p).value


def marked(*args, **kwargs):
    return "fallback", args, kwargs


def kernels(one=None, scratch=0, wide=None, long=100, most=10_000):
    """Return the kernels at these addresses."""
    found = Kernels(WIDTH, long=long, most=most)
    if one is not None:
        found.set_one(one, scratch)
    if wide is not None:
        found.set_wide(wide, scratch)
    return found


def make(
    run=axpy, inputs=(3, 3), outputs=((3,),), names=("c",), scratch=0, fallback=marked, name="axpy",
    doc="Return 2 a + b.", wide=None, finish=None, **limits,
):  # fmt: skip
    given = kernels(run, scratch, wide, **limits)
    return make_entry(given, inputs, outputs, names, fallback, name=name, doc=doc, finish=finish)


def went_back(entry, *args, **kwargs):
    """Return whether the call reached the fallback with the very same objects."""
    found = entry(*args, **kwargs)
    if type(found) is not tuple or found[0] != "fallback":
        return False
    same = len(found[1]) == len(args) and all(x is y for x, y in zip(found[1], args, strict=True))
    return same and found[2].keys() == kwargs.keys() and all(found[2][k] is kwargs[k] for k in kwargs)


def growth(function, times):
    """Return the growth of the interpreter's memory blocks, and of the process in bytes, over calls."""
    resource = pytest.importorskip("resource")
    for _ in range(100):
        function()
    unit = 1 if sys.platform == "darwin" else 1024
    gc.collect()
    blocks, peak = sys.getallocatedblocks(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(times):
        function()
    gc.collect()
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return sys.getallocatedblocks() - blocks, unit * (after - peak)
