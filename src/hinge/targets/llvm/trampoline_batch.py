"""The IR of entries for batches: arrays (B, n), or (n,) for one row for all states.

Small batches run with the GIL held, on the code for one state while they are narrower than W. Batches for
several threads go to the fallback, unless the number of threads is one, and so do arrays that are not plain,
and calls whose code is not compiled yet. Where outputs have no numbers nothing runs.
"""

from __future__ import annotations

from hinge.targets.llvm.trampoline_entry import ARGUMENT, kernel_loads, loads

#: The rest of the check of argument i: one row for all states, or as many rows as the others have.
SHAPE = """
shape:
  switch i32 %nd, label %other [i32 1, label %vector
                                i32 2, label %rows]

vector:
  %n = load i64, ptr %dimensions
  %same = icmp eq i64 %n, %length
  br i1 %same, label %accept, label %other

rows:
  %size = load i64, ptr %dimensions
  %across.at = getelementptr i64, ptr %dimensions, i64 1
  %across = load i64, ptr %across.at
  %same.across = icmp eq i64 %across, %length
  %is.first = icmp eq i64 %states, 0
  %same.size = icmp eq i64 %states, %size
  %size.fits = or i1 %is.first, %same.size
  %some = icmp sgt i64 %size, 0
  %good.0 = and i1 %same.across, %size.fits
  %good = and i1 %good.0, %some
  br i1 %good, label %accept, label %other

accept:
  %states.next = phi i64 [%states, %vector], [%size, %rows]
  %stride = phi i64 [0, %vector], [%length, %rows]
  store ptr %data, ptr %input.at
  %stride.at = getelementptr i64, ptr %strides, i64 %i
  store i64 %stride, ptr %stride.at
  %i.next = add i64 %i, 1
  br label %check
"""

#: Whether there is code for so many states, and they are not for several threads.
CHOICE = """
  %is.wide = icmp sge i64 %states, %width
  %code = select i1 %is.wide, ptr %wide, ptr %one
  %is.made = icmp ne ptr %code, null
  %is.alone = load i64, ptr %alone
  %one.thread = icmp ne i64 %is.alone, 0
  %is.small = icmp slt i64 %states, %most
  %ours = or i1 %one.thread, %is.small
  %can = and i1 %is.made, %ours
"""

