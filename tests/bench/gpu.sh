#!/usr/bin/env bash
# Measures the Vulkan plugin on a GPU, and prints one table: its tests, its GEMM rates beside the device's ceiling, the
# kernels that can work on a row, and whole models, cold and from a context.
#
#   tests/bench/gpu.sh [--driver FILE] [--rounds N] [--threads N] [--no-tests]
#
# FILE is the driver's .json. The default is the only installed driver that is not Mesa's software device. The script
# also runs on the software device (--driver /usr/share/vulkan/icd.d/lvp_icd.x86_64.json), in minutes.
set -euo pipefail
. "$(dirname "$0")/common.sh"

usage="usage: gpu.sh [--driver FILE] [--rounds N] [--threads N] [--no-tests]"
driver="" rounds=3 threads=2 tests=true
while [ $# -gt 0 ]; do
  case "$1" in
    --driver) driver=${2-}; shift ;;
    --rounds) rounds=${2-}; shift ;;
    --threads) threads=${2-}; shift ;;
    --no-tests) tests=false ;;
    *) die "$usage" ;;
  esac
  shift || die "$usage"
done

require_build
if [ -z "$driver" ]; then
  mapfile -t drivers < <(find /usr/share/vulkan/icd.d /etc/vulkan/icd.d -name '*.json' ! -name 'lvp_icd*' 2>/dev/null)
  [ ${#drivers[@]} -eq 1 ] ||
    die "${#drivers[@]} drivers of GPUs are installed, one is expected; name it with --driver${drivers[*]+: ${drivers[*]}}"
  driver=${drivers[0]}
fi
[ -r "$driver" ] || die "--driver '$driver' can't be read"
export VK_DRIVER_FILES=$driver VK_ICD_FILENAMES=$driver EPIPHYTE_VULKAN_TEST_DRIVER=$driver
work=$root/build/bench/gpu
mkdir -p "$work"

"$bin/vulkan_ceiling_bench" --benchmark_format=json >"$work/ceiling.json" 2>"$work/ceiling.log" ||
  die "$(tail -n 1 "$work/ceiling.log")"
device=$(sed -n 's/^ *"device": "\(.*\)"$/\1/p' "$work/ceiling.json")

# counter FILE BENCHMARK NAME: prints a benchmark's counter, or nothing when there is none. The files are Google
# Benchmark's JSON, which has a line for each value. (Its CSV requires the same counters in all benchmarks.)
counter() {
  awk -F'": ' -v name="$2" -v counter="$3" '
    { sub(/^ *"/, ""); sub(/,$/, "") }
    $1 == "name" { found = $2 == "\"" name "\"" || index($2, "\"" name "/") == 1 }
    found && $1 == counter { print $2; exit }' "$1"
}

status=0
tested=""
if $tests; then
  # These suites check requirements on any driver, not only on the software device.
  for suite in vulkan_ops_tests vulkan_math_tests vulkan_models_tests; do
    echo "$suite" >&2
    "$root/build/release/tests_bin/$suite" >"$work/$suite.log" 2>&1 || status=1
    tested+=$(printf '%-26s %s\n' "$suite" "$(sed -n 's/^\[  \(PASSED\|FAILED\)  \] \([0-9]* tests\?\).*/\2 \L\1/p' \
      "$work/$suite.log" | paste -sd, | sed 's/,/, /g')")$'\n'
  done
  echo "onnx_backend_test" >&2
  testdata=${EPIPHYTE_ONNX_TESTDATA:-/usr/share/libonnx-testdata/data}
  "$bin/onnx_backend_test" "$testdata" --ep vulkan --claimed --runs 2 >"$work/backend.log" 2>&1 || status=1
  tested+=$(printf '%-26s %s\n' "ONNX backend suite" "$(tail -n 1 "$work/backend.log")")$'\n'
fi

"$bin/vulkan_bench" --benchmark_format=json --benchmark_min_time=0.2 \
  >"$work/products.json" 2>"$work/products.log" || die "$(tail -n 1 "$work/products.log")"

names="resnet50 bert_base llama_decode"
make_models "$names"
rows=""
for name in $names; do
  model=$models/$name.onnx inputs=$models/$name.inputs context=$work/$name/${name}_ctx.onnx
  mkdir -p "$work/$name"
  "$bin/epiphyte" compile "$model" --ep vulkan --output "$context" --force >/dev/null
  bench=("$bin/epiphyte" bench --ep vulkan --threads "$threads" --inputs "$inputs" --json)
  cold="" warm="" run=""
  for ((round = 1; round <= rounds; ++round)); do
    echo "$name: round $round of $rounds" >&2
    for kind in cold warm; do
      file=$model
      [ $kind = cold ] || file=$context
      measured=$("${bench[@]}" "$file")
      until_first=$(awk -v a="$(number "$measured" session_ms)" -v b="$(number "$measured" first_run_ms)" \
        'BEGIN { print a + b }')
      if [ $kind = cold ]; then cold+=" $until_first"; else warm+=" $until_first"; run+=" $(number "$measured" median)"; fi
    done
  done
  # shellcheck disable=SC2086
  rows+=$(printf '%s %s %s %s' "$name" "$(median $run)" "$(median $cold)" "$(median $warm)" |
    awk '{ printf "%-26s %12.4g %14.4g %14.4g %8.2f", $1, $2, $3, $4, $4 / $3 }')$'\n'
done

printf '%s\n' "$device"
[ -z "$tested" ] || printf '\n%s' "$tested"
printf '\n%-26s %12s %12s %8s\n' "product" "GFLOP/s" "ceiling" "share"
# Row f16 uses the kernels that the plugin chooses. Row coopmat is f16 with cooperative matrices, and no_coopmat is f16
# without them. Cooperative matrices have a higher ceiling; where the device has them, f16 is compared with that
# ceiling too.
matrices=$(counter "$work/ceiling.json" MultiplyAdd/coopmat GFLOP/s)
for type in f32 f16 coopmat no_coopmat; do
  case $type in
    f32) ceiling=$(counter "$work/ceiling.json" MultiplyAdd/f32 GFLOP/s) ;;
    no_coopmat) ceiling=$(counter "$work/ceiling.json" MultiplyAdd/f16 GFLOP/s) ;;
    coopmat) ceiling=$matrices ;;
    f16) ceiling=${matrices:-$(counter "$work/ceiling.json" MultiplyAdd/f16 GFLOP/s)} ;;
  esac
  [ -n "$ceiling" ] || continue
  for size in 512 1024 2048 4096; do
    rate=$(counter "$work/products.json" "Square/$type/$size" GFLOP/s)
    [ -n "$rate" ] || continue
    printf '%s %s %s' "MatMul/$type/$size" "$rate" "$ceiling" |
      awk '{ printf "%-26s %12.4g %12.4g %8.2f\n", $1, $2, $3, $2 / $3 }'
  done
