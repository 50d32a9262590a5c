#!/usr/bin/env bash
# Checks whether the documents fit the tree that they describe.
# - Links: a relative link in a README or in CONTRIBUTING.md leads to a file or folder, and its #anchor to a heading.
# - Paths: a path or file name in backticks exists. It is looked for in the document's folder, in the folders around it,
#   and where headers are included from. A name counts as a path when its first part is found in one of these folders.
# - Length: README.md at the top has at most 150 lines.
# - Map: each folder with more than ten files has a README.md, except folders of data.
#
#   documents.sh FOLDER            the tree to look at
set -euo pipefail
cd "$1"
most_lines=150
most_files=10
# Folders of data: outputs of another runtime, and texts that one program reads as a set.
data_folders='^(tests/models/expected/|tests/fuzz/plan/models$)'
include_folders="plugin_api/include plugin_api/include/epiphyte plugin_api/kit plugin_api/kit/epiphyte host/include
  host/include/epiphyte plugins"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=$work/bad
: > "$bad"

find . \( -path ./build -o -name .git -o -name .cache \) -prune -o -type f -print | sed 's|^\./||' | sort > "$work/files"
declare -A known_file known_name known_folder files_in
while IFS= read -r file; do
  known_file[$file]=1
  known_name[${file##*/}]=1
  folder=.
  [[ $file == */* ]] && folder=${file%/*}
  [[ $file == */README.md ]] || files_in[$folder]=$((${files_in[$folder]-0} + 1))
  while [ "$folder" != . ] && [ -z "${known_folder[$folder]-}" ]; do
    known_folder[$folder]=1
    if [[ $folder == */* ]]; then folder=${folder%/*}; else folder=.; fi
  done
done < "$work/files"

exists() { [ -n "${known_file[$1]-}" ] || [ -n "${known_folder[$1]-}" ]; }

# normal PATH: sets $normal to the path without "." and ".."; empty for the root
normal() {
  local part parts=() IFS=/
  for part in $1; do
    case $part in
      "" | .) ;;
      ..) [ ${#parts[@]} -eq 0 ] || unset "parts[-1]" ;;
      *) parts+=("$part") ;;
    esac
  done
  normal="${parts[*]-}"
}

# slugs FILE: prints the anchors of its headings, as GitHub makes them
slugs() {
  awk '/^```/ { code = !code } !code && /^#+ / { sub(/^#+ /, ""); print tolower($0) }' "$1" |
    sed -E 's/\[([^]]*)\]\([^)]*\)/\1/g; s/[^a-z0-9 _-]//g; s/ /-/g'
}

check_link() {
  local document=$1 target=$2 path=${2%%#*} anchor=""
  case $target in *://* | mailto:*) return ;; esac
  [[ $target == *'#'* ]] && anchor=${target#*#}
  normal=$document
  if [ -n "$path" ] && [[ $document == */* ]]; then
    normal "${document%/*}/$path"
  elif [ -n "$path" ]; then
    normal "$path"
  fi
  if [ -n "$normal" ] && ! exists "$normal"; then
    echo "$document: the link '$target' leads to $normal, which is not there"
  elif [ -n "$anchor" ] && ! slugs "$normal" | grep -qxF -- "$anchor"; then
    echo "$document: the link '$target' leads to a heading that $normal does not have"
  fi
}

# in_folders PATH: succeeds if it is a file or a folder in one of the folders "${bases[@]}"
in_folders() {
  local base
  for base in "${bases[@]}"; do
    if [[ $1 == *[*?]* ]]; then
      compgen -G "$base/$1" > /dev/null && return 0
    else
      normal "$base/$1"
      exists "$normal" && return 0
    fi
  done
  return 1
}

# is_named PATTERN: succeeds if a file of the tree has a name that matches
is_named() {
  local known
  [ -z "${known_name[$1]-}" ] || return 0
  [[ $1 == *[*?]* ]] || return 1
  for known in "${!known_name[@]}"; do
    # shellcheck disable=SC2053 # it is a pattern
    [[ $known == $1 ]] && return 0
  done
  return 1
}

check_path() {
  local document=$1 name=${2%/} around=.
  if [[ $2 != */* ]]; then
    is_named "$name" || echo "$document: no file is called '$name'; mend the name"
    return
  fi
  case ${name%%/*} in build | . | .. | *[*?]*) return ;; esac
  [[ $document == */* ]] && around=${document%/*}
  bases=("$around")
  while [ "$around" != . ]; do
    if [[ $around == */* ]]; then around=${around%/*}; else around=.; fi
    bases+=("$around")
  done
  for around in $include_folders; do bases+=("$around"); done
  [[ $name != */* ]] || in_folders "${name%%/*}" || return 0
  in_folders "$name" || echo "$document: '$2' is not there; mend the path"
}

# Lists everything to check, one item per line: the document, "link" or "path", and the target. A code span may continue
# on the next line, so paragraphs are read as a whole. Code blocks are left out.
grep -E '(^|/)README\.md$|^CONTRIBUTING\.md$|^plugin_api/.*\.md$' "$work/files" > "$work/documents"
xargs awk '
  function tell(kind, target, key) {
    key = document " " kind " " target
    if (!(key in told)) { told[key] = 1; print key }
  }
  function look(    rest, name) {
    rest = text
    while (match(rest, /\]\([^) ]+\)/)) {
      tell("link", substr(rest, RSTART + 2, RLENGTH - 3))
      rest = substr(rest, RSTART + RLENGTH)
    }
    rest = text
    while (match(rest, /`[^`]+`/)) {
      name = substr(rest, RSTART + 1, RLENGTH - 2)
      rest = substr(rest, RSTART + RLENGTH)
      if (name !~ /^[A-Za-z0-9_*?][A-Za-z0-9_.+*?\/-]*$/) continue
      if (name ~ /\// || name ~ /[A-Za-z0-9_*?-]\.(h|hpp|c|cpp|inc|comp|glsl|sh|cmake|md)$/) tell("path", name)
    }
    text = ""
  }
  FNR == 1 { look(); document = FILENAME; code = 0 }
  /^[ \t]*```/ { code = !code; look(); next }
  code { next }
  /^[ \t]*$/ { look(); next }
  { text = text " " $0 }
  END { look() }' < "$work/documents" > "$work/mentions"
while read -r document kind target; do
  "check_$kind" "$document" "$target"
done < "$work/mentions" >> "$bad"

lines=$(wc -l < README.md)
[ "$lines" -le "$most_lines" ] || echo "README.md: $lines lines found, at most $most_lines expected; move a chapter beside its code" >> "$bad"

for folder in "${!files_in[@]}"; do
  [ "${files_in[$folder]}" -gt "$most_files" ] || continue
  [[ $folder =~ $data_folders ]] && continue
  [ "$folder" = . ] || [ -n "${known_file[$folder/README.md]-}" ] ||
    echo "$folder: ${files_in[$folder]} files and no README.md; say what lives here and where a new file goes" >> "$bad"
done

if [ -s "$bad" ]; then
  echo "documents that do not fit the tree:" >&2
  sort "$bad" >&2
  exit 1
fi
echo "the documents fit the tree: $(wc -l < "$work/documents") documents, $(wc -l < "$work/mentions") links and paths"
