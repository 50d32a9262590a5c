#!/bin/sh
# Each bundled plugin exports EpPluginQuery and nothing else, and links neither protobuf nor libonnx nor the host.
set -eu
directory=$1
plugins=0
for manifest in "$directory"/*.yaml; do
  library=$directory/$(sed -n 's/.*linux-x86_64: *\([^,} ]*\).*/\1/p' "$manifest")
  [ -f "$library" ] || { echo "$manifest names $library, which does not exist" >&2; exit 1; }
  exported=$(nm -D --defined-only "$library" | awk '{print $3}' | sed 's/@.*//')
  if [ "$exported" != EpPluginQuery ]; then
    echo "$library exports:" $exported "- expected EpPluginQuery alone" >&2
    exit 1
  fi
  needed=$(readelf -d "$library" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p')
  case " $(echo $needed) " in
    *protobuf*|*onnx*|*libepiphyte.so*) echo "$library needs" $needed >&2; exit 1 ;;
  esac
  plugins=$((plugins + 1))
done
[ "$plugins" -ge 1 ] || { echo "no plugin found in $directory" >&2; exit 1; }
echo "$plugins plugins export one symbol each"
