# shellcheck shell=bash disable=SC2034
# Shared by the scripts of this folder; sourced, not run.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
bin=$root/build/release/bin
models=$root/build/release/models
ort_version=1.30

all_models="resnet50 mobilenetv2 squeezenet1.1 bert_base llama_prefill llama_decode lstm_tagger detector_tail \
control_flow tiny_add chain_1000 chain_100000 voice_activity text_recogniser densenet121 inceptionv3 shufflenetv2 \
efficientnet_b0 vit_s16 whisper_encoder whisper_decoder wake_word unet unet_f16 unet_int8 bert_base_int8 resnet50_qdq \
bert_base_qdq llama_decode_int4 llama_decode_int4_dq resnet50_opset9 bert_base_opset9 mobilenetv2_opset9 \
squeezenet1.1_opset9 densenet121_opset9 inceptionv3_opset9 efficientnet_b0_opset9 shufflenetv2_opset9 vit_s16_opset9 \
text_recogniser_opset9 wake_word_opset9 whisper_encoder_opset9 resnet50_tf mobilenetv2_tf bert_base_tf \
densenet121_tf inceptionv3_tf efficientnet_b0_tf vit_s16_tf"

die() {
  echo "$(basename "$0"): $*" >&2
  exit 1
}

# read_arguments ARGUMENT...: reads options into variables, and accepts those for which the caller has set a default:
# --only (variable selected), --rounds, --threads, --seconds and --json. A list with commas becomes one with spaces.
read_arguments() {
  local usage option
  usage="usage: $(basename "$0") [--only NAME[,NAME]...]"
  for option in rounds threads seconds; do
    [ -z "${!option-}" ] || usage+=" [--$option N]"
  done
  [ -z "${json-}" ] || usage+=" [--json]"
  while [ $# -gt 0 ]; do
    option=${1#--}
    case "$1" in
      --only) [ $# -gt 1 ] || die "$usage"; selected=${2//,/ }; shift ;;
      --rounds | --threads | --seconds)
        if [ $# -lt 2 ] || [ -z "${!option-}" ]; then die "$usage"; fi
        printf -v "$option" '%s' "${2//,/ }"
        shift
        ;;
      --json) [ -n "${json-}" ] || die "$usage"; json=true ;;
      *) die "$usage" ;;
    esac
    shift
  done
}

require_build() {
  [ -x "$bin/epiphyte" ] && [ -x "$bin/epiphyte_ort_bench" ] ||
    die "build/release is not built; run: cmake --preset release && cmake --build --preset release"
}

# Sets ort_library to $ORT_LIBRARY, or to the library of the npm package, which is downloaded once.
find_ort_library() {
  local folder=$root/build/bench/node
  ort_library=${ORT_LIBRARY:-$folder/node_modules/onnxruntime-node/bin/napi-v6/linux/x64/libonnxruntime.so.1}
  [ ! -e "$ort_library" ] || return 0
  [ -z "${ORT_LIBRARY-}" ] || die "ORT_LIBRARY names '$ORT_LIBRARY', which does not exist"
  command -v npm >/dev/null ||
    die "npm is missing; install it (apt install npm) or set ORT_LIBRARY to libonnxruntime.so of version $ort_version"
  mkdir -p "$folder"
  npm install --ignore-scripts --no-audit --no-fund --prefix "$folder" "onnxruntime-node@$ort_version" >&2
  [ -e "$ort_library" ] || die "the package onnxruntime-node@$ort_version does not hold $ort_library"
}

make_models() {
  "$bin/epiphyte_make_models" --out "$models" --only "${1// /,}" >&2
}

# number JSON NAME: prints the number that follows "NAME": in a JSON text, or nothing when there is none.
number() { printf '%s' "$1" | tr -d '\n' | sed -n "s/.*\"$2\": *\([-+0-9.eE]*\).*/\1/p"; }

# median NUMBER...: prints the median
median() { printf '%s\n' "$@" | sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
