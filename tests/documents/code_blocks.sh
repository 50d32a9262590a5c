#!/usr/bin/env bash
# Runs, compiles or reads every code block of the documents, in a separate folder for each document.
# - `sh` and `bash`: one shell runs the commands of a document from top to bottom. A command that can't run here is
#   listed
#   in tests/documents/not_run.txt with the reason. The program that it names must still exist.
# - `cpp` and `c`: compiled against the installed headers. A part of a program names the file of frames/ that surrounds
#   it: ```cpp frame=application. A block with file=NAME is written to that file, too.
# - `cmake`: configured and built within its frame.
# - `yaml`: a plugin's manifest, read by `epiphyte manifest`.
# Any other kind of block is refused.
#
#   code_blocks.sh TREE BUILD PREFIX      the sources, their build tree, and an installation of it
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tree=$(cd "$1" && pwd)
build=$(cd "$2" && pwd)
prefix=$(cd "$3" && pwd)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=$work/bad
: > "$bad"
complain() { echo "$*" >> "$bad"; }
# said: prints the last command's output, indented
said() { tail -n 20 "$work/log" | sed 's/^/    /'; }
# quietly LOG COMMAND...: runs the command; the caller shows the log when it fails
quietly() { local log=$1; shift; "$@" > "$log" 2>&1; }

# The machine's plugins and the user's settings are hidden. Mesa's software device is the GPU.
mkdir "$work/home"
export HOME=$work/home XDG_DATA_HOME=$work/none XDG_CONFIG_HOME=$work/none CMAKE_GENERATOR=Ninja
export PATH=$build/bin:$prefix/bin:$PATH
unset EPIPHYTE_PLUGIN_PATH EPIPHYTE_POLICY EPIPHYTE_DISABLE
software=$(find /usr/share/vulkan/icd.d -name 'lvp_icd*.json' 2> /dev/null | head -n 1)
[ -z "$software" ] || export VK_DRIVER_FILES=$software

# --- blocks: $work/blocks has a line for each: number, document, first line, kind, and its attributes

cd "$tree"
find . \( -path ./build -o -name .git -o -name .cache \) -prune -o -name '*.md' -print | sed 's|^\./||' |
  grep -vx CHANGELOG.md | sort > "$work/documents"
