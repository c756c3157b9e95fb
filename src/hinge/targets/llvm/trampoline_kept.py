"""The IR that takes arrays of earlier results again, when nobody has them any more.

To make and free fourteen arrays takes longer than all else that a call does beside its kernel. So an entry
with several results keeps the arrays of one state, two for each result: the caller may hold the last result
while the next is made, as in `found = f(q)` in a loop.

An array is free when the entry has the only reference to it: what looks into its memory, a view or a buffer,
has another. It is taken if nobody has a weak reference to it, and if it is what a new one would be: whoever
had it may have set its shape, type or flags.
"""

from __future__ import annotations

from hinge.targets.llvm.trampoline_entry import loads

#: The flags of array x, and whether nobody has a weak reference to it.
_FIELDS = """
  %flags.at = getelementptr i8, ptr %x, i64 $flags
  %flags = load i32, ptr %flags.at
  %weak.at = getelementptr i8, ptr %x, i64 $weakrefs
  %weak = load ptr, ptr %weak.at
  %is.unseen = icmp eq ptr %weak, null
"""

TEXT = f"""
; Return a new reference to an array of a pair that is free, or null.
define internal ptr @take(ptr %words, ptr %pair, i32 %ndim, ptr %shape) {{
start:
{loads("Py_IncRef", "float64")}
  br label %look

look:
  %s = phi i64 [0, %start], [%s.next, %next]
  %x.at = getelementptr ptr, ptr %pair, i64 %s
  %x = load ptr, ptr %x.at
  %references = load i32, ptr %x
  %is.free = icmp eq i32 %references, 1
  br i1 %is.free, label %fields, label %next

fields:
  %descr.at = getelementptr i8, ptr %x, i64 $descr
  %descr = load ptr, ptr %descr.at
  %is.double = icmp eq ptr %descr, %float64
{_FIELDS}
  %layout = and i32 %flags, $own
  %is.own = icmp eq i32 %layout, $own
  %nd.at = getelementptr i8, ptr %x, i64 $nd
  %nd = load i32, ptr %nd.at
  %same.nd = icmp eq i32 %nd, %ndim
  %sound.0 = and i1 %is.double, %is.own
  %sound.1 = and i1 %is.unseen, %same.nd
  %sound = and i1 %sound.0, %sound.1
  br i1 %sound, label %sizes, label %next

sizes:
  %dimensions.at = getelementptr i8, ptr %x, i64 $dimensions
  %dimensions = load ptr, ptr %dimensions.at
  br label %size

size:
  %d = phi i32 [0, %sizes], [%d.next, %compare]
  %sized = icmp eq i32 %d, %ndim
  br i1 %sized, label %found, label %compare

compare:
  %is.at = getelementptr i64, ptr %dimensions, i32 %d
  %is = load i64, ptr %is.at
  %wanted.at = getelementptr i64, ptr %shape, i32 %d
  %wanted = load i64, ptr %wanted.at
  %same = icmp eq i64 %is, %wanted
  %d.next = add i32 %d, 1
  br i1 %same, label %size, label %next

next:
  %s.next = add i64 %s, 1
  %all = icmp eq i64 %s.next, 2
  br i1 %all, label %none, label %look

found:
  call void %Py_IncRef(ptr %x)
  ret ptr %x

none:
  ret ptr null
}}

; Keep a new array in a pair, in place of the older of the two, unless to free that could run code of the
; user's: arrays are made where the inputs are checked already, and nobody may change these.
define internal void @put(ptr %words, ptr %pair, ptr %array) {{
start:
{loads("Py_IncRef", "Py_DecRef")}
  %second.at = getelementptr ptr, ptr %pair, i64 1
  %first = load ptr, ptr %pair
  %x = load ptr, ptr %second.at
  %references = load i32, ptr %x
  %is.last = icmp eq i32 %references, 1
  br i1 %is.last, label %look, label %keep

look:
{_FIELDS}
  %owned = and i32 %flags, $owndata
  %is.own = icmp ne i32 %owned, 0
  %is.quiet = and i1 %is.own, %is.unseen
  br i1 %is.quiet, label %keep, label %end

keep:
  call void %Py_IncRef(ptr %array)
  store ptr %array, ptr %pair
  store ptr %first, ptr %second.at
  call void %Py_DecRef(ptr %x)
  br label %end

end:
  ret void
}}
"""
