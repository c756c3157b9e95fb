"""The IR of entries that write into arrays of the caller, for one state and for batches.

An array has to be what a new one would be: an ndarray of float64 and of the right shape, contiguous and
aligned; writable, too, and apart from the memory of all inputs and of the others. Several come in a dict by
the names of the results, or as an object of the class `reused`. Else, and where a function of Python makes
something of the results, `into` returns null, and no exception is set: its caller goes to the fallback.
"""

from __future__ import annotations

from hinge.targets.llvm.trampoline_batch import CHOICE, SHAPE
from hinge.targets.llvm.trampoline_entry import ARGUMENT, kernel_loads, loads

TEXT = f"""
define internal ptr @into(ptr %self, ptr %arguments, ptr %given) {{
start:
  %inputs = alloca [$most x ptr]
  %outputs = alloca [$most x ptr]
  %targets = alloca [$most x ptr]
  %strides = alloca [$twice x i64]
$words
{loads("finish", "kernels", "alone", "wanted", "results", "records", "ndarray", "float64")}
{kernel_loads("one", "wide", "width", "most")}
  %lengths = getelementptr i64, ptr %words, i64 $head
  %sizes = getelementptr i64, ptr %lengths, i64 %wanted
  %single = icmp eq i64 %results, 1
  %as.it.is = icmp eq ptr %finish, null
  %only = and i1 %single, %as.it.is
  store ptr %given, ptr %targets
  br i1 %only, label %check, label %several

several:
  %named = call i1 @named(ptr %words, ptr %given, ptr %targets)
  br i1 %named, label %check, label %other

other:
  ret ptr null

check:
  %i = phi i64 [0, %start], [0, %several], [%i.next, %accept]
  %states = phi i64 [0, %start], [0, %several], [%states.next, %accept]
  %checked = icmp eq i64 %i, %wanted
  br i1 %checked, label %choose, label %argument

argument:
{ARGUMENT}
{SHAPE}
choose:
  %is.batch = icmp sgt i64 %states, 0
  %more = zext i1 %is.batch to i64
  %count = select i1 %is.batch, i64 %states, i64 1
{CHOICE}
  br i1 %can, label %target, label %other

target:
  %t = phi i64 [0, %choose], [%t.next, %clear]
  %all = icmp eq i64 %t, %results
  br i1 %all, label %prepare, label %fits

fits:
  %array.at = getelementptr ptr, ptr %targets, i64 %t
  %array = load ptr, ptr %array.at
  %index = mul i64 %t, 3
  %record.index = add i64 %records, %index
  %record = getelementptr i64, ptr %words, i64 %record.index
  %sound.target = call i1 @is_target(ptr %words, ptr %record, ptr %array, i64 %more, i64 %states)
  br i1 %sound.target, label %put, label %other

put:
  %array.data.at = getelementptr i8, ptr %array, i64 $data
  %array.data = load ptr, ptr %array.data.at
  %output.at = getelementptr ptr, ptr %outputs, i64 %t
  store ptr %array.data, ptr %output.at
  %size.at = getelementptr i64, ptr %sizes, i64 %t
  %size.of = load i64, ptr %size.at
  %stride.index = add i64 %wanted, %t
  %output.stride.at = getelementptr i64, ptr %strides, i64 %stride.index
  store i64 %size.of, ptr %output.stride.at
  %numbers = mul i64 %count, %size.of
  %array.end = getelementptr double, ptr %array.data, i64 %numbers
  br label %next

; No number of an input may lie where results go,
next:
  %n.of = phi i64 [0, %put], [%n.next, %apart]
  %cleared = icmp eq i64 %n.of, %wanted
  br i1 %cleared, label %before, label %compare

compare:
  %first.at = getelementptr ptr, ptr %inputs, i64 %n.of
  %first = load ptr, ptr %first.at
  %row.at = getelementptr i64, ptr %strides, i64 %n.of
  %row = load i64, ptr %row.at
  %each.at = getelementptr i64, ptr %lengths, i64 %n.of
  %each = load i64, ptr %each.at
  %all.rows = mul i64 %row, %count
  %is.shared = icmp eq i64 %row, 0
  %extent = select i1 %is.shared, i64 %each, i64 %all.rows
  %last = getelementptr double, ptr %first, i64 %extent
  %begins = icmp ult ptr %first, %array.end
  %ends = icmp ult ptr %array.data, %last
  %overlaps = and i1 %begins, %ends
  br i1 %overlaps, label %other, label %apart

apart:
  %n.next = add i64 %n.of, 1
  br label %next

; nor of another result.
before:
  %b = phi i64 [0, %next], [%b.next, %apart.too]
  %is.clear = icmp eq i64 %b, %t
  br i1 %is.clear, label %clear, label %compare.two

compare.two:
  %b.at = getelementptr ptr, ptr %outputs, i64 %b
  %b.data = load ptr, ptr %b.at
  %b.size.at = getelementptr i64, ptr %sizes, i64 %b
  %b.size = load i64, ptr %b.size.at
  %b.numbers = mul i64 %count, %b.size
  %b.end = getelementptr double, ptr %b.data, i64 %b.numbers
  %b.begins = icmp ult ptr %b.data, %array.end
  %b.ends = icmp ult ptr %array.data, %b.end
  %b.overlaps = and i1 %b.begins, %b.ends
  br i1 %b.overlaps, label %other, label %apart.too

apart.too:
  %b.next = add i64 %b, 1
  br label %before

clear:
  %t.next = add i64 %t, 1
  br label %target

; Other threads may come in between and take the arrays from the caller's dict.
prepare:
{loads("Py_IncRef", "Py_DecRef", "PyErr_Clear")}
  call void %Py_IncRef(ptr %self)
  br label %hold

hold:
  %h = phi i64 [0, %prepare], [%h.next, %held]
  %all.held = icmp eq i64 %h, %results
  br i1 %all.held, label %run, label %held

held:
  %held.at = getelementptr ptr, ptr %targets, i64 %h
  %held.array = load ptr, ptr %held.at
  call void %Py_IncRef(ptr %held.array)
  %h.next = add i64 %h, 1
  br label %hold

run:
  %ran = call i1 @run_states(ptr %words, ptr %inputs, ptr %strides, ptr %outputs, i64 %count,
                             i1 %is.wide)
  br i1 %ran, label %done, label %give.up

give.up:
  call void @drop(ptr %words, ptr %targets, i64 0, i64 %results)
  call void %Py_DecRef(ptr %self)
  br label %other

done:
  br i1 %only, label %return, label %finish.them

return:
  call void %Py_DecRef(ptr %self)
  ret ptr %given

finish.them:
  %finished = call ptr @finished(ptr %words, ptr %targets)
  call void %Py_DecRef(ptr %self)
  %failed = icmp eq ptr %finished, null
  br i1 %failed, label %forget, label %return.them

forget:
  call void %PyErr_Clear()
  br label %other

return.them:
  ret ptr %finished
}}

; Whether an array is what a new one for a result would be, and writable.
define internal i1 @is_target(ptr %words, ptr %record, ptr %array, i64 %more, i64 %states) {{
start:
{loads("ndarray", "float64")}
  %array.type.at = getelementptr i8, ptr %array, i64 $type
  %array.type = load ptr, ptr %array.type.at
  %array.is.array = icmp eq ptr %array.type, %ndarray
  br i1 %array.is.array, label %target.fields, label %no

no:
  ret i1 false

target.fields:
  %ndim.at = getelementptr i64, ptr %record, i64 1
  %ndim.own = load i64, ptr %ndim.at
  %ndim = add i64 %ndim.own, %more
  %own.at = getelementptr i64, ptr %record, i64 2
  %own.index = load i64, ptr %own.at
  %own = getelementptr i64, ptr %words, i64 %own.index
  %array.descr.at = getelementptr i8, ptr %array, i64 $descr
  %array.descr = load ptr, ptr %array.descr.at
  %array.is.double = icmp eq ptr %array.descr, %float64
  %array.flags.at = getelementptr i8, ptr %array, i64 $flags
  %array.flags = load i32, ptr %array.flags.at
  %array.layout = and i32 %array.flags, $writable
  %array.is.plain = icmp eq i32 %array.layout, $writable
  %array.nd.at = getelementptr i8, ptr %array, i64 $nd
  %array.nd.short = load i32, ptr %array.nd.at
  %array.nd = sext i32 %array.nd.short to i64
  %array.has.nd = icmp eq i64 %array.nd, %ndim
  %array.sizes.at = getelementptr i8, ptr %array, i64 $dimensions
  %array.sizes = load ptr, ptr %array.sizes.at
  %array.sound = and i1 %array.is.double, %array.is.plain
  %array.fits = and i1 %array.sound, %array.has.nd
  br i1 %array.fits, label %rows.of.target, label %no

rows.of.target:
  %has.rows = icmp ne i64 %more, 0
  br i1 %has.rows, label %same.rows, label %sizes

same.rows:
  %array.rows = load i64, ptr %array.sizes
  %is.same.rows = icmp eq i64 %array.rows, %states
  br i1 %is.same.rows, label %sizes, label %no

sizes:
  %k = phi i64 [0, %rows.of.target], [0, %same.rows], [%k.next, %same.size.of]
  %sized = icmp eq i64 %k, %ndim.own
  br i1 %sized, label %yes, label %size.of

size.of:
  %k.own.at = getelementptr i64, ptr %own, i64 %k
  %k.own = load i64, ptr %k.own.at
  %k.place = add i64 %k, %more
  %k.size.at = getelementptr i64, ptr %array.sizes, i64 %k.place
  %k.size = load i64, ptr %k.size.at
  %k.same = icmp eq i64 %k.own, %k.size
  br i1 %k.same, label %same.size.of, label %no

same.size.of:
  %k.next = add i64 %k, 1
  br label %sizes

yes:
  ret i1 true
}}

; Find the arrays for several results by their names; whether there is one for each, and nothing else.
define internal i1 @named(ptr %words, ptr %given, ptr %targets) {{
start:
{loads("finish", "fills", "reused", "results", "records", "apart", "dict", "PyObject_GenericGetDict")}
{loads("Py_DecRef", "PyErr_Clear", "PyDict_Size", "PyDict_GetItem")}
  %first = getelementptr i64, ptr %words, i64 %records
  %several = icmp ugt i64 %results, 1
  %as.it.is = icmp eq ptr %finish, null
  %is.filled = icmp ne ptr %fills, null
  %in.tuple = icmp ne i64 %apart, 0
  %no.call.0 = or i1 %as.it.is, %is.filled
  %no.call = or i1 %no.call.0, %in.tuple
  %native = and i1 %several, %no.call
  br i1 %native, label %type, label %no

no:
  ret i1 false

type:
  %type.at = getelementptr i8, ptr %given, i64 $type
  %given.type = load ptr, ptr %type.at
  %is.dict = icmp eq ptr %given.type, %dict
  br i1 %is.dict, label %size, label %object

object:
  %is.reused = icmp eq ptr %given.type, %reused
  br i1 %is.reused, label %namespace, label %no

; The object keeps its namespace.
namespace:
  %space = call ptr %PyObject_GenericGetDict(ptr %given, ptr null)
  %no.space = icmp eq ptr %space, null
  br i1 %no.space, label %forget, label %release

forget:
  call void %PyErr_Clear()
  ret i1 false

release:
  call void %Py_DecRef(ptr %space)
  br label %size

size:
  %dictionary = phi ptr [%given, %type], [%space, %release]
  %count = call i64 %PyDict_Size(ptr %dictionary)
  %as.many = icmp eq i64 %count, %results
  br i1 %as.many, label %next, label %no

next:
  %t = phi i64 [0, %size], [%t.next, %put]
  %all = icmp eq i64 %t, %results
  br i1 %all, label %yes, label %look

look:
  %record = getelementptr [3 x i64], ptr %first, i64 %t
  %name = load ptr, ptr %record
  %array = call ptr %PyDict_GetItem(ptr %dictionary, ptr %name)
  %missing = icmp eq ptr %array, null
  br i1 %missing, label %no, label %put

put:
  %target.at = getelementptr ptr, ptr %targets, i64 %t
  store ptr %array, ptr %target.at
  %t.next = add i64 %t, 1
  br label %next

yes:
  ret i1 true
}}
"""
