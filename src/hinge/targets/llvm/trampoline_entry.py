"""The IR of entries: from arrays of one state into a kernel, and from its results to Python objects.

The description of an entry is words (see `WORDS`), the length of each input, the size of each output, for
each output its record (name, number of dimensions, index of its dimensions), and the dimensions of each
output behind a word of room for the size of a batch.

The kernels of a program, which all its entries share, are words too (see `KERNELS`), null where there is
none yet.
"""

from __future__ import annotations

MOST = 64  # the inputs, and the outputs, that the native functions have room for

#: What the native functions call or compare with.
PYTHON = (
    "PyObject_Vectorcall", "Py_IncRef", "Py_DecRef", "PyDict_Copy", "PyDict_SetItem", "PyMem_RawMalloc",
    "PyMem_RawFree", "PyEval_SaveThread", "PyEval_RestoreThread", "PyObject_GenericSetDict", "PyTuple_New",
    "PyObject_GenericGetDict", "PyDict_Size", "PyDict_GetItem", "PyErr_Clear",
)  # fmt: skip
ADDRESSES = (*PYTHON, "PyArray_NewFromDescr", "ndarray", "float64", "dict")
#: Inputs, outputs, the index of the records, the numbers that one state has in all outputs, and how many of
#: the first outputs stand apart: if any do, the results are a tuple of these and of a dictionary of others.
_NUMBERS = ("wanted", "results", "records", "filled", "apart")
#: `finish`, if there is one, is called with the results, and its value is returned; `out` is the name of the
#: keyword for an array to write into. If `fills` is a class, the dictionary becomes the namespace of a `new`
#: object of it in place of a call of `finish`; objects of the class `reused` may come as `out`. `blank` is a
#: dictionary with the names in it, since a copy is made sooner than one that grows. `kept` is null, or room
#: for two arrays of each result, see `trampoline_kept`.
_OWNED = ("fallback", "finish", "fills", "reused", "new", "kernels", "alone", "out", "blank", "kept")
WORDS = (*_OWNED, *_NUMBERS, *ADDRESSES)
HEAD = len(WORDS)
#: Code and scratch for one state, code and bytes of scratch for W states, W, and the numbers of states from
#: which the GIL is released, and from which threads share them.
KERNELS = ("one", "space", "wide", "bytes", "width", "long", "most")


def loads(*names: str) -> str:
    """Return the loads of words of a description."""
    lines: list[str] = []
    for n in names:
        kind = "i64" if n in _NUMBERS else "ptr"
        lines.append(f"  %{n}.word = getelementptr i64, ptr %words, i64 {WORDS.index(n)}")
        lines.append(f"  %{n} = load {kind}, ptr %{n}.word")
    return "\n".join(lines)


def kernel_loads(*names: str) -> str:
    """Return the loads of words of the kernels."""
    lines: list[str] = []
    for n in names:
        kind = "ptr" if n in ("one", "space", "wide") else "i64"
        lines.append(f"  %{n}.word = getelementptr i64, ptr %kernels, i64 {KERNELS.index(n)}")
        lines.append(f"  %{n} = load {kind}, ptr %{n}.word")
    return "\n".join(lines)


#: Argument i, which goes on to `shape` if it is a plain array of doubles, else to `other`.
ARGUMENT = """
  %x.at = getelementptr ptr, ptr %arguments, i64 %i
  %x = load ptr, ptr %x.at
  %type.at = getelementptr i8, ptr %x, i64 $type
  %x.type = load ptr, ptr %type.at
  %is.array = icmp eq ptr %x.type, %ndarray
  br i1 %is.array, label %fields, label %other

fields:
  %descr.at = getelementptr i8, ptr %x, i64 $descr
  %x.descr = load ptr, ptr %descr.at
  %is.double = icmp eq ptr %x.descr, %float64
  %flags.at = getelementptr i8, ptr %x, i64 $flags
  %flags = load i32, ptr %flags.at
  %layout = and i32 %flags, $plain
  %is.plain = icmp eq i32 %layout, $plain
  %nd.at = getelementptr i8, ptr %x, i64 $nd
  %nd = load i32, ptr %nd.at
  %dimensions.at = getelementptr i8, ptr %x, i64 $dimensions
  %dimensions = load ptr, ptr %dimensions.at
  %data.at = getelementptr i8, ptr %x, i64 $data
  %data = load ptr, ptr %data.at
  %length.at = getelementptr i64, ptr %lengths, i64 %i
  %length = load i64, ptr %length.at
  %input.at = getelementptr ptr, ptr %inputs, i64 %i
  %sound = and i1 %is.double, %is.plain
  br i1 %sound, label %shape, label %other
"""

