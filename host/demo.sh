#!/usr/bin/env bash
# Shows the main task on real models: finds the plugins, compiles each model to an EP context model, loads it again, and
# compares the numbers. On a fresh Debian 12 or 13 it first installs what it needs and builds.
#
#   ./host/demo.sh
set -euo pipefail
cd "$(dirname "$0")/.."

bin=$PWD/build/release/bin
work=$PWD/build/demo
models=$PWD/build/release/models
names="resnet50 bert_base llama_prefill llama_decode"
threads=$(nproc)
# Lets ccache use what another clone has compiled.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1

step() { printf '\n== %s\n' "$*"; }

# number JSON NAME: prints the number that follows "NAME": in a JSON text
number() { printf '%s' "$1" | tr -d '\n' | sed -n "s/.*\"$2\": *\([-+0-9.eE]*\).*/\1/p"; }

step "Dependencies and build"
./cmake/install_dependencies.sh --build
mkdir -p build "$work"
cmake --preset release >build/release.configure.log 2>&1 || { cat build/release.configure.log; exit 1; }
cmake --build --preset release -j "$(nproc)" \
  --target epiphyte_cli ep_weight_sharing_ctx_gen epiphyte_cpu epiphyte_vulkan epiphyte_npu epiphyte_npusim npusim \
  epiphyte_make_models epiphyte_compare_outputs

step "Models (deterministic random weights, real architectures)"
"$bin/epiphyte_make_models" --out "$models" \
  --only "${names// /,},squeezenet1.1,resnet50_qdq,llama_prefill_qdq,llama_decode_qdq"

step "Plugins"
"$bin/epiphyte" plugins

step "Compile, reload, compare ($threads threads)"
table=$(printf '%-14s %12s %15s %12s %12s %12s\n' \
  "model" "cold session" "context session" "cold run" "context run" "difference")
for name in $names; do
  model=$models/$name.onnx inputs=$models/$name.inputs
  context=$work/$name/${name}_ctx.onnx
  mkdir -p "$work/$name"
  echo "$name: compiling"
  "$bin/epiphyte" compile "$model" --ep cpu --output "$context" --force
  common=(--ep cpu --threads "$threads" --inputs "$inputs")
  "$bin/epiphyte" run "$model" "${common[@]}" --outputs "$work/$name/cold" >/dev/null
  "$bin/epiphyte" run "$context" "${common[@]}" --outputs "$work/$name/context" >/dev/null
  if ! comparison=$("$bin/epiphyte_compare_outputs" "$work/$name/context" "$work/$name/cold" \
    --rtol 1e-3 --atol 1e-4); then
    printf '%s\n%s: the outputs of both differ\n' "$comparison" "$name" >&2
    exit 1
  fi
  cold=$("$bin/epiphyte" bench "$model" "${common[@]}" --runs 10 --json)
  warm=$("$bin/epiphyte" bench "$context" "${common[@]}" --runs 10 --json)
  row=$(printf '%-14s %9.1f ms %12.1f ms %9.2f ms %9.2f ms %12s' "$name" \
    "$(number "$cold" session_ms)" "$(number "$warm" session_ms)" \
    "$(number "$cold" median)" "$(number "$warm" median)" "${comparison##*$'\n'}")
  table+=$'\n'$row
done

step "Weight sharing: Llama's prefill and decode models use one binary"
mkdir -p "$work/llama"
"$bin/ep_weight_sharing_ctx_gen" -e cpu -o "$work/llama" --force \
  "$models/llama_prefill.onnx,$models/llama_decode.onnx"
for name in llama_prefill llama_decode; do
  context=$work/llama/${name}_ctx.onnx
  "$bin/epiphyte" verify "$context"
  "$bin/epiphyte" run "$context" --ep cpu --threads "$threads" --inputs "$models/$name.inputs" \
    --outputs "$work/llama/$name" >/dev/null
  "$bin/epiphyte_compare_outputs" "$work/llama/$name" "$work/$name/cold" --rtol 1e-3 --atol 1e-4
done

