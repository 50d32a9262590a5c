#!/bin/sh
# Tests that abi_fields.sh reads every form that headers may have, and refuses what it can't read.
#
#   abi_fields_check.sh PATH_OF_ABI_FIELDS_SH
set -eu
fields=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/epiphyte/draft"
echo '#define EP_NONE 1' > "$work/epiphyte/draft/ep_none.h"

# header: writes standard input to the only header of the include folder
header() { cat > "$work/epiphyte/ep_one.h"; }

# refused WHAT: fails unless abi_fields.sh refuses the header with a message
refused() {
  if "$fields" "$work" > "$work/out" 2> "$work/errors" || [ ! -s "$work/errors" ]; then
    echo "$1 was not refused:" >&2
    cat "$work/out" >&2
    exit 1
  fi
}

header <<'END'
#define EP_TWO_LINES(a) typedef struct a { \
    int x; } a
typedef struct EpOpaque EpOpaque;
/* A comment with struct EpNot { int a; };
 * over lines. */
typedef struct EpOne {
  uint32_t struct_size; /* [R1] int not_a_field; */
  const EpString* const* names;
  int64_t dims[EP_MOST];
  EpStatus*(EP_CALL* Run)(EpOpaque* state, const char* name,
                          void (*done)(void* user));
  void* user;
} EpOne;
END
cat > "$work/expected" <<'END'
EP_STRUCT(EpOne)
EP_FIELD(EpOne, struct_size)
EP_FIELD(EpOne, names)
EP_FIELD(EpOne, dims)
EP_FIELD(EpOne, Run)
EP_FIELD(EpOne, user)
EP_STRUCT_END(EpOne, user)
END
"$fields" "$work" | diff "$work/expected" -

header <<'END'
struct EpOne { int a; };
END
refused "a struct without typedef"

header <<'END'
typedef struct EpOne { int a, b; } EpOne;
END
refused "two fields in one declaration"

header <<'END'
typedef struct EpOne { int a; union { int b; float c; }; } EpOne;
END
refused "a union"

header <<'END'
typedef struct EpOne { void (*call)(void); } EpOne;
END
refused "a function without EP_CALL"

header <<'END'
/* does not end
typedef struct EpOne { int a; } EpOne;
END
refused "a comment without an end"

echo "abi_fields.sh reads what it may, and refuses the rest"
