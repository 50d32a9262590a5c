#!/usr/bin/env bash
# Counts the comments that CONTRIBUTING's guide forbids: openings that begin no sentence, and words that stand for a
# role. The limits below must only fall: lower them when fewer are found.
#
#   words.sh FOLDER            the tree to look at
set -euo pipefail
cd "$1"

most_openings=0
most_words=11
most_continuations=8

comments=$(mktemp)
trap 'rm -f "$comments"' EXIT
find core plugin_api plugins host tests -regex '.*\.\(h\|hpp\|c\|cpp\|comp\|glsl\)' | sort |
  xargs grep -HnoE '(//|/\*).*|^ \* .*' > "$comments"
# Comments of scripts and CMake files are appended in the same form.
find CMakeLists.txt cmake core plugin_api plugins host tests -regex '.*\.\(cmake\|sh\)\|.*CMakeLists\.txt' | sort |
  xargs grep -HnoE '(^| )# .*' | sed -E 's/^([^:]*:[0-9]*:) ?#/\1\/\//' >> "$comments"
words='\b(whose|nobody|somebody|whoever|what is)\b'

# count WHAT MOST PATTERN [GREP_OPTION]: fails the check if more than MOST comments match
failed=0
count() {
  local what=$1 most=$2 pattern=$3 option=${4-} found
  found=$({ sed -E 's/^[^:]*:[0-9]*://' "$comments" | grep -oE $option "$pattern" || true; } | wc -l)
  echo "$found $what, $most allowed"
  if [ "$found" -gt "$most" ]; then
    echo "more $what than before; the first ones:" >&2
    grep -E $option "${pattern#^}" "$comments" | head -n 20 >&2 || true
    failed=1
  fi
}
count "forbidden openings of comments" "$most_openings" '^(//|/\*)[/<! ]*(Of|For whoever|For who|What is|What|Where|That of|Those of|Those that|Who|Whoever) '
count "forbidden words in comments" "$most_words" "$words" -i

# Comments behind code that begin in the middle of a sentence are counted, too.
grep -rnE '^[^/]*[^/ ] +// (of|that|which|also|and|but) ' core plugin_api plugins host tests \
  --include=*.h --include=*.hpp --include=*.cpp --include=*.c --include=*.comp --include=*.glsl > "$comments" || true
count "comments behind code that are no phrase of their own" "$most_continuations" '// (of|that|which|also|and|but) '
exit "$failed"