# Mesa's software device stands for a GPU, so that the demo is the same on every machine.
software=$(find /usr/share/vulkan/icd.d -name 'lvp_icd*.json' 2>/dev/null | head -n 1)
if [ -n "$software" ]; then
  step "Vulkan, on Mesa's software device: compile, reload, compare with the CPU"
  export VK_DRIVER_FILES=$software
  mkdir -p "$work/vulkan"
  squeezenet=$models/squeezenet1.1
  "$bin/epiphyte" run "$squeezenet.onnx" --ep cpu --threads "$threads" --inputs "$squeezenet.inputs" \
    --outputs "$work/squeezenet1.1/cold" >/dev/null
  "$bin/epiphyte" compile "$squeezenet.onnx" --ep vulkan,cpu --output "$work/vulkan/squeezenet1.1_ctx.onnx" --force
  "$bin/ep_weight_sharing_ctx_gen" -e vulkan -o "$work/vulkan" --force \
    "$models/llama_prefill.onnx,$models/llama_decode.onnx"
  for name in squeezenet1.1 llama_prefill llama_decode; do
    "$bin/epiphyte" run "$work/vulkan/${name}_ctx.onnx" --ep vulkan,cpu --threads "$threads" \
      --inputs "$models/$name.inputs" --outputs "$work/vulkan/$name" >/dev/null
    comparison=$("$bin/epiphyte_compare_outputs" "$work/vulkan/$name" "$work/$name/cold" --rtol 1e-3 --atol 1e-4)
    printf '%-14s vulkan,cpu from its context, largest difference from the CPU: %s\n' "$name" "${comparison##*$'\n'}"
  done
  unset VK_DRIVER_FILES
fi

# The bundled SDK simulates an NPU: it computes the same results, and counts the cycles that an NPU would take.
step "NPU, simulated: quantised models, compile, reload, compare with the CPU"
mkdir -p "$work/npu"
resnet=$models/resnet50_qdq
"$bin/epiphyte" run "$resnet.onnx" --ep cpu --threads "$threads" --inputs "$resnet.inputs" \
  --outputs "$work/npu/resnet50_qdq_cpu" >/dev/null
"$bin/epiphyte" compile "$resnet.onnx" --ep npu,cpu --ep-option npu.effort=balanced \
  --output "$work/npu/resnet50_qdq_ctx.onnx" --force
"$bin/epiphyte" run "$work/npu/resnet50_qdq_ctx.onnx" --ep npu,cpu --inputs "$resnet.inputs" \
  --outputs "$work/npu/resnet50_qdq" >/dev/null
"$bin/epiphyte_compare_outputs" "$work/npu/resnet50_qdq" "$work/npu/resnet50_qdq_cpu" --top1 >/dev/null ||
  { echo "resnet50_qdq: the NPU's top-1 isn't the CPU's" >&2; exit 1; }
counters=$("$bin/npusim" run "$work/npu/resnet50_qdq_npu.bin" --counters)
counter() { sed -n "s/^$1 //p" <<<"$counters"; }
awk -v cycles="$(counter npu_total_cycles)" -v used="$(counter mac_utilisation)" 'BEGIN {
  printf "resnet50_qdq   npu,cpu from its context: top-1 is the CPU'"'"'s; %.1f million cycles, %.0f %% of 256 MACs\n",
    cycles / 1e6, used * 100 }'
"$bin/ep_weight_sharing_ctx_gen" -e npu -o "$work/npu" --force \
  "$models/llama_prefill_qdq.onnx,$models/llama_decode_qdq.onnx"
for name in llama_prefill_qdq llama_decode_qdq; do
  "$bin/epiphyte" run "$models/$name.onnx" --ep cpu --threads "$threads" --inputs "$models/$name.inputs" \
    --outputs "$work/npu/${name}_cpu" >/dev/null
  "$bin/epiphyte" run "$work/npu/${name}_ctx.onnx" --ep npu,cpu --inputs "$models/$name.inputs" \
    --outputs "$work/npu/$name" >/dev/null
  comparison=$("$bin/epiphyte_compare_outputs" "$work/npu/$name" "$work/npu/${name}_cpu" --atol 0.5)
  printf '%-17s npu,cpu from its context, largest difference from the CPU: %s\n' "$name" "${comparison##*$'\n'}"
done

printf '\n%s\n\n' "$table"
echo "Session: from the call to ready. Run: median of 10. Difference: largest between the outputs of both."
