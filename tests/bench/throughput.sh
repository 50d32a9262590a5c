#!/usr/bin/env bash
# Measures how many runs a second 1, 2, 4 and 8 callers of one session get, and two callers of two sessions. Epiphyte
# and ONNX Runtime (CPU provider) run in turn, on SqueezeNet, ResNet-50 and a single small node, with sessions of one
# and of two threads. Prints the best of the rounds relative to one caller and relative to ONNX Runtime (above 1:
# Epiphyte serves more), and the processor time of a run, in microseconds.
#
#   tests/bench/throughput.sh [--only NAME[,NAME]...] [--rounds N] [--threads N[,N]...] [--seconds S] [--json]
set -euo pipefail
. "$(dirname "$0")/common.sh"

selected="squeezenet1.1 resnet50 tiny_add"
rounds=3
threads="1 2"
seconds=1
json=false
read_arguments "$@"

require_build
find_ort_library
make_models "$selected"

lines=$(mktemp)
trap 'rm -f "$lines"' EXIT
# measure WHO LIBRARY MODEL THREADS SESSIONS CALLERS: prints "model threads sessions callers runs us who" for each
# number of callers
measure() {
  "$bin/epiphyte_throughput_bench" "$2" "$models/$3.onnx" --inputs "$models/$3.inputs" --threads "$4" --sessions "$5" \
    --callers "$6" --seconds "$seconds" | sed "s/^/$3 $4 $5 /; s/\$/ $1/" >>"$lines"
}

for name in $selected; do
  for count in $threads; do
    for ((round = 1; round <= rounds; ++round)); do
      echo "$name, $count threads: round $round of $rounds" >&2
      measure ours epiphyte "$name" "$count" 1 1,2,4,8
      measure theirs "$ort_library" "$name" "$count" 1 1,2,4,8
      measure ours epiphyte "$name" "$count" 2 2
      measure theirs "$ort_library" "$name" "$count" 2 2
    done
  done
done

# model threads sessions callers ours theirs our_us their_us, in the order of measuring
best=$(awk '{
  key = $1 " " $2 " " $3 " " $4
  if (!(key in seen)) { seen[key]; order[++n] = key }
  if ($5 > most[key, $7]) most[key, $7] = $5
  if (!((key, $7) in least) || $6 < least[key, $7]) least[key, $7] = $6
} END {
  for (i = 1; i <= n; ++i) {
    key = order[i]
    print key, most[key, "ours"], most[key, "theirs"], least[key, "ours"], least[key, "theirs"]
  }
}' "$lines")

if $json; then
  awk '{
    printf "{\"model\": \"%s\", \"threads\": %d, \"sessions\": %d, \"callers\": %d, ", $1, $2, $3, $4
    printf "\"ours\": %s, \"theirs\": %s, \"our_us\": %s, \"their_us\": %s}\n", $5, $6, $7, $8
  }' <<<"$best"
  exit 0
fi
printf '%-14s %7s %8s %7s %11s %11s %7s %13s %6s %11s %11s\n' \
  model threads sessions callers epiphyte onnxruntime "of one" "theirs of one" speed "our us" "their us"
awk '{
  if ($3 == 1 && $4 == 1) { ours = $5; theirs = $6 }
  printf "%-14s %7d %8d %7d %11.1f %11.1f %7.2f %13.2f %6.2f %11.2f %11.2f\n", $1, $2, $3, $4, $5, $6, $5 / ours,
    $6 / theirs, $5 / $6, $7, $8
}' <<<"$best"
