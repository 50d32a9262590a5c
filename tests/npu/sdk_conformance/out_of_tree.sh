#!/bin/sh
# out_of_tree.sh BUILD CC CXX: builds an SDK as a vendor does, from the installed plugin API package alone: its header,
# its example and its conformance program.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { cat "$work/log" >&2; echo "$*" >&2; exit 1; }
prefix=$work/prefix
: > "$work/log"

cmake --install "$1" --prefix "$prefix" --component plugin_api > "$work/log" || fail "the package can't be installed"
example=$(dirname "$(find "$prefix" -path '*nsdk_example/Makefile')")
[ -f "$example/api.cpp" ] || fail "the package has no example of an SDK"
[ -x "$prefix/bin/nsdk_conformance" ] || fail "the package has no nsdk_conformance"

# The header is C11, so a C compiler must take it.
printf '#define NSDK_IMPLEMENTATION\n#include <epiphyte/nsdk.h>\nint main(void) { return NSDK_OK; }\n' > "$work/header.c"
"$2" -std=c11 -pedantic -Wall -Wextra -Werror -fsyntax-only "-I$prefix/include" "$work/header.c" 2> "$work/log" ||
  fail "nsdk.h isn't C11"

cp -r "$example" "$work/vendor"
unset LD_LIBRARY_PATH MAKEFLAGS MAKELEVEL CXXFLAGS || true
make -C "$work/vendor" "CXX=$3" "PREFIX=$prefix" check > "$work/log" 2>&1 || fail "the example breaks rules, or isn't built"
! grep -q 'warning:' "$work/log" || fail "the example compiles with warnings"
grep -Eq '^[0-9]{2,} rules passed, 0 failed' "$work/log" || fail "the rules weren't all looked at"

# A library that is no SDK must fail.
echo 'int nothing;' > "$work/none.c"
"$2" -shared -fPIC "$work/none.c" -o "$work/none.so"
! "$prefix/bin/nsdk_conformance" "$work/none.so" > "$work/log" 2>&1 || fail "a library with nothing in it passes"
grep -q '^N108 FAIL' "$work/log" || fail "a library with nothing in it fails, but not at N108"
echo "an SDK was built out of tree and keeps the rules"
