#!/usr/bin/env bash
# Tests code_blocks.sh on documents that each have one block that does not work.
#
#   code_blocks_check.sh PATH_OF_CODE_BLOCKS_SH BUILD PREFIX
set -euo pipefail
code_blocks=$1
build=$2
prefix=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/tree
mkdir -p "$tree/tests/documents"
printf '%s\n' '# Commands' 'left_out.md: ./gone.sh' '  Builds for hours.' 'left_out.md: ./unused.sh' '  Builds for hours.' \
  'left_out.md: epiphyte doctor' > "$tree/tests/documents/not_run.txt"

expected=$work/expected
# broken DOCUMENT KIND TEXT LINE...: fails unless a document with that block is refused with that text
broken() {
  local file=$tree/$1.md kind=$2
  printf '%s\n' "$3" >> "$expected"
  shift 3
  printf '%s\n' '# Title' '' "\`\`\`$kind" "$@" '```' >> "$file"
}

broken command sh 'command.md:5: a command fails with exit code 2' \
  'epiphyte plugins        # works' 'epiphyte plogins        # does not' 'epiphyte doctor'
broken file sh 'file.md:4: a command fails with exit code 1' 'epiphyte run no_such_model.onnx'
broken hidden sh 'hidden.md:4: a command that fails before && goes unnoticed' 'false && true'
broken left_out sh "left_out.md:4: the program of './gone.sh' is not there" './gone.sh     # for hours' 'epiphyte doctor'
broken program cpp "program.md:4: this code doesn't compile" '#include <epiphyte/epiphyte.hpp>' \
  'int main() { epiphyte::Enviroment environment; }'
broken part 'cpp frame=application' "part.md:4: this code doesn't compile" 'session.Runn();'
broken header c "header.md:4: this code doesn't compile" '#include <epiphyte/ep_none.h>'
broken manifest yaml 'manifest.md:4: this is no manifest' 'manifest_version: 1' 'nama: acme-npu'
broken project 'cmake frame=application' "project.md:4: this doesn't build in its frame" 'find_package(Epifyte REQUIRED)'
broken kind bat "kind.md:3: a block of the kind 'bat'" 'dir'
broken none '' "none.md:3: a block of the kind 'none'" 'ls'
printf '%s\n' 'not_run.txt: no document has this command; take it out: left_out.md: ./unused.sh' \
  'not_run.txt: why is this command not run?' 'only 11 blocks found' >> "$expected"

if bash "$code_blocks" "$tree" "$build" "$prefix" > "$work/out" 2>&1; then
  echo "nothing was refused" >&2
  exit 1
fi
failed=0
while IFS= read -r text; do
  grep -qF -- "$text" "$work/out" || { echo "missing: $text" >&2; failed=1; }
done < "$expected"
complaints=$(grep -cE '^([a-z_]+\.md:|not_run\.txt:|only )' "$work/out")
[ "$complaints" -eq "$(wc -l < "$expected")" ] || { echo "$complaints complaints, $(wc -l < "$expected") expected" >&2; failed=1; }
[ "$failed" -eq 0 ] || { cat "$work/out" >&2; exit 1; }
echo "code_blocks.sh sees each of them"