# Nothing between the checks of the inputs and the run may call Python code, which could change the inputs:
# arrays are allocated before the run (they take no part in garbage collection), the dictionary after it.
TEXT = f"""
define ptr @entry(ptr %self, ptr %arguments, i64 %count, ptr %keywords) {{
start:
  %inputs = alloca [$most x ptr]
  %outputs = alloca [$most x ptr]
  %arrays = alloca [$most x ptr]
$words
{loads("finish", "kernels", "wanted", "results", "ndarray", "float64")}
{kernel_loads("one", "space")}
  %lengths = getelementptr i64, ptr %words, i64 $head
  %right = icmp eq i64 %count, %wanted
  %bare = icmp eq ptr %keywords, null
  %made = icmp ne ptr %one, null
  %fits.0 = and i1 %right, %bare
  %fits = and i1 %fits.0, %made
  br i1 %fits, label %check, label %other

other:
  %found = tail call ptr @batch(ptr %self, ptr %arguments, i64 %count, ptr %keywords)
  ret ptr %found

check:
  %i = phi i64 [0, %start], [%i.next, %accept]
  %checked = icmp eq i64 %i, %wanted
  br i1 %checked, label %prepare, label %argument

argument:
{ARGUMENT}
shape:
  %is.vector = icmp eq i32 %nd, 1
  br i1 %is.vector, label %vector, label %other

vector:
  %n = load i64, ptr %dimensions
  %same = icmp eq i64 %n, %length
  br i1 %same, label %accept, label %other

accept:
  store ptr %data, ptr %input.at
  %i.next = add i64 %i, 1
  br label %check

prepare:
  %ready = call i1 @make(ptr %words, ptr %arrays, ptr %outputs, i64 0, i64 1)
  br i1 %ready, label %run, label %fail

run:
  call void %one(ptr %inputs, ptr %lengths, ptr %outputs, ptr %space, i64 0, i64 1)
  %alone = icmp eq i64 %results, 1
  %as.it.is = icmp eq ptr %finish, null
  %direct = and i1 %alone, %as.it.is
  br i1 %direct, label %single, label %several

single:
  %result = load ptr, ptr %arrays
  ret ptr %result

several:
  %finished = call ptr @finished(ptr %words, ptr %arrays)
  ret ptr %finished

fail:
  ret ptr null
}}

; Make the arrays for the results, with one more dimension of a size in front if `more` is 1.
define internal i1 @make(ptr %words, ptr %arrays, ptr %outputs, i64 %more, i64 %size) {{
start:
{loads("results", "records", "kept", "Py_IncRef", "PyArray_NewFromDescr", "ndarray", "float64")}
  %first = getelementptr i64, ptr %words, i64 %records
  %are.kept = icmp ne ptr %kept, null
  %is.state = icmp eq i64 %more, 0
  %again = and i1 %are.kept, %is.state
  br label %next

next:
  %k = phi i64 [0, %start], [%k.next, %keep]
  %done = icmp eq i64 %k, %results
  br i1 %done, label %yes, label %one

one:
  %record = getelementptr [3 x i64], ptr %first, i64 %k
  %ndim.at = getelementptr i64, ptr %record, i64 1
  %ndim.own = load i64, ptr %ndim.at
  %ndim.all = add i64 %ndim.own, %more
  %ndim = trunc i64 %ndim.all to i32
  %shape.at = getelementptr i64, ptr %record, i64 2
  %own.index = load i64, ptr %shape.at
  %room.index = sub i64 %own.index, 1
  %room = getelementptr i64, ptr %words, i64 %room.index
  store i64 %size, ptr %room
  %shape.index = sub i64 %own.index, %more
  %shape = getelementptr i64, ptr %words, i64 %shape.index
  %pair.index = mul i64 %k, 2
  %pair = getelementptr ptr, ptr %kept, i64 %pair.index
  br i1 %again, label %old, label %new

old:
  %taken = call ptr @take(ptr %words, ptr %pair, i32 %ndim, ptr %shape)
  %is.taken = icmp ne ptr %taken, null
  br i1 %is.taken, label %keep, label %new

new:
  call void %Py_IncRef(ptr %float64)
  %made = call ptr %PyArray_NewFromDescr(ptr %ndarray, ptr %float64, i32 %ndim, ptr %shape,
                                          ptr null, ptr null, i32 0, ptr null)
  %no.array = icmp eq ptr %made, null
  br i1 %no.array, label %no, label %is.new

is.new:
  br i1 %again, label %put, label %keep

put:
  call void @put(ptr %words, ptr %pair, ptr %made)
  br label %keep

keep:
  %array = phi ptr [%taken, %old], [%made, %is.new], [%made, %put]
  %array.at = getelementptr ptr, ptr %arrays, i64 %k
  store ptr %array, ptr %array.at
  %data.at = getelementptr i8, ptr %array, i64 $data
  %data = load ptr, ptr %data.at
  %output.at = getelementptr ptr, ptr %outputs, i64 %k
  store ptr %data, ptr %output.at
  %k.next = add i64 %k, 1
  br label %next

yes:
  ret i1 true

no:
  call void @drop(ptr %words, ptr %arrays, i64 0, i64 %k)
  ret i1 false
}}

; Return what a caller gets for the results, or null.
define internal ptr @finished(ptr %words, ptr %arrays) {{
start:
  %given = alloca ptr
{loads("finish", "fills", "new", "apart", "PyObject_Vectorcall", "Py_DecRef", "PyObject_GenericSetDict")}
  %in.tuple = icmp ne i64 %apart, 0
  br i1 %in.tuple, label %tuple, label %together

tuple:
  %tuple.found = tail call ptr @tupled(ptr %words, ptr %arrays)
  ret ptr %tuple.found

together:
  %found = call ptr @collect(ptr %words, ptr %arrays)
  %as.it.is = icmp eq ptr %finish, null
  %failed = icmp eq ptr %found, null
  %done = or i1 %as.it.is, %failed
  br i1 %done, label %end, label %more

end:
  ret ptr %found

more:
  %is.called = icmp eq ptr %fills, null
  br i1 %is.called, label %call, label %fill

fill:
  store ptr %fills, ptr %given
  %object = call ptr %PyObject_Vectorcall(ptr %new, ptr %given, i64 1, ptr null)
  %no.object = icmp eq ptr %object, null
  br i1 %no.object, label %filled, label %put

put:
  %status = call i32 %PyObject_GenericSetDict(ptr %object, ptr %found, ptr null)
  %put.there = icmp eq i32 %status, 0
  br i1 %put.there, label %filled, label %lose

lose:
  call void %Py_DecRef(ptr %object)
  br label %filled

filled:
  %kept = phi ptr [null, %fill], [%object, %put], [null, %lose]
  call void %Py_DecRef(ptr %found)
  ret ptr %kept

call:
  store ptr %found, ptr %given
  %value = call ptr %PyObject_Vectorcall(ptr %finish, ptr %given, i64 1, ptr null)
  call void %Py_DecRef(ptr %found)
  ret ptr %value
}}

; Return a tuple of the results that stand apart, and of a dictionary of the others if there are any, or null.
define internal ptr @tupled(ptr %words, ptr %arrays) {{
start:
{loads("results", "apart", "PyTuple_New", "Py_DecRef")}
  %is.all = icmp eq i64 %apart, %results
  br i1 %is.all, label %make, label %rest

rest:
  %dictionary = call ptr @collect(ptr %words, ptr %arrays)
  %failed = icmp eq ptr %dictionary, null
  br i1 %failed, label %lose, label %make

make:
  %last = phi ptr [null, %start], [%dictionary, %rest]
  %has.more = icmp ne ptr %last, null
  %more = zext i1 %has.more to i64
  %size = add i64 %apart, %more
  %tuple = call ptr %PyTuple_New(i64 %size)
  %items = getelementptr i8, ptr %tuple, i64 $item
  %none = icmp eq ptr %tuple, null
  br i1 %none, label %undo, label %fill

fill:
  %j = phi i64 [0, %make], [%j.next, %put]
  %filled = icmp eq i64 %j, %apart
  br i1 %filled, label %end, label %put

put:
  %value.at = getelementptr ptr, ptr %arrays, i64 %j
  %value = load ptr, ptr %value.at
  %item.at = getelementptr ptr, ptr %items, i64 %j
  store ptr %value, ptr %item.at
  %j.next = add i64 %j, 1
  br label %fill

end:
  br i1 %has.more, label %put.last, label %return

put.last:
  %last.at = getelementptr ptr, ptr %items, i64 %apart
  store ptr %last, ptr %last.at
  br label %return

return:
  ret ptr %tuple

undo:
  br i1 %has.more, label %drop.last, label %lose

drop.last:
  call void %Py_DecRef(ptr %last)
  br label %lose

lose:
  call void @drop(ptr %words, ptr %arrays, i64 0, i64 %apart)
  ret ptr null
}}

; Return the only result or a dictionary of all that do not stand apart, or null; their arrays are given away
; or dropped.
define internal ptr @collect(ptr %words, ptr %arrays) {{
start:
{loads("results", "records", "apart", "blank", "Py_DecRef", "PyDict_Copy", "PyDict_SetItem")}
  %alone = icmp eq i64 %results, 1
  br i1 %alone, label %single, label %several

single:
  %result = load ptr, ptr %arrays
  ret ptr %result

several:
  %first = getelementptr i64, ptr %words, i64 %records
  %dictionary = call ptr %PyDict_Copy(ptr %blank)
  %none = icmp eq ptr %dictionary, null
  br i1 %none, label %fail, label %fill

fill:
  %j = phi i64 [%apart, %several], [%j.next, %put]
  %filled = icmp eq i64 %j, %results
  br i1 %filled, label %return, label %put

put:
  %record = getelementptr [3 x i64], ptr %first, i64 %j
  %name = load ptr, ptr %record
  %value.at = getelementptr ptr, ptr %arrays, i64 %j
  %value = load ptr, ptr %value.at
  %status = call i32 %PyDict_SetItem(ptr %dictionary, ptr %name, ptr %value)
  call void %Py_DecRef(ptr %value)
  %j.next = add i64 %j, 1
  %refused = icmp ne i32 %status, 0
  br i1 %refused, label %undo, label %fill

return:
  ret ptr %dictionary

undo:
  call void %Py_DecRef(ptr %dictionary)
  br label %fail

fail:
  %from = phi i64 [%apart, %several], [%j.next, %undo]
  call void @drop(ptr %words, ptr %arrays, i64 %from, i64 %results)
  ret ptr null
}}

; Give up the arrays of a range.
define internal void @drop(ptr %words, ptr %arrays, i64 %from, i64 %to) {{
start:
{loads("Py_DecRef")}
  br label %next

next:
  %k = phi i64 [%from, %start], [%k.next, %one]
  %done = icmp eq i64 %k, %to
  br i1 %done, label %end, label %one

one:
  %lost.at = getelementptr ptr, ptr %arrays, i64 %k
  %lost = load ptr, ptr %lost.at
  call void %Py_DecRef(ptr %lost)
  %k.next = add i64 %k, 1
  br label %next

end:
  ret void
}}
"""
