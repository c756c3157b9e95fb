"""The IR of dispatches: from a subject, and names that choose one of its ways, to an entry.

The words of a dispatch are

    the table, the fallback, PyObject_Vectorcall, PyUnicode_Compare, the type str, the number of arrays,
    how many choices may come by position, the names of the choices, their default values, the name of the
    keyword for an array to write into or null, and None, which means that there is no such array.

A row of the table is a subject, the value of each choice, and the owner of the entry for them. A choice fits
a row if it is the very object there, or a str of the same letters: neither can run code of the user's.
"""

from __future__ import annotations

CHOICES = 2  # the most that a dispatch has
ROWS = 32  # what a dispatch knows at a time
COLUMNS = CHOICES + 2

TEXT = """
define ptr @dispatch(ptr %self, ptr %arguments, i64 %count, ptr %keywords) {
start:
  %chosen = alloca [2 x ptr]
  %target = alloca ptr
$words
  %fallback.at = getelementptr ptr, ptr %words, i64 1
  %call.at = getelementptr ptr, ptr %words, i64 2
  %arrays.at = getelementptr i64, ptr %words, i64 5
  %places.at = getelementptr i64, ptr %words, i64 6
  %names.0.at = getelementptr ptr, ptr %words, i64 7
  %names.1.at = getelementptr ptr, ptr %words, i64 8
  %default.0.at = getelementptr ptr, ptr %words, i64 9
  %default.1.at = getelementptr ptr, ptr %words, i64 10
  %out.at = getelementptr ptr, ptr %words, i64 11
  %none.at = getelementptr ptr, ptr %words, i64 12
  %chosen.1 = getelementptr ptr, ptr %chosen, i64 1
  %arrays = load i64, ptr %arrays.at
  %places = load i64, ptr %places.at
  %behind = add i64 %arrays, 1
  %extra = sub i64 %count, %behind
  %fits = icmp ule i64 %extra, %places
  br i1 %fits, label %defaults, label %other

defaults:
  %default.0 = load ptr, ptr %default.0.at
  %default.1 = load ptr, ptr %default.1.at
  store ptr %default.0, ptr %chosen
  store ptr %default.1, ptr %chosen.1
  store ptr null, ptr %target
  %placed = icmp ne i64 %extra, 0
  br i1 %placed, label %place, label %named

place:
  %last.at = getelementptr ptr, ptr %arguments, i64 %behind
  %last = load ptr, ptr %last.at
  store ptr %last, ptr %chosen
  br label %named

named:
  %bare = icmp eq ptr %keywords, null
  br i1 %bare, label %search, label %count.names

count.names:
  %size.at = getelementptr i8, ptr %keywords, i64 $size
  %size = load i64, ptr %size.at
  %items = getelementptr i8, ptr %keywords, i64 $item
  %name.0 = load ptr, ptr %names.0.at
  %name.1 = load ptr, ptr %names.1.at
  %out = load ptr, ptr %out.at
  %none = load ptr, ptr %none.at
  br label %names

names:
  %k = phi i64 [0, %count.names], [%k.next, %take]
  %read = icmp eq i64 %k, %size
  br i1 %read, label %search, label %name

name:
  %name.at = getelementptr ptr, ptr %items, i64 %k
  %given.name = load ptr, ptr %name.at
  %is.0 = icmp eq ptr %given.name, %name.0
  %is.1 = icmp eq ptr %given.name, %name.1
  %not.placed = xor i1 %placed, true
  %is.first = and i1 %is.0, %not.placed
  %is.out = icmp eq ptr %given.name, %out
  %is.either = or i1 %is.first, %is.1
  %is.choice = or i1 %is.either, %is.out
  br i1 %is.choice, label %take, label %other

take:
  %value.index = add i64 %count, %k
  %value.at = getelementptr ptr, ptr %arguments, i64 %value.index
  %value.given = load ptr, ptr %value.at
  %is.none = icmp eq ptr %value.given, %none
  %is.no.array = and i1 %is.out, %is.none
  %value = select i1 %is.no.array, ptr null, ptr %value.given
  %where.chosen = select i1 %is.1, ptr %chosen.1, ptr %chosen
  %where = select i1 %is.out, ptr %target, ptr %where.chosen
  store ptr %value, ptr %where
  %k.next = add i64 %k, 1
  br label %names

search:
  %table = load ptr, ptr %words
  %subject = load ptr, ptr %arguments
  %wanted.0 = load ptr, ptr %chosen
  %wanted.1 = load ptr, ptr %chosen.1
  br label %more

more:
  %i = phi i64 [0, %search], [%i.next, %next]
  %row = getelementptr [$columns x ptr], ptr %table, i64 %i
  %known = load ptr, ptr %row
  %same = icmp eq ptr %known, %subject
  br i1 %same, label %choices, label %next

choices:
  %known.0.at = getelementptr ptr, ptr %row, i64 1
  %known.1.at = getelementptr ptr, ptr %row, i64 2
  %known.0 = load ptr, ptr %known.0.at
  %known.1 = load ptr, ptr %known.1.at
  %same.0 = icmp eq ptr %known.0, %wanted.0
  %same.1 = icmp eq ptr %known.1, %wanted.1
  %same.both = and i1 %same.0, %same.1
  br i1 %same.both, label %enter, label %letters

letters:
  %equal.0 = call i1 @is_same(ptr %words, ptr %known.0, ptr %wanted.0)
  br i1 %equal.0, label %letters.1, label %next

letters.1:
  %equal.1 = call i1 @is_same(ptr %words, ptr %known.1, ptr %wanted.1)
  br i1 %equal.1, label %enter, label %next

next:
  %i.next = add i64 %i, 1
  %end = icmp eq i64 %i.next, $rows
  br i1 %end, label %other, label %more

enter:
  %entry.at = getelementptr ptr, ptr %row, i64 3
  %entry = load ptr, ptr %entry.at
  %rest = getelementptr ptr, ptr %arguments, i64 1
  %array = load ptr, ptr %target
  %is.new = icmp eq ptr %array, null
  br i1 %is.new, label %enter.new, label %enter.into

enter.into:
  %written = call ptr @into(ptr %entry, ptr %rest, ptr %array)
  %is.written = icmp ne ptr %written, null
  br i1 %is.written, label %return, label %other

return:
  ret ptr %written

enter.new:
  %result = tail call ptr @entry(ptr %entry, ptr %rest, i64 %arrays, ptr null)
  ret ptr %result

other:
  %fallback = load ptr, ptr %fallback.at
  %call = load ptr, ptr %call.at
  %found = tail call ptr %call(ptr %fallback, ptr %arguments, i64 %count, ptr %keywords)
  ret ptr %found
}

; Whether two objects are one, or texts of the same letters; a choice that did not come is null.
define internal i1 @is_same(ptr %words, ptr %known, ptr %given) {
start:
  %one = icmp eq ptr %known, %given
  br i1 %one, label %yes, label %both

both:
  %no.known = icmp eq ptr %known, null
  %no.given = icmp eq ptr %given, null
  %missing = or i1 %no.known, %no.given
  br i1 %missing, label %no, label %types

types:
  %str.at = getelementptr ptr, ptr %words, i64 4
  %str = load ptr, ptr %str.at
  %known.type.at = getelementptr i8, ptr %known, i64 $type
  %given.type.at = getelementptr i8, ptr %given, i64 $type
  %known.type = load ptr, ptr %known.type.at
  %given.type = load ptr, ptr %given.type.at
  %is.text = icmp eq ptr %known.type, %str
  %is.text.too = icmp eq ptr %given.type, %str
  %texts = and i1 %is.text, %is.text.too
  br i1 %texts, label %compare, label %no

compare:
  %compare.at = getelementptr ptr, ptr %words, i64 3
  %PyUnicode_Compare = load ptr, ptr %compare.at
  %order = call i32 %PyUnicode_Compare(ptr %known, ptr %given)
  %equal = icmp eq i32 %order, 0
  ret i1 %equal

yes:
  ret i1 true

no:
  ret i1 false
}
"""
