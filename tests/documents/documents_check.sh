#!/usr/bin/env bash
# Tests documents.sh on small trees that each have one error.
#
#   documents_check.sh PATH_OF_DOCUMENTS_SH
set -euo pipefail
documents=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/tree

# plant FILE LINE...: writes a file into the tree
plant() {
  mkdir -p "$tree/$(dirname "$1")"
  local file=$tree/$1
  shift
  printf '%s\n' "$@" > "$file"
}

# begin: makes a tree without errors
begin() {
  rm -rf "$tree"
  plant core/base/text.h '#pragma once'
  plant core/base/README.md '# core/base' '' 'Text is in `text.h`.'
  plant host/README.md '# The host' '' '## EP contexts' '' 'See [the core](../core/base/README.md).'
  plant plugin_api/include/epiphyte/ep_host.h '#include <stdint.h>'
  plant README.md '# Tree' '' '[Contexts](host/README.md#ep-contexts), `core/base/text.h`, `epiphyte/ep_host.h`,' \
    '`core/*/README.md`, `*.h`, `build/bin`, `ep.options/1`, `acme/none.h`, https://example.org/core/none.h.' '' \
    '```sh' 'cat `core/none.h`' '```'
}

# refused WHAT TEXT: fails unless the tree is refused with that text
refused() {
  if bash "$documents" "$tree" > "$work/out" 2>&1; then
    echo "$1 was not seen" >&2
    exit 1
  fi
  if ! grep -qF -- "$2" "$work/out" || [ "$(wc -l < "$work/out")" -ne 2 ]; then
    echo "$1 was refused with other words than '$2':" >&2
    cat "$work/out" >&2
    exit 1
  fi
}

begin
bash "$documents" "$tree" > /dev/null

begin
plant host/README.md '# The host' '' '## EP contexts' '' 'See [the core](../core/none.md).'
refused "a link to a missing file" "host/README.md: the link '../core/none.md' leads to core/none.md, which is not there"

begin
plant host/README.md '# The host'
refused "a link to a missing heading" "README.md: the link 'host/README.md#ep-contexts' leads to a heading"

begin
plant core/base/README.md '# core/base' '' 'See `core/base/none.h`.'
refused "a missing path" "core/base/README.md: 'core/base/none.h' is not there"

begin
plant core/base/README.md '# core/base' '' 'See `none/`.'
refused "a missing folder" "core/base/README.md: 'none/' is not there"

begin
plant CONTRIBUTING.md '# Contributing' '' 'Patterns count too: `core/none*.h`.'
refused "a pattern without a file" "CONTRIBUTING.md: 'core/none*.h' is not there"

begin
plant core/base/README.md '# core/base' '' 'See `none.h`.'
refused "a missing file name" "core/base/README.md: no file is called 'none.h'"

begin
for i in $(seq 150); do echo "line $i" >> "$tree/README.md"; done
refused "a long README" "README.md: 158 lines found, at most 150 expected"

begin
for i in $(seq 11); do plant "core/graph/$i.h" '#pragma once'; done
refused "a folder without a README" "core/graph: 11 files and no README.md"
plant core/graph/README.md '# core/graph'
bash "$documents" "$tree" > /dev/null

begin
for i in $(seq 11); do plant "tests/models/expected/net/$i.pb" 'data'; done
bash "$documents" "$tree" > /dev/null

echo "documents.sh sees each of them"
