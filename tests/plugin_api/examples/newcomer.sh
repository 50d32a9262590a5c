#!/bin/sh
# newcomer.sh BUILD PREFIX: makes a plugin that passes the suite from nothing, with only the installed programs:
# `epiphyte new-plugin`, build, plugins, doctor, conformance, compile, reload. In C++ and in C.
. "$(dirname "$0")/common.sh"
PATH=$prefix/bin:$PATH
for language in "" --c; do
  rm -rf my-npu build.txt
  epiphyte new-plugin my-npu $language > said.txt
  for file in CMakeLists.txt my-npu.yaml; do
    [ -f "my-npu/$file" ] || { cat said.txt; fail "my-npu/$file was not written"; }
    grep -q "^my-npu/$file\$" said.txt || { cat said.txt; fail "new-plugin doesn't say that it wrote $file"; }
  done
  if grep -rnE 'kit_minimal|KitMinimal|plain_c|PlainC' my-npu; then fail "the names of the example stayed"; fi
  # The commands that new-plugin prints are run unchanged.
  sed -n 's/^  //p' said.txt > next.sh
  [ "$(wc -l < next.sh)" -eq 4 ] || { cat said.txt; fail "four commands are expected"; }
  quietly sh -eu next.sh

  export EPIPHYTE_PLUGIN_PATH="$work/my-npu/build"
  epiphyte plugins | grep -q '^my-npu *Ready' || { epiphyte plugins; fail "it is not listed"; }
  epiphyte doctor | grep -q '^my-npu *Loaded' || { epiphyte doctor; fail "it doesn't load"; }
  ep_conformance my-npu/build/my-npu.yaml > report.txt || { cat report.txt; fail "it breaks rules"; }
  if [ -z "$language" ]; then
    model model.onnx '(float[4] x) => (float[4] y) { a = Relu(x) b = Add(a, x) y = Sigmoid(b) }'
  else
    model model.onnx '(float[4] x) => (float[4] y) { a = Neg(x) b = Abs(a) y = Sigmoid(b) }'
  fi
  found=$(placed model.onnx my-npu)
  [ "$found" = "my-npu my-npu cpu " ] || fail "the nodes went to: $found"
  same_numbers model.onnx my-npu
  unset EPIPHYTE_PLUGIN_PATH

  # A plugin that is installed beside the host needs no environment variable.
  quietly cmake --install my-npu/build --prefix "$work/installed"
  digest=$(sha256sum "$work"/installed/lib*/epiphyte/plugins/my-npu.so "$work"/installed/lib/*/epiphyte/plugins/my-npu.so 2> /dev/null | cut -d' ' -f1 | head -1)
  grep -rq "$digest" "$work"/installed --include=my-npu.yaml || fail "the installed manifest has another digest"
done
echo "two plugins were made, built, checked, compiled with and reloaded"
