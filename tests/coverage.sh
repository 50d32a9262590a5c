#!/usr/bin/env bash
# Counts the lines of the core and the kit that the tests have run, in a build with EPIPHYTE_COVERAGE (preset coverage).
# A line may be in several programs, or in several instances of a template. It has run if it ran in one of them.
#
#   coverage.sh BUILD              the summary: "coverage: 93.1 % of 21345 lines (core 93.4 %, kit 91.8 %)"
#   coverage.sh BUILD --files      before it, each file with lines that never ran, those with the most first
#   coverage.sh BUILD --lines F    before it, the lines of file F that never ran
#   coverage.sh BUILD --least N    fails when less than N per cent have run
#
# GCOV names the gcov of the compiler that built the tree; the default is `gcov`.
set -euo pipefail

usage() {
  sed -n 's/^#   \(coverage.sh.*\)/\1/p' "$0" >&2
  exit 2
}

[ $# -ge 1 ] || usage
build=$1
shift
show=summary file="" least=0
while [ $# -gt 0 ]; do
  case "$1" in
    --files) show=files ;;
    --lines) show=lines file=${2-}; [ -n "$file" ] || usage; shift ;;
    --least) least=${2-}; [ -n "$least" ] || usage; shift ;;
    *) usage ;;
  esac
  shift
done

root=$(cd "$(dirname "$0")/.." && pwd)
[ -d "$build" ] || { echo "coverage.sh: there is no folder $build" >&2; exit 2; }
build=$(cd "$build" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

find "$build" -name '*.gcno' > "$work/notes"
[ -s "$work/notes" ] || { echo "coverage.sh: nothing in $build was built with EPIPHYTE_COVERAGE" >&2; exit 2; }

# Code that never ran has a notes file but no counts file. gcov complains about each of them.
cd "$work"
tr '\n' '\0' < notes |
  GCOV=${GCOV:-gcov} ROOT=$root xargs -0 -P "$(nproc)" -n 16 \
    sh -c '"$GCOV" --stdout --relative-only --source-prefix "$ROOT" "$@" >> lines.$$ 2>> complaints.$$' gcov ||
  { cat complaints.* | grep -v 'cannot open data file' | head -20 >&2; echo "coverage.sh: gcov failed" >&2; exit 2; }

cat lines.* | awk -F: -v show="$show" -v wanted="$file" -v least="$least" '
  $3 == "Source" { source = $4; counted = source ~ /^(core|plugin_api\/kit)\//; next }
  !counted || NF < 3 || $2 !~ /^ *[0-9]+$/ { next }
  {
    gsub(/ /, "", $1)
    if ($1 == "-") next
    line = source ":" $2 + 0
    if (!(line in ran)) ran[line] = 0
    if ($1 + 0 > 0) ran[line] = 1
  }
  function percent(part, all) { return all == 0 ? 100 : 100 * part / all }
  END {
    for (line in ran) {
      split(line, part, ":")
      room = line ~ /^core\// ? "core" : "kit"
      ++all[room]
      hit[room] += ran[line]
      ++all_of[part[1]]
      hit_of[part[1]] += ran[line]
      if (show == "lines" && part[1] == wanted && !ran[line]) print part[1] ":" part[2] | "sort -t: -k2n"
    }
    if (show == "files") {
      for (source in all_of) {
        missed = all_of[source] - hit_of[source]
        if (missed > 0) printf "%6d of %5d lines never ran, %5.1f %% did: %s\n", missed, all_of[source], \
          percent(hit_of[source], all_of[source]), source | "sort -rn"
      }
    }
    close("sort -rn")
    close("sort -t: -k2n")
    total = percent(hit["core"] + hit["kit"], all["core"] + all["kit"])
    printf "coverage: %.1f %% of %d lines (core %.1f %%, kit %.1f %%)\n", total, all["core"] + all["kit"], \
      percent(hit["core"], all["core"]), percent(hit["kit"], all["kit"])
    if (all["core"] == 0 || all["kit"] == 0) { print "coverage.sh: no lines of core or kit found" > "/dev/stderr"; exit 1 }
    if (total < least) { printf "coverage.sh: at least %s %% expected\n", least > "/dev/stderr"; exit 1 }
  }'
