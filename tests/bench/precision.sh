#!/usr/bin/env bash
# Compares the precisions of the CPU provider on float models with ONNX Runtime's float32 (the library of the npm
# package onnxruntime-node, CPU provider). Prints the speed of a steady run relative to ONNX Runtime, and the error of
# the worst output: the root mean square of the differences from ONNX Runtime over that of the results.
#
#   tests/bench/precision.sh [--only NAME[,NAME]...] [--rounds N] [--threads N]
#
# All run in turn; the figures are medians over the rounds. bf16 is left out on a CPU without instructions for that
# format.
set -euo pipefail
. "$(dirname "$0")/common.sh"

selected="resnet50 mobilenetv2 squeezenet1.1 bert_base llama_prefill llama_decode lstm_tagger text_recogniser"
rounds=3
threads=2
read_arguments "$@"

require_build
find_ort_library
make_models "$selected"
outputs=$root/build/bench/precision
rm -rf "$outputs"

precisions="f32 bf16 int8-dynamic"
grep -q avx512_bf16 /proc/cpuinfo || precisions="f32 int8-dynamic"

# run_ms COMMAND...: the median time of a run, as the bench reports it
run_ms() { number "$("$@")" median; }

printf '%s threads, %s rounds, medians\n%-16s %-13s %10s %10s %8s %10s\n' "$threads" "$rounds" model precision ms \
  "theirs ms" speed error
for name in $selected; do
  model=$models/$name.onnx inputs=$models/$name.inputs
  ort=("$bin/epiphyte_ort_bench" "$ort_library" "$model" --inputs "$inputs" --threads "$threads")
  "${ort[@]}" --outputs "$outputs/ort/$name" --runs 1 >/dev/null
  declare -A ours=()
  theirs=""
  for ((round = 1; round <= rounds; ++round)); do
    theirs+=" $(run_ms "${ort[@]}" --runs 20)"
    for precision in $precisions; do
      ours[$precision]+=" $(run_ms "$bin/epiphyte" bench "$model" --ep cpu --ep-option "cpu.precision=$precision" \
        --threads "$threads" --runs 20 --inputs "$inputs" --json)"
    done
  done
  for precision in $precisions; do
    found=$outputs/$precision/$name
    "$bin/epiphyte" run "$model" --ep cpu --ep-option "cpu.precision=$precision" --threads "$threads" \
      --inputs "$inputs" --outputs "$found" >/dev/null
    error=$("$bin/epiphyte_compare_outputs" "$found" "$outputs/ort/$name" --rms | tail -n 1)
    # shellcheck disable=SC2086
    printf '%s %s %s %s %s\n' "$name" "$precision" "$(median ${ours[$precision]})" "$(median $theirs)" "$error"
  done | awk '{ printf "%-16s %-13s %10.4g %10.4g %8.2f %10.2g\n", $1, $2, $3, $4, ($3 > 0 ? $4 / $3 : 0), $5 }'
done
