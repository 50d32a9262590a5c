#!/usr/bin/env bash
# Compares Epiphyte with ONNX Runtime (the library of the npm package onnxruntime-node, CPU provider) on the generated
# models: session creation, session creation from an EP context model, first run, steady run, and peak memory. Both get
# the same inputs and the same number of threads, and run in turn. The tables have medians over the rounds and the ratio
# of Epiphyte to ONNX Runtime (below 1: Epiphyte is better). The ten models with the worst ratio come first, with the
# geometric mean of the speed.
#
#   tests/bench/compare.sh [--only NAME[,NAME]...] [--rounds N] [--threads N] [--json]
#
# ONNX Runtime is called through its C API by epiphyte_ort_bench, so node's own time and memory are not counted.
set -euo pipefail
. "$(dirname "$0")/common.sh"

selected=$all_models
rounds=3
threads=2
json=false
read_arguments "$@"

# Prints the number of runs: enough for a meaningful median, without waiting for minutes.
runs_of() {
  case "$1" in
    tiny_add) echo 20000 ;;
    chain_1000 | control_flow | detector_tail | voice_activity | wake_word*) echo 1000 ;;
    lstm_tagger) echo 300 ;;
    mobilenetv2* | squeezenet1.1* | shufflenetv2* | efficientnet_b0* | llama_decode* | text_recogniser*) echo 100 ;;
    whisper_encoder* | unet*) echo 10 ;;
    *) echo 30 ;;
  esac
}

declare -A samples
# record MODEL WHO JSON: adds the numbers that a bench measured to the samples
record() {
  local measure
  for measure in session_ms first_run_ms median peak_rss_mb; do
    samples[$1,$2,$measure]+=" $(number "$3" $measure)"
  done
}

require_build
find_ort_library
make_models "$selected"
contexts=$root/build/bench/contexts
mkdir -p "$contexts"

# measure MODEL: one round of all three sessions; status 1 when one of them fails
measure() {
  local model=$models/$1.onnx inputs=$models/$1.inputs runs ours ort context
  runs=$(runs_of "$1")
  local bench=("$bin/epiphyte" bench --ep cpu --threads "$threads" --runs "$runs" --inputs "$inputs" --json)
  ours=$("${bench[@]}" "$model") || return 1
  ort=$("$bin/epiphyte_ort_bench" "$ort_library" "$model" --inputs "$inputs" --threads "$threads" --runs "$runs") ||
    return 1
  context=$("${bench[@]}" "$contexts/$1_ctx.onnx") || return 1
  record "$1" ours "$ours"
  record "$1" ort "$ort"
  record "$1" context "$context"
}

# measure_all MODEL: compiles the model and measures all rounds
measure_all() {
  local round
  "$bin/epiphyte" compile "$models/$1.onnx" --ep cpu --output "$contexts/$1_ctx.onnx" --force >/dev/null || return 1
  for ((round = 1; round <= rounds; ++round)); do
    echo "$1: round $round of $rounds" >&2
    measure "$1" || return 1
  done
}

measured=""
status=0
for name in $selected; do
  if measure_all "$name"; then
    measured+=" $name"
  else
    echo "$name: left out, see above" >&2
    status=1
  fi
done

# of MODEL WHO MEASURE: the median of these samples
of() {
  # shellcheck disable=SC2086
  median ${samples[$1,$2,$3]}
}

if $json; then
  for name in $measured; do
    for who in ours context ort; do
      printf '{"model": "%s", "who": "%s", "threads": %s, ' "$name" "$who" "$threads"
      printf '"session_ms": %s, "first_run_ms": %s, "run_ms": %s, "peak_rss_mb": %s}\n' \
        "$(of "$name" "$who" session_ms)" "$(of "$name" "$who" first_run_ms)" "$(of "$name" "$who" median)" \
        "$(of "$name" "$who" peak_rss_mb)"
    done
  done
  exit $status
fi

# table TITLE WHO MEASURE: both runtimes and their ratio for each model
table() {
  printf '\n%s\n%-24s %12s %12s %8s\n' "$1" model epiphyte onnxruntime ratio
  for name in $measured; do
    printf '%s %s %s\n' "$name" "$(of "$name" "$2" "$3")" "$(of "$name" ort "$3")"
  done | awk '{ printf "%-24s %12.4g %12.4g %8.2f\n", $1, $2, $3, ($3 > 0 ? $2 / $3 : 0) }'
}

# worst: the ten smallest ratios of ONNX Runtime's time of a run to Epiphyte's, and the geometric mean of all
worst() {
  local name
  for name in $measured; do
    printf '%s %s %s %s\n' "$name" "$(of "$name" ours median)" "$(of "$name" context median)" "$(of "$name" ort median)"
  done | awk '$2 > 0 && $4 > 0 { printf "%s %g %g\n", $1, $4 / $2, ($3 > 0 ? $4 / $3 : 0) }' | sort -k 2,2g | awk '
    NR == 1 { printf "\nSpeed, as a part of that of onnxruntime\n%-24s %8s %8s\n", "the worst", "plain", "context" }
    NR <= 10 { printf "%-24s %8.2f %8.2f\n", $1, $2, $3 }
    { sum += log($2); below1 += $2 < 1; below095 += $2 < 0.95 }
    END { if (NR) printf "%d models: geometric mean %.2f; below 1: %d, below 0.95: %d\n", NR, exp(sum / NR), below1, below095 }'
}

printf '%s threads, %s rounds, medians\n' "$threads" "$rounds"
worst
table "Session creation, ms" ours session_ms
table "Session creation from an EP context model (onnxruntime: from the plain model), ms" context session_ms
table "First run, ms" ours first_run_ms
table "First run from an EP context model, ms" context first_run_ms
table "Steady run, ms" ours median
table "Steady run from an EP context model, ms" context median
table "Peak resident memory, MB" ours peak_rss_mb
table "Peak resident memory from an EP context model, MB" context peak_rss_mb
exit $status
