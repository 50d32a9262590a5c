#!/bin/sh
# Checks which folders include which other folders.
# - Rooms: plugins never include core, core never includes host or plugins, the command line never includes internals of
#   the library, and only core/onnx knows protobuf.
# - Floors, inside the core, the kit and each plugin: a lower floor never includes a higher one. The tables below list
#   them, lowest first. A file that belongs to no floor is an error, so a new folder must be added to its table.
# - Circles: no chain of includes leads back to its first file. A header and the .cpp of the same name count as one
#   file.
#
#   layers.sh FOLDER            the tree to look at
set -eu
cd "$1"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=$work/bad
: > "$bad"

# --- rooms

grep -rnE '#include *[<"](core|host)/' plugins plugin_api >> "$bad" || true
grep -rnE '#include *[<"](host|plugins)/' core >> "$bad" || true
grep -rnE '#include *[<"](core|host/api)/' host/cli host/tools host/include host/examples >> "$bad" || true
grep -rnE '#include *<(google/protobuf|onnx)/' core plugins plugin_api host | grep -v '^core/onnx/' >> "$bad" || true

# --- includes as lines "file included", both paths relative to this folder

find core plugins plugin_api host/include host/api host/cli host/conformance host/tools host/examples \
  -name '*.h' -o -name '*.hpp' -o -name '*.cpp' -o -name '*.c' 2> /dev/null | sort > "$work/files"
xargs grep -HE '^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]' < "$work/files" |
  sed -E 's/^([^:]+):[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]([^">]+).*/\1 \2/' |
  awk -v files="$work/files" '
    BEGIN { while ((getline line < files) > 0) known[line] = 1 }
    {
      folder = $1
      sub("/[^/]*$", "/", folder)
      count = split($2 "\n" folder $2 "\nplugin_api/include/" $2 "\nplugin_api/kit/" $2 "\nhost/include/" $2, places, "\n")
      for (i = 1; i <= count; ++i) if (places[i] in known) { print $1, places[i]; break }
    }' > "$work/includes"

# --- floors: area, height, pattern of paths. The first pattern that fits a file counts.

cat > "$work/floors" <<'TABLE'
core          1  ^core/base/
core          2  ^core/graph/
core        3.1  ^core/onnx/wire/
core        3.2  ^core/onnx/schema/
core        3.3  ^core/onnx/microsoft/
core        3.4  ^core/onnx/read/
core        3.5  ^core/onnx/write/
core        3.6  ^core/onnx/infer/
core        3.7  ^core/onnx/(overlay|gradient)/
core        3.8  ^core/onnx/functions/
core        3.9  ^core/onnx/model_reader[.]
core          4  ^core/transform/
core          5  ^core/registry/
core          6  ^core/partition/
core          7  ^core/abi/
core          8  ^core/device/
core          9  ^core/context/
core         10  ^core/runtime/
core         11  ^core/cache/
plugin_api    1  ^plugin_api/include/
plugin_api    2  ^plugin_api/kit/epiphyte/kit/abi/(cxx20|error|visibility)[.]
plugin_api    3  ^plugin_api/kit/epiphyte/kit/abi/
plugin_api    4  ^plugin_api/kit/epiphyte/kit/(shape/|memory/heap[.])
plugin_api    5  ^plugin_api/kit/epiphyte/kit/graph/
plugin_api    6  ^plugin_api/kit/epiphyte/kit/memory/
plugin_api    7  ^plugin_api/kit/epiphyte/kit/(fuse|qdq|container)/
plugin_api    8  ^plugin_api/kit/epiphyte/kit/signature/
plugin_api    9  ^plugin_api/kit/epiphyte/kit/plugin/
plugin_api   10  ^plugin_api/examples/
plugins/cpu 1.1  ^plugins/cpu/simd/target/
plugins/cpu 1.2  ^plugins/cpu/simd/inline/
plugins/cpu 1.3  ^plugins/cpu/simd/(elementwise|convert|reduce|gemm)/
plugins/cpu 1.4  ^plugins/cpu/simd/(window|sequence)/
plugins/cpu   1  ^plugins/cpu/(images|re2)/|^plugins/cpu/onednn/omp_on_host/
plugins/cpu   2  ^plugins/cpu/kernel/
plugins/cpu   3  ^plugins/cpu/(onednn|text|ml)/
plugins/cpu   4  ^plugins/cpu/(ops|exec)/
plugins/cpu   5  ^plugins/cpu/(plugin|provider|share)[.]
plugins/vulkan 1  ^plugins/vulkan/(device|spirv)/
plugins/vulkan 2  ^plugins/vulkan/program/
plugins/vulkan 3  ^plugins/vulkan/ops/
plugins/vulkan 4  ^plugins/vulkan/exec/
plugins/vulkan 5  ^plugins/vulkan/(operators|plugin|provider|share)[.]
plugins/npu/simulator 1 ^plugins/npu/simulator/isa/
plugins/npu/simulator 2 ^plugins/npu/simulator/(blob|graph|device)/
plugins/npu/simulator 3 ^plugins/npu/simulator/compiler/
plugins/npu/simulator 4 ^plugins/npu/simulator/sdk/
plugins/npu/simulator 5 ^plugins/npu/simulator/npusim/
host/conformance 1 ^host/conformance/(rules|graphs)/
host/conformance 2 ^host/conformance/memory/
host/conformance 3 ^host/conformance/process/
host/conformance 4 ^host/conformance/(debug_host|plugin)/
host/conformance 5 ^host/conformance/checks/
host/conformance 6 ^host/conformance/cases/
host/conformance 7 ^host/conformance/(report|suite|main)[.]
host          1  ^host/include/
host          2  ^host/
TABLE
awk -v table="$work/floors" -v files="$work/files" '
  function look(file, i) {
    for (i = 1; i <= lines; ++i) if (file ~ pattern[i]) { area_of[file] = area[i]; floor_of[file] = height[i]; return }
  }
  BEGIN {
    while ((getline line < table) > 0) { split(line, part); ++lines; area[lines] = part[1]; height[lines] = part[2] + 0; pattern[lines] = part[3] }
    while ((getline file < files) > 0) {
      look(file)
      for (i = 1; i <= lines; ++i) if (index(file, area[i] "/") == 1 && !(file in area_of)) print file ": belongs to no floor of " area[i] "; give it one in tests/abi/layers.sh"
    }
  }
  area_of[$1] == area_of[$2] && floor_of[$1] < floor_of[$2] { print $1 ": a lower floor includes a higher one, " $2 }
' "$work/includes" | sort -u >> "$bad"

# --- circles: tsort names the members of a circle on standard error

sed -E 's/[.](h|hpp|cpp|c)( |$)/\2/g' "$work/includes" | awk '$1 != $2' > "$work/units"
if ! tsort "$work/units" > "$work/order" 2> "$work/circles"; then
  awk '
    /input contains a loop/ { if (line != "") print line; line = "a circle of includes:"; next }
    { line = line " " $2 }
    END { print line }' "$work/circles" >> "$bad"
fi

if [ -s "$bad" ]; then
  echo "includes that break the layers:" >&2
  cat "$bad" >&2
  exit 1
fi
echo "the layers hold: $(wc -l < "$work/files") files, $(wc -l < "$work/includes") includes"