TEXT = f"""
define internal ptr @batch(ptr %self, ptr %arguments, i64 %count, ptr %keywords) {{
start:
  %inputs = alloca [$most x ptr]
  %outputs = alloca [$most x ptr]
  %arrays = alloca [$most x ptr]
  %strides = alloca [$twice x i64]
$words
{loads("fallback", "kernels", "alone", "out", "wanted", "results", "PyObject_Vectorcall")}
{loads("ndarray", "float64")}
{kernel_loads("one", "wide", "width", "most")}
  %lengths = getelementptr i64, ptr %words, i64 $head
  %right = icmp eq i64 %count, %wanted
  %bare = icmp eq ptr %keywords, null
  %fits = and i1 %right, %bare
  br i1 %fits, label %check, label %named

named:
  %wrong = xor i1 %right, true
  %no.out = or i1 %wrong, %bare
  br i1 %no.out, label %other, label %keyword

keyword:
  %keywords.at = getelementptr i8, ptr %keywords, i64 $size
  %keywords.count = load i64, ptr %keywords.at
  %keyword.at = getelementptr i8, ptr %keywords, i64 $item
  %is.single = icmp eq i64 %keywords.count, 1
  br i1 %is.single, label %its.name, label %other

its.name:
  %its = load ptr, ptr %keyword.at
  %is.out = icmp eq ptr %its, %out
  br i1 %is.out, label %into, label %other

into:
  %target.at = getelementptr ptr, ptr %arguments, i64 %count
  %target = load ptr, ptr %target.at
  %written = call ptr @into(ptr %self, ptr %arguments, ptr %target)
  %is.written = icmp ne ptr %written, null
  br i1 %is.written, label %return, label %other

return:
  ret ptr %written

other:
  %found = tail call ptr %PyObject_Vectorcall(ptr %fallback, ptr %arguments, i64 %count, ptr %keywords)
  ret ptr %found

check:
  %i = phi i64 [0, %start], [%i.next, %accept]
  %states = phi i64 [0, %start], [%states.next, %accept]
  %checked = icmp eq i64 %i, %wanted
  br i1 %checked, label %choose, label %argument

argument:
{ARGUMENT}
{SHAPE}
choose:
  %is.batch = icmp sgt i64 %states, 0
  br i1 %is.batch, label %code.for, label %other

code.for:
{CHOICE}
  br i1 %can, label %prepare, label %other

prepare:
  %ready = call i1 @make(ptr %words, ptr %arrays, ptr %outputs, i64 1, i64 %states)
  br i1 %ready, label %sizes, label %fail

fail:
  ret ptr null

sizes:
  %k = phi i64 [0, %prepare], [%k.next, %put]
  %put.all = icmp eq i64 %k, %results
  br i1 %put.all, label %run, label %put

put:
  %at = add i64 %wanted, %k
  %length.of.at = getelementptr i64, ptr %lengths, i64 %at
  %output.size = load i64, ptr %length.of.at
  %output.stride.at = getelementptr i64, ptr %strides, i64 %at
  store i64 %output.size, ptr %output.stride.at
  %k.next = add i64 %k, 1
  br label %sizes

run:
{loads("Py_IncRef", "Py_DecRef")}
  call void %Py_IncRef(ptr %self)
  %ran = call i1 @run_states(ptr %words, ptr %inputs, ptr %strides, ptr %outputs, i64 %states,
                             i1 %is.wide)
  br i1 %ran, label %finish, label %give.up

give.up:
  call void @drop(ptr %words, ptr %arrays, i64 0, i64 %results)
  call void %Py_DecRef(ptr %self)
  br label %other

finish:
  %result = call ptr @finished(ptr %words, ptr %arrays)
  call void %Py_DecRef(ptr %self)
  ret ptr %result
}}

; Run over some states; false if there is no work space. Other threads may come in between, so a call for W
; states at once has work space of its own, and its caller keeps the owner of the words.
define internal i1 @run_states(ptr %words, ptr %inputs, ptr %strides, ptr %outputs, i64 %states,
                               i1 %is.wide) {{
start:
{loads("kernels", "filled", "PyMem_RawMalloc", "PyMem_RawFree")}
{kernel_loads("one", "space", "wide", "bytes", "long")}
  %is.empty = icmp eq i64 %filled, 0
  %stop = select i1 %is.empty, i64 0, i64 %states
  br i1 %is.wide, label %run.wide, label %run.one

run.one:
  call void %one(ptr %inputs, ptr %strides, ptr %outputs, ptr %space, i64 0, i64 %stop)
  ret i1 true

run.wide:
  %room = call ptr %PyMem_RawMalloc(i64 %bytes)
  %no.room = icmp eq ptr %room, null
  br i1 %no.room, label %fail, label %begin

fail:
  ret i1 false

begin:
  %room.number = ptrtoint ptr %room to i64
  %past = add i64 %room.number, 63
  %even = and i64 %past, -64
  %work = inttoptr i64 %even to ptr
  %is.long = icmp sge i64 %states, %long
  br i1 %is.long, label %release, label %hold

hold:
  call void %wide(ptr %inputs, ptr %strides, ptr %outputs, ptr %work, i64 0, i64 %stop)
  call void %PyMem_RawFree(ptr %room)
  ret i1 true

release:
{loads("PyEval_SaveThread", "PyEval_RestoreThread")}
  %state = call ptr %PyEval_SaveThread()
  call void %wide(ptr %inputs, ptr %strides, ptr %outputs, ptr %work, i64 0, i64 %stop)
  call void %PyEval_RestoreThread(ptr %state)
  call void %PyMem_RawFree(ptr %room)
  ret i1 true
}}
"""
