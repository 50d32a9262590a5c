#!/usr/bin/env bash
# Time to load an EP context model. Epiphyte makes a session from it, once with digests checked and once with only sizes
# checked (ep.context_verify=header). ONNX Runtime makes a session from the plain model. The floor is the time to map
# the same files and read every byte once. All run in turn; the figures are medians over the rounds.
#
#   tests/bench/contexts.sh [--only NAME[,NAME]...] [--rounds N] [--threads N]
set -euo pipefail
. "$(dirname "$0")/common.sh"

selected="resnet50 bert_base llama_prefill llama_decode"
rounds=5
threads=2
read_arguments "$@"

require_build
find_ort_library
make_models "$selected"
contexts=$root/build/bench/contexts
mkdir -p "$contexts"

printf '%s threads, %s rounds, medians in ms\n' "$threads" "$rounds"
printf '%-15s %10s %10s %10s %12s %8s %8s %8s\n' \
  model digests header floor onnxruntime "dig/ort" "hdr/ort" "dig/flr"
for name in $selected; do
  model=$models/$name.onnx inputs=$models/$name.inputs context=$contexts/${name}_ctx.onnx
  "$bin/epiphyte" compile "$model" --ep cpu --output "$context" --force >/dev/null
  bench=("$bin/epiphyte" bench "$context" --ep cpu --threads "$threads" --runs 1 --inputs "$inputs" --json)
  full="" header="" floor="" ort=""
  for ((round = 1; round <= rounds; ++round)); do
    full+=" $(number "$("${bench[@]}")" session_ms)"
    header+=" $(number "$("${bench[@]}" --option ep.context_verify=header)" session_ms)"
    floor+=" $(number "$("$bin/epiphyte_map_and_touch" "$context" "$contexts/${name}_cpu.bin")" ms)"
    ort+=" $(number "$("$bin/epiphyte_ort_bench" "$ort_library" "$model" --inputs "$inputs" --threads "$threads" \
      --runs 1)" session_ms)"
  done
  # shellcheck disable=SC2086
  printf '%s %s %s %s %s\n' "$name" "$(median $full)" "$(median $header)" "$(median $floor)" "$(median $ort)" |
    awk '{ printf "%-15s %10.4g %10.4g %10.4g %12.4g %8.3f %8.3f %8.2f\n", $1, $2, $3, $4, $5, $2/$5, $3/$5, $2/$4 }'
done