mkdir "$work/block"
xargs awk -v folder="$work/block" '
  FNR == 1 && code { print "unended" }
  FNR == 1 { code = 0 }
  /^[ \t]*```/ && !code {
    code = 1; number++
    info = $0; sub(/^[ \t]*```[ \t]*/, "", info)
    print number, FILENAME, FNR + 1, (info == "" ? "none" : info)
    printf "" > (folder "/" number)
    next
  }
  /^[ \t]*```/ { code = 0; close(folder "/" number); next }
  code { print > (folder "/" number) }' < "$work/documents" > "$work/blocks"

# folder_of DOCUMENT: sets $folder to the folder in which the document's blocks are tried, and makes it on first use
folder_of() {
  folder=$work/tried/${1//\//_}
  [ ! -d "$folder" ] || return 0
  mkdir -p "$folder/build"
  ln -s "$build" "$folder/build/release"
  . "$here/code_block_inputs.sh"
}

# value NAME ATTRIBUTE...: prints the value of the attribute NAME=VALUE, or nothing if there is none
value() {
  local name=$1 attribute
  shift
  for attribute in "$@"; do [ "${attribute%%=*}" != "$name" ] || echo "${attribute#*=}"; done
}

# framed MARK BLOCK FRAME PLACE: prints the frame with the block instead of the line MARK. PLACE names the block's first
# line.
framed() {
  awk -v mark="$1" -v block="$2" -v place="$4" '
    { line = $0; gsub(/^ +| +$/, "", line) }
    line == mark { if (place) print place; while ((getline line < block) > 0) print line; next }
    { print }' "$3"
}

# framed_block MARK EXTENSION PLACE: prints $block as a complete file, in the frame that its attributes name
framed_block() {
  local frame
  frame=$(value frame "${attributes[@]}")
  if [ -z "$frame" ]; then
    [ -z "$3" ] || echo "$3"
    cat "$block"
  else
    framed "$1" "$block" "$here/frames/$frame.$2" "$3"
  fi
}

try_cpp() {
  framed_block '// BLOCK' "$kind" "#line $line \"$document\"" > "$work/unit.$kind"
  local compiler=("${CXX:-g++}" -std=c++20)
  [ "$kind" = cpp ] || compiler=("${CC:-gcc}" -std=c11)
  quietly "$work/log" "${compiler[@]}" -Wall -Werror -Wno-unused -fsyntax-only -I"$prefix/include" "$work/unit.$kind" ||
    complain "$document:$line: this code doesn't compile:"$'\n'"$(said)"
}
try_c() { try_cpp; }

try_yaml() {
  cp "$block" "$work/manifest.yaml"
  quietly "$work/log" epiphyte manifest "$work/manifest.yaml" ||
    complain "$document:$line: this is no manifest:"$'\n'"$(said)"
}

# Blocks of cmake are tried last, so the files of other blocks exist by then.
try_cmake() {
  framed_block '# BLOCK' cmake "" > "$folder/CMakeLists.txt"
  { quietly "$work/log" cmake -S "$folder" -B "$folder/cmake_build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF && quietly "$work/log" cmake --build "$folder/cmake_build"; } ||
    complain "$document:$line: this doesn't build in its frame:"$'\n'"$(said)"
}

# --- commands

# not_run.txt as lines "document: command"; each command needs a reason, in an indented line after it
awk '
  /^#/ || /^$/ { next }
  /^ / { reason = 1; next }
  { if (command != "" && !reason) print "no reason: " command; command = $0; reason = 0; print "command: " command }
  END { if (command != "" && !reason) print "no reason: " command }' "$tree/tests/documents/not_run.txt" > "$work/not_run"
sed -n 's/^no reason: \(.*\)/not_run.txt: why is this command not run? Give the reason in an indented line: \1/p' "$work/not_run" >> "$bad"
declare -A left_out left_out_used
while IFS= read -r command; do left_out[$command]=1; done < <(sed -n 's/^command: //p' "$work/not_run")

# check_program COMMAND: fails unless the program of a command that is not run exists
check_program() {
  local word program=""
  for word in $1; do
    case $word in *=*) ;; *) program=$word; break ;; esac
  done
  case $program in
    build/release/*) [ -x "$build/${program#build/release/}" ] ;;
    */*) [ -x "$tree/$program" ] && { [[ $program != *.sh ]] || bash -n "$tree/$program"; } ;;
    *) command -v "$program" > /dev/null ;;
  esac
}

# add_commands: appends $block to the document's script; each command keeps its line number of the document
add_commands() {
  local script=$folder/commands at=$line text command
  touch "$script"
  printf '%*s' $((line - 1 - $(wc -l < "$script"))) "" | tr ' ' '\n' >> "$script"
  while IFS= read -r text; do
    command=${text%%# *}
    command=${command%"${command##*[! ]}"}
    if [ -n "$command" ] && [ -n "${left_out[$document: $command]-}" ]; then
      left_out_used[$document: $command]=1
      check_program "$command" || complain "$document:$at: the program of '$command' is not there"
      text=""
    elif [[ $command == *'&&'* ]]; then
      complain "$document:$at: a command that fails before && goes unnoticed; write two lines"
      text=""
    fi
    printf '%s\n' "${text//=DIR/=$prefix}"
    at=$((at + 1))
  done < "$block" >> "$script"
}

run_commands() {
  [ -s "$folder/commands" ] || return 0
  # shellcheck disable=SC2016 # the shell that runs the commands expands it
  (cd "$folder" && failed_at="$work/failed_at" quietly "$work/log" bash -c '
    set -Eeuo pipefail
    trap '\''code=$?; echo "$LINENO: a command fails with exit code $code" > "$failed_at"; exit 1'\'' ERR
    . ./commands') ||
    complain "$document:$(cat "$work/failed_at"):"$'\n'"$(said)"
}

# --- all blocks, document by document

tried=0
while IFS= read -r document; do
  grep -F " $document " "$work/blocks" > "$work/own_blocks" || continue
  folder_of "$document"
  while read -r number _ line kind rest; do
    block=$work/block/$number
    read -ra attributes <<< "$rest"
    file=$(value file "${attributes[@]}")
    [ -z "$file" ] || cp "$block" "$folder/$file"
    tried=$((tried + 1))
    case $kind in
      cpp | c | yaml) "try_$kind" ;;
      sh | bash) add_commands ;;
      cmake) ;;
      *) complain "$document:$((line - 1)): a block of the kind '$kind', which no test reads; use sh, cpp, c, cmake or yaml" ;;
    esac
  done < "$work/own_blocks"
  while read -r number _ line kind rest; do
    block=$work/block/$number
    read -ra attributes <<< "$rest"
    [ "$kind" != cmake ] || try_cmake
  done < "$work/own_blocks"
  run_commands
done < "$work/documents"

[ "$tried" -ge 20 ] || complain "only $tried blocks found, at least 20 expected; does the script still know how blocks begin?"
for command in "${!left_out[@]}"; do
  [ -n "${left_out_used[$command]-}" ] || complain "not_run.txt: no document has this command; take it out: $command"
done

if [ -s "$bad" ]; then
  echo "blocks of code that do not work:" >&2
  cat "$bad" >&2
  exit 1
fi
echo "every block of code works: $tried blocks of $(cut -d' ' -f2 "$work/blocks" | sort -u | wc -l) documents, ${#left_out[@]} commands not run"
