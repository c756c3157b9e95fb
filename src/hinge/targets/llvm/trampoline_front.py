"""The IR of fronts: from arguments by position and by name to an entry, in the order of its inputs.

The words of a front are

    the owner of the entry, the fallback, PyObject_Vectorcall, None, the least and the most arguments by
    position, the number of inputs, the name of the keyword for an array to write into or null,

and a row for each input: its position or -1, its name as a keyword or null, and the array that it is if it
does not come, or null. What does not fit goes to the fallback, and so does a call with None for an input.
"""

from __future__ import annotations

FRONT = 8  # the words before the rows

TEXT = f"""
define ptr @front(ptr %self, ptr %arguments, i64 %count, ptr %keywords) {{
start:
  %values = alloca [$most x ptr]
  %target = alloca ptr
$words
  %entry = load ptr, ptr %words
  %none.at = getelementptr ptr, ptr %words, i64 3
  %none = load ptr, ptr %none.at
  %least.at = getelementptr i64, ptr %words, i64 4
  %least = load i64, ptr %least.at
  %most.at = getelementptr i64, ptr %words, i64 5
  %most = load i64, ptr %most.at
  %wanted.at = getelementptr i64, ptr %words, i64 6
  %wanted = load i64, ptr %wanted.at
  %out.at = getelementptr ptr, ptr %words, i64 7
  %out = load ptr, ptr %out.at
  %rows = getelementptr i64, ptr %words, i64 {FRONT}
  store ptr null, ptr %target
  %enough = icmp uge i64 %count, %least
  %no.more = icmp ule i64 %count, %most
  %fits = and i1 %enough, %no.more
  br i1 %fits, label %places, label %other

other:
  %fallback.at = getelementptr ptr, ptr %words, i64 1
  %fallback = load ptr, ptr %fallback.at
  %call.at = getelementptr ptr, ptr %words, i64 2
  %call = load ptr, ptr %call.at
  %found = tail call ptr %call(ptr %fallback, ptr %arguments, i64 %count, ptr %keywords)
  ret ptr %found

places:
  %i = phi i64 [0, %start], [%i.next, %place]
  %placed = icmp eq i64 %i, %wanted
  br i1 %placed, label %named, label %place

; A position of -1 is, without a sign, beyond all arguments.
place:
  %row.i = getelementptr [3 x i64], ptr %rows, i64 %i
  %place.i = load i64, ptr %row.i
  %default.at = getelementptr i64, ptr %row.i, i64 2
  %default = load ptr, ptr %default.at
  %comes = icmp ult i64 %place.i, %count
  %index = select i1 %comes, i64 %place.i, i64 0
  %argument.at = getelementptr ptr, ptr %arguments, i64 %index
  %argument = load ptr, ptr %argument.at
  %value.i = select i1 %comes, ptr %argument, ptr %default
  %value.i.at = getelementptr ptr, ptr %values, i64 %i
  store ptr %value.i, ptr %value.i.at
  %i.next = add i64 %i, 1
  br label %places

named:
  %bare = icmp eq ptr %keywords, null
  br i1 %bare, label %check, label %count.names

count.names:
  %size.at = getelementptr i8, ptr %keywords, i64 $size
  %size = load i64, ptr %size.at
  %items = getelementptr i8, ptr %keywords, i64 $item
  br label %names

names:
  %j = phi i64 [0, %count.names], [%j.next, %taken]
  %read = icmp eq i64 %j, %size
  br i1 %read, label %check, label %name

name:
  %name.at = getelementptr ptr, ptr %items, i64 %j
  %given = load ptr, ptr %name.at
  %where.given = add i64 %count, %j
  %given.at = getelementptr ptr, ptr %arguments, i64 %where.given
  %value.j = load ptr, ptr %given.at
  %is.out = icmp eq ptr %given, %out
  br i1 %is.out, label %aim, label %search

aim:
  %is.no.array = icmp eq ptr %value.j, %none
  %array.given = select i1 %is.no.array, ptr null, ptr %value.j
  store ptr %array.given, ptr %target
  br label %taken

search:
  %k = phi i64 [0, %name], [%k.next, %next]
  %unknown = icmp eq i64 %k, %wanted
  br i1 %unknown, label %other, label %compare

compare:
  %row.k = getelementptr [3 x i64], ptr %rows, i64 %k
  %name.k.at = getelementptr i64, ptr %row.k, i64 1
  %name.k = load ptr, ptr %name.k.at
  %is.it = icmp eq ptr %name.k, %given
  br i1 %is.it, label %found.it, label %next

next:
  %k.next = add i64 %k, 1
  br label %search

found.it:
  %place.k = load i64, ptr %row.k
  %twice = icmp ult i64 %place.k, %count
  br i1 %twice, label %other, label %put

put:
  %value.k.at = getelementptr ptr, ptr %values, i64 %k
  store ptr %value.j, ptr %value.k.at
  br label %taken

taken:
  %j.next = add i64 %j, 1
  br label %names

check:
  %c = phi i64 [0, %named], [0, %names], [%c.next, %there]
  %checked = icmp eq i64 %c, %wanted
  br i1 %checked, label %enter, label %look

look:
  %value.c.at = getelementptr ptr, ptr %values, i64 %c
  %value.c = load ptr, ptr %value.c.at
  %is.missing = icmp eq ptr %value.c, null
  %is.none = icmp eq ptr %value.c, %none
  %is.not.there = or i1 %is.missing, %is.none
  br i1 %is.not.there, label %other, label %there

there:
  %c.next = add i64 %c, 1
  br label %check

enter:
  %array = load ptr, ptr %target
  %is.new = icmp eq ptr %array, null
  br i1 %is.new, label %enter.new, label %enter.into

enter.into:
  %written = call ptr @into(ptr %entry, ptr %values, ptr %array)
  %is.written = icmp ne ptr %written, null
  br i1 %is.written, label %return, label %other

return:
  ret ptr %written

enter.new:
  %result = call ptr @entry(ptr %entry, ptr %values, i64 %wanted, ptr null)
  ret ptr %result
}}
"""
