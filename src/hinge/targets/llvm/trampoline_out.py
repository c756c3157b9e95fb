"""The IR of entries that write into an array of the caller, for one state and for batches.

The array has to be what a new one would be: an ndarray of float64 and of the right shape, contiguous and
aligned; writable, too, and apart from the memory of all inputs. Else, and where an entry has several results
or a finish, `into` returns null, and no exception is set: its caller goes to the fallback.
"""

from __future__ import annotations

from hinge.targets.llvm.trampoline_batch import CHOICE, SHAPE
from hinge.targets.llvm.trampoline_entry import ARGUMENT, kernel_loads, loads

TEXT = f"""
define internal ptr @into(ptr %self, ptr %arguments, ptr %array) {{
start:
  %inputs = alloca [$most x ptr]
  %outputs = alloca ptr
  %strides = alloca [$twice x i64]
$words
{loads("finish", "kernels", "alone", "wanted", "results", "records", "filled", "ndarray", "float64")}
{kernel_loads("one", "wide", "width", "most")}
  %lengths = getelementptr i64, ptr %words, i64 $head
  %single = icmp eq i64 %results, 1
  %as.it.is = icmp eq ptr %finish, null
  %fits = and i1 %single, %as.it.is
  br i1 %fits, label %check, label %other

other:
  ret ptr null

check:
  %i = phi i64 [0, %start], [%i.next, %accept]
  %states = phi i64 [0, %start], [%states.next, %accept]
  %checked = icmp eq i64 %i, %wanted
  br i1 %checked, label %target, label %argument

argument:
{ARGUMENT}
{SHAPE}
target:
  %is.batch = icmp sgt i64 %states, 0
  %more = zext i1 %is.batch to i64
  %count = select i1 %is.batch, i64 %states, i64 1
  %array.type.at = getelementptr i8, ptr %array, i64 $type
  %array.type = load ptr, ptr %array.type.at
  %array.is.array = icmp eq ptr %array.type, %ndarray
  br i1 %array.is.array, label %target.fields, label %other

target.fields:
  %record = getelementptr i64, ptr %words, i64 %records
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
  %array.data.at = getelementptr i8, ptr %array, i64 $data
  %array.data = load ptr, ptr %array.data.at
  %array.sound = and i1 %array.is.double, %array.is.plain
  %array.fits = and i1 %array.sound, %array.has.nd
  br i1 %array.fits, label %rows.of.target, label %other

rows.of.target:
  br i1 %is.batch, label %same.rows, label %sizes

same.rows:
  %array.rows = load i64, ptr %array.sizes
  %is.same.rows = icmp eq i64 %array.rows, %states
  br i1 %is.same.rows, label %sizes, label %other

sizes:
  %k = phi i64 [0, %rows.of.target], [0, %same.rows], [%k.next, %same.size.of]
  %sized = icmp eq i64 %k, %ndim.own
  br i1 %sized, label %choose, label %size.of

size.of:
  %k.own.at = getelementptr i64, ptr %own, i64 %k
  %k.own = load i64, ptr %k.own.at
  %k.place = add i64 %k, %more
  %k.size.at = getelementptr i64, ptr %array.sizes, i64 %k.place
  %k.size = load i64, ptr %k.size.at
  %k.same = icmp eq i64 %k.own, %k.size
  br i1 %k.same, label %same.size.of, label %other

same.size.of:
  %k.next = add i64 %k, 1
  br label %sizes

choose:
{CHOICE}
  br i1 %can, label %apart, label %other

; No number of an input may lie where results go.
apart:
  %numbers = mul i64 %count, %filled
  %array.end = getelementptr double, ptr %array.data, i64 %numbers
  br label %next

next:
  %n.of = phi i64 [0, %apart], [%n.next, %clear]
  %cleared = icmp eq i64 %n.of, %wanted
  br i1 %cleared, label %prepare, label %compare

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
  br i1 %overlaps, label %other, label %clear

clear:
  %n.next = add i64 %n.of, 1
  br label %next

prepare:
  %output.stride.at = getelementptr i64, ptr %strides, i64 %wanted
  store i64 %filled, ptr %output.stride.at
  store ptr %array.data, ptr %outputs
{loads("Py_IncRef", "Py_DecRef")}
  call void %Py_IncRef(ptr %self)
  %ran = call i1 @run_states(ptr %words, ptr %inputs, ptr %strides, ptr %outputs, i64 %count,
                             i1 %is.wide)
  call void %Py_DecRef(ptr %self)
  br i1 %ran, label %done, label %other

done:
  call void %Py_IncRef(ptr %array)
  ret ptr %array
}}
"""
