#!/bin/sh
# Who may include whom: plugins never include core, core never includes host or plugins, lower floors of core never
# include higher ones, and only core/onnx knows protobuf.
set -eu
cd "$1"
bad=$(grep -rnE '#include *[<"](core|host)/' plugins plugin_api || true
  grep -rnE '#include *[<"](host|plugins)/' core || true
  grep -rnE '#include *<(google/protobuf|onnx)/' core plugins plugin_api host | grep -v '^core/onnx/' || true)
floors='base graph onnx transform registry partition abi context runtime cache'
above=$floors
for floor in $floors; do
  above=$(echo " $above " | sed "s/ $floor / /")
  for higher in $above; do
    found=$(grep -rn "#include \"core/$higher/" "core/$floor" || true)
    [ -z "$found" ] || bad="$bad
$found"
  done
done
if [ -n "$(echo $bad)" ]; then
  echo "includes that break the layers:$bad" >&2
  exit 1
fi
echo "the layers hold"
