# For code_blocks.sh: puts the files that documents name into $folder. They are made once, in $work/inputs.
inputs=$work/inputs

# text_model FILE OPSET IR_VERSION TEXT: writes a model given in ONNX's textual syntax
text_model() { "$build/tests_bin/write_onnx_text" "$inputs/$1" "<ir_version: $3, opset_import: [\"\" : $2]> $4"; }

# quantized_model FILE: writes an operator in QDQ form, as the NPU takes it
quantized_model() {
  text_model "$1" 17 8 'g (float[1,64] x) => (float[1,64] y)
    <float s = {0.05}, uint8 z = {128}, int8 w8 = {3}, float ws = {0.02}, int8 wz = {0}, int64[2] size = {64, 64}> {
      xq = QuantizeLinear(x, s, z)
      xd = DequantizeLinear(xq, s, z)
      wq = Expand(w8, size)
      wd = DequantizeLinear(wq, ws, wz)
      m = MatMul(xd, wd)
      mq = QuantizeLinear(m, s, z)
      y = DequantizeLinear(mq, s, z)
    }'
}

make_inputs() {
  mkdir -p "$inputs/models" "$inputs/onnx/backend/test/data"
  epiphyte_make_models --out "$inputs/models" --only squeezenet1.1,resnet50
  mv "$inputs/models/resnet50.onnx" "$inputs/resnet50.onnx"
  mv "$inputs/models/squeezenet1.1.onnx" "$inputs/model.onnx"
  mv "$inputs/models/squeezenet1.1.inputs" "$inputs/data"
  rm -r "$inputs/models"

  local name
  for name in model_qdq prefill_qdq decode_qdq; do quantized_model $name.onnx; done
  # A decoder's KV cache: each step writes "update" into "past" at position "at".
  text_model decoder.onnx 24 11 'g (float[1,2,1024,4] past, float[1,2,1,4] update, int64[1] at) => (float[1,2,1024,4] present) {
    present = TensorScatter(past, update, at) }'
  for name in llama_prefill llama_decode; do
    text_model $name.onnx 17 8 'g (float[1,4] x) => (float[1,4] y)
      <float[4,4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}> { y = MatMul(x, w) }'
  done
  text_model a.onnx 17 8 'a (float[4] x) => (float[4] y) { y = Neg(x) }'
  text_model b.onnx 17 8 'b (float[4] x) => (float[4] z) { z = Abs(x) }'
  for name in a b; do epiphyte compile "$inputs/$name.onnx" --ep cpu; done
  # Only a few of ONNX's cases are copied, so that running them takes seconds.
  mkdir "$inputs/onnx/backend/test/data/node"
  cp -r /usr/share/libonnx-testdata/data/node/test_{add,relu,sigmoid}* "$inputs/onnx/backend/test/data/node"
  touch "$inputs/known_failures.txt"

  # The source of the plugin in packaging.md: the output of new-plugin, with the names of that manifest.
  (cd "$inputs" && epiphyte new-plugin acme-npu --dir new)
  sed 's/"Example", "1.0.0", "ExampleAcmeNpu"/"Acme", "1.4.0", "AcmeNpu"/' "$inputs/new/acme-npu.cpp" > "$inputs/acme-npu.cpp"
  rm -r "$inputs/new"
}

if [ ! -d "$inputs" ]; then
  (set -e; make_inputs) > "$work/log" 2>&1 || { tail -n 20 "$work/log" >&2; echo "the inputs can't be made" >&2; exit 1; }
fi
cp -rl "$inputs/." "$folder/"
