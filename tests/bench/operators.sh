#!/usr/bin/env bash
# Compares Epiphyte with ONNX Runtime (CPU provider) on single operators of the table in
# host/conformance/operators/sizes: three sizes for each operator, in every type that both take. Prints Epiphyte's speed
# relative to ONNX Runtime's for each case (above 1: Epiphyte is faster), the worst first. Then follow the geometric
# mean, the number of slow cases, cases that one side refuses, and cases with different outputs.
#
#   tests/bench/operators.sh [--ep LIST] [--no-ort] [--only PATTERN] [--rounds N] [--threads N] [--limit SECONDS] [--json]
#
# --ep cpu,vulkan times these providers, each alone, instead of the CPU provider; the provider then precedes the case's
# name. --no-ort leaves out ONNX Runtime; the list's first provider takes its place. PATTERN is an extended regular
# expression that is searched for in the names: 'Conv', '^MatMul.*/float16/', 'QDQ/'. A case that takes longer than the
# limit is stopped and listed. --json prints one object for each case, in the table's order.
set -euo pipefail
. "$(dirname "$0")/common.sh"

pattern=""
providers=()
ort=true
rounds=3
threads=2
limit=60
json=false
while [ $# -gt 0 ]; do
  case "$1" in
    --ep) providers=(--ep "${2?}"); shift ;;
    --no-ort) ort=false ;;
    --only) pattern=${2?}; shift ;;
    --rounds) rounds=${2?}; shift ;;
    --threads) threads=${2?}; shift ;;
    --limit) limit=${2?}; shift ;;
    --json) json=true ;;
    *) die "usage: operators.sh [--ep LIST] [--no-ort] [--only PATTERN] [--rounds N] [--threads N] [--limit SECONDS] [--json]" ;;
  esac
  shift
done

[ -x "$bin/epiphyte_operator_bench" ] ||
  die "build/release is not built; run: cmake --preset release && cmake --build --preset release"
if $ort; then find_ort_library; else ort_library=-; fi
names=$("$bin/epiphyte_operator_bench" --list "$pattern")
[ -n "$names" ] || die "no case's name has '$pattern'; 'epiphyte_operator_bench --list' prints them"

lines=$(mktemp)
progress=$(mktemp)
trap 'rm -f "$lines" "$progress"' EXIT

# measure NAME: the lines of this case. A case that crashes or exceeds the limit gets a line that says so.
measure() {
  local line status=0
  line=$(timeout "$limit" "$bin/epiphyte_operator_bench" "$ort_library" "$1" "${providers[@]}" --threads "$threads" \
    --rounds "$rounds" 2>"$progress") || status=$?
  if [ "$status" = 124 ]; then
    line=$(printf '%s\t-\t-\t0\tno result in %s s; the last one: %s' "$1" "$limit" "$(tail -n 1 "$progress")")
  elif [ "$status" != 0 ] || [ -z "$line" ]; then
    line=$(printf '%s\t-\t-\t0\tended with status %s: %s' "$1" "$status" "$(tail -n 1 "$progress" | tr '\t' ' ')")
  fi
  printf '%s\n' "$line"
}

count=$(wc -l <<<"$names")
done_count=0
while read -r name; do
  done_count=$((done_count + 1))
  echo "$done_count of $count: $name" >&2
  measure "$name" </dev/null >>"$lines"
done <<<"$names"

if $json; then
  awk -F '\t' '{
    gsub(/[\\"]/, "\\\\&", $5)
    printf "{\"case\": \"%s\", \"ours_us\": %s, \"theirs_us\": %s, \"difference\": %s, \"message\": \"%s\"}\n", $1,
      ($2 == "-" ? "null" : $2), ($3 == "-" ? "null" : $3), ($4 == "inf" ? "null" : $4), $5
  }' "$lines"
  exit 0
fi

printf '%s threads, %s rounds; microseconds, and their time over ours\n' "$threads" "$rounds"
printf '%-64s %12s %12s %8s\n' case epiphyte "$($ort && echo onnxruntime || echo 'first one')" speed
awk -F '\t' '$2 != "-" && $3 != "-" {
  printf "%-64s %12.2f %12.2f %8.2f%s\n", $1, $2, $3, $3 / $2, ($5 == "" ? "" : "  " $5)
}' "$lines" | sort -k 4,4g
awk -F '\t' '$2 != "-" && $3 != "-" {
  speed = $3 / $2; sum += log(speed); ++n
  below08 += speed < 0.8; below03 += speed < 0.3; below1 += speed < 1
} END {
  if (n > 0) printf "\n%d cases: geometric mean %.2f; below 1: %d, below 0.8: %d, below 0.3: %d\n", n, exp(sum / n), below1, below08, below03
}' "$lines"
awk -F '\t' '$2 == "-" || $3 == "-" { if (!n++) print "\nNot measured:"; printf "%-64s %s\n", $1, $5 }' "$lines"
