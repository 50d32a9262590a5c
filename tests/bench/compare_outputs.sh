#!/usr/bin/env bash
# Checks whether the outputs of the generated models agree with ONNX Runtime's. The same inputs go through both, and
# through the compiled EP context model. The tolerance is rtol 1e-3 with atol 1e-4. It is 1e-5 for the small models, and
# more for float16 and 8 bits.
#
#   tests/bench/compare_outputs.sh [--only NAME[,NAME]...] [--threads N]
#
# The last line is "N passed, N failed"; the exit code is 0 when nothing failed.
set -euo pipefail
. "$(dirname "$0")/common.sh"

selected=$all_models
threads=2
while [ $# -gt 0 ]; do
  case "$1" in
    --only) selected=${2//,/ }; shift ;;
    --threads) threads=$2; shift ;;
    *) die "usage: compare_outputs.sh [--only NAME[,NAME]...] [--threads N]" ;;
  esac
  shift
done

absolute_of() {
  case "$1" in
    lstm_tagger | detector_tail | control_flow | tiny_add | chain_* | voice_activity | wake_word*) echo 1e-5 ;;
    *_f16) echo 5e-3 ;;
    *_int8 | *_qdq) echo 5e-2 ;;
    *) echo 1e-4 ;;
  esac
}

passed=0
failed=0
# check LABEL COMMAND...: prints one line on success, and the whole output of the command on failure
check() {
  local label=$1 output
  shift
  if output=$("$@" 2>&1); then
    passed=$((passed + 1))
    printf 'ok    %-28s largest difference %s\n' "$label" "$(printf '%s' "$output" | tail -n 1)"
  else
    failed=$((failed + 1))
    printf 'FAIL  %-28s\n%s\n' "$label" "$output"
  fi
}

# run_and_compare MODEL INPUTS OUTPUTS EXPECTED ABSOLUTE
run_and_compare() {
  "$bin/epiphyte" run "$1" --ep cpu --threads "$threads" --inputs "$2" --outputs "$3" &&
    "$bin/epiphyte_compare_outputs" "$3" "$4" --rtol 1e-3 --atol "$5"
}

# compile_run_and_compare MODEL CONTEXT INPUTS OUTPUTS EXPECTED ABSOLUTE
compile_run_and_compare() {
  "$bin/epiphyte" compile "$1" --ep cpu --output "$2" --force && run_and_compare "$2" "$3" "$4" "$5" "$6"
}

require_build
find_ort_library
make_models "$selected"
outputs=$root/build/bench/outputs
contexts=$root/build/bench/contexts
rm -rf "$outputs"
mkdir -p "$contexts"
for name in $selected; do
  model=$models/$name.onnx inputs=$models/$name.inputs expected=$outputs/ort/$name
  "$bin/epiphyte_ort_bench" "$ort_library" "$model" --inputs "$inputs" --outputs "$expected" --threads "$threads" \
    --runs 1 >/dev/null
  check "$name" run_and_compare "$model" "$inputs" "$outputs/plain/$name" "$expected" "$(absolute_of "$name")"
  check "$name (context)" compile_run_and_compare "$model" "$contexts/${name}_ctx.onnx" "$inputs" \
    "$outputs/context/$name" "$expected" "$(absolute_of "$name")"
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