done
printf '%-26s %12.4g GB/s\n' "reading once" "$(counter "$work/ceiling.json" Read GB/s)"
# Each case runs with one invocation per row, with a subgroup, with a workgroup of subgroups, with workgroup memory, and
# with the chosen kernel. The time of the chosen kernel is compared with the first.
printf '\n%-26s %10s %10s %10s %10s %10s %8s\n' "rows, ms" "alone" "subgroup" "subgroups" "shared" "chosen" "ratio"
while read -r name; do
  times=""
  for way in alone subgroup subgroups shared chosen; do
    time=$(counter "$work/products.json" "Rows/$name/$way" real_time)
    times+=" ${time:-nan}"
  done
  printf '%s %s' "$name" "$times" |
    awk '{ printf "%-26s %10.4g %10.4g %10.4g %10.4g %10.4g %8.2f\n", $1, $2, $3, $4, $5, $6, $6 / $2 }'
done < <(sed -n 's|^ *"name": "Rows/\(.*\)/alone/real_time".*|\1|p' "$work/products.json")
printf '\n%-26s %12s %14s %14s %8s\n%s' "model" "run, ms" "cold, ms" "context, ms" "ratio" "$rows"
echo "Cold, context: session and first run. Medians of $rounds rounds, $threads threads of the host."
exit $status
