#!/bin/sh
# abi_fields.sh INCLUDE: reads every field of every struct of the C ABI from the headers, in order, and writes them to
# standard output as lines for the preprocessor:
#
#   EP_STRUCT(EpString)
#   EP_FIELD(EpString, data)
#   EP_FIELD(EpString, size)
#   EP_STRUCT_END(EpString, size)
#
# The headers must be written as `typedef struct Name { … } Name;` with one field per declaration, and pointers to
# functions as `Result(EP_CALL* Name)(…)`. Any other form is an error.
set -eu
include=$1
cat "$include"/epiphyte/ep_*.h "$include"/epiphyte/draft/ep_*.h | awk '
  function fail(text) { print "abi_fields.sh: " text > "/dev/stderr"; bad = 1; exit 1 }
  /^[ \t]*#/ { continues = /\\$/; next }
  continues { continues = /\\$/; next }
  { text = text " " $0 }
  END {
    if (bad) exit 1
    while ((begin = index(text, "/*")) > 0) {
      end = index(substr(text, begin), "*/")
      if (end == 0) fail("a comment does not end")
      text = substr(text, 1, begin - 1) " " substr(text, begin + end + 1)
    }
    gsub(/[ \t]+/, " ", text)
    while (match(text, /typedef struct [A-Za-z0-9_]+ \{[^{}]*\} [A-Za-z0-9_]+;/)) {
      whole = substr(text, RSTART, RLENGTH)
      text = substr(text, 1, RSTART - 1) substr(text, RSTART + RLENGTH)
      name = whole
      sub(/^typedef struct /, "", name)
      sub(/ .*/, "", name)
      body = whole
      sub(/^[^{]*\{/, "", body)
      sub(/\}.*/, "", body)
      print "EP_STRUCT(" name ")"
      count = split(body, declarations, ";")
      last = ""
      for (i = 1; i <= count; ++i) {
        field = declarations[i]
        gsub(/^ +| +$/, "", field)
        if (field == "") continue
        if (match(field, /\( ?EP_CALL ?\* ?[A-Za-z0-9_]+\)/)) {
          field = substr(field, RSTART, RLENGTH - 1)
          sub(/.*[* ]/, "", field)
        } else if (field ~ /[(),]/) {
          fail(name ": found \"" field "\", expected one field")
        } else {
          sub(/ ?\[[^]]*\]$/, "", field)
          sub(/.*[* ]/, "", field)
        }
        if (field !~ /^[A-Za-z_][A-Za-z0-9_]*$/) fail(name ": found \"" declarations[i] "\", expected one field")
        print "EP_FIELD(" name ", " field ")"
        last = field
      }
      if (last == "") fail(name " has no field")
      print "EP_STRUCT_END(" name ", " last ")"
    }
    # No other declaration has braces. Braces that remain belong to a struct in another form, which would be missed.
    if (match(text, /[^;{}]*[{}]/)) fail("found \"" substr(text, RSTART, RLENGTH) "\", expected `typedef struct Name {`")
  }'
