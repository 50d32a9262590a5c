#!/usr/bin/env bash
# Shows how near models come to the limits of the machine: GFLOP/s of the GEMMs of ResNet-50 and BERT-base beside the
# peak (an addition and a multiplication count one each), and GB/s of the weights that decoding a token reads beside a
# streaming read of as much memory. All are measured in the same run, alternating.
#
#   tests/bench/limits.sh [--only NAME[,NAME]...] [--rounds N] [--threads N]
#
# There are two peaks: a loop on registers only with the CPU's widest instructions ("registers"), and oneDNN's best
# matrix product ("product"). The time of a model is that of a whole run, with all its operators.
set -euo pipefail
. "$(dirname "$0")/common.sh"

selected="resnet50 bert_base resnet50_qdq bert_base_qdq bert_base_int8 llama_decode llama_decode_int4"
rounds=3
threads=2
read_arguments "$@"

require_build
limits=$bin/epiphyte_limits_bench
[ -x "$limits" ] || die "$limits is not built"
export OMP_NUM_THREADS=1  # limits oneDNN's own threads; measured code uses the host's threads
make_models "$selected"

# precisions_of NAME: the provider's precisions in which the model runs, each with the peak that it is compared with
precisions_of() {
  case "$1" in
    *_qdq | *_int8) echo "f32:int8" ;;
    llama_decode*) echo "f32:f32" ;;
    *) grep -q avx512_bf16 /proc/cpuinfo && echo "f32:f32 bf16:bf16" || echo "f32:f32" ;;
  esac
}

declare -A times=() peaks=() reads=() work=()
for name in $selected; do
  work[$name]=$("$limits" model "$models/$name.onnx" --inputs "$models/$name.inputs")
done
for ((round = 1; round <= rounds; ++round)); do
  echo "round $round of $rounds" >&2
  machine=$("$limits" machine --threads "$threads")
  for peak in f32 bf16 int8; do
    peaks[$peak,registers]+=" $(number "$machine" "${peak}_registers")"
    peaks[$peak,product]+=" $(number "$machine" "${peak}_product")"
  done
  for name in $selected; do
    for pair in $(precisions_of "$name"); do
      times[$name,${pair%:*}]+=" $(number "$("$bin/epiphyte" bench "$models/$name.onnx" --ep cpu \
        --ep-option "cpu.precision=${pair%:*}" --threads "$threads" --runs 30 --inputs "$models/$name.inputs" --json)" \
        median)"
    done
    case "$name" in
      llama_decode*)
        megabytes=$(number "${work[$name]}" weight_mb)
        reads[$name]+=" $(number "$("$limits" read --threads "$threads" --mb "${megabytes%.*}")" read_gbs)"
        ;;
    esac
  done
done

# of LIST: the median of the list
of() {
  # shellcheck disable=SC2086
  median $1
}

printf '%s threads, %s rounds, medians\n\n%-6s %12s %12s   GFLOP/s\n' "$threads" "$rounds" peak registers product
for peak in f32 bf16 int8; do
  printf '%-6s %12.0f %12.0f\n' "$peak" "$(of "${peaks[$peak,registers]}")" "$(of "${peaks[$peak,product]}")"
done
printf '\n%-20s %-6s %10s %10s %10s %10s\n' model in ms GFLOP/s registers product
for name in $selected; do
  [[ "$name" != llama_decode* ]] || continue
  for pair in $(precisions_of "$name"); do
    peak=${pair#*:}
    echo "$name $peak $(of "${times[$name,${pair%:*}]}") $(number "${work[$name]}" gflop)" \
      "$(of "${peaks[$peak,registers]}") $(of "${peaks[$peak,product]}")"
  done
done | awk '{ rate = $4 / $3 * 1000
  printf "%-20s %-6s %10.4g %10.4g %9.0f%% %9.0f%%\n", $1, $2, $3, rate, ($5 > 0 ? 100 * rate / $5 : 0),
    ($6 > 0 ? 100 * rate / $6 : 0) }'
for name in $selected; do
  [ -n "${reads[$name]-}" ] || continue
  echo "$name $(of "${times[$name,f32]}") $(number "${work[$name]}" weight_mb) $(of "${reads[$name]}")"
done | awk 'NR == 1 { printf "\n%-20s %10s %10s %10s %10s %10s\n", "model", "ms", "weights MB", "GB/s", "read GB/s", "part" }
  { rate = $3 / $2; printf "%-20s %10.4g %10.1f %10.4g %10.4g %9.0f%%\n", $1, $2, $3, rate, $4, 100 * rate / $4 }'
