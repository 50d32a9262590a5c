#include "epiphyte/kit/qdq/unshare.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "epiphyte/kit/qdq/quantization.hpp"

namespace epiphyte::kit::qdq {
namespace {

// Inserts a copy of the DequantizeLinear that makes `value` before `reader`, and makes `reader` read the copy.
void CopyFor(ir::Editor& editor, int32_t dequantize, int32_t reader, size_t number) {
  const int32_t value = editor.node(dequantize).outputs[0];
  ir::Value info = editor.info(value);
  info.name += "_" + std::to_string(number);
  ir::Node copy = editor.node(dequantize);
  copy.name += "_" + std::to_string(number);
  const int32_t own = editor.AddValue(std::move(info));
  copy.outputs[0] = own;
  editor.InsertBefore(reader, std::move(copy));
  ir::Node changed = editor.node(reader);
  std::replace(changed.inputs.begin(), changed.inputs.end(), value, own);
  editor.Replace(reader, std::move(changed));
}

}  // namespace

size_t UnshareDequantize(ir::Editor& editor) {
  size_t copies = 0;
  const int32_t count = editor.node_count();  // number of nodes without the copies
  for (int32_t n = 0; n < count; ++n) {
    if (editor.removed(n) || !IsDequantize(editor.node(n)) || !editor.node(n).HasOutput(0)) continue;
    const int32_t value = editor.node(n).outputs[0];
    std::vector<int32_t> readers = editor.Readers(value);
    std::sort(readers.begin(), readers.end());
    readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
    const auto reads_itself = [&](int32_t reader) {
      const std::vector<int32_t>& inputs = editor.node(reader).inputs;
      return std::find(inputs.begin(), inputs.end(), value) != inputs.end();
    };
    bool is_kept = editor.IsOutput(value) || !std::all_of(readers.begin(), readers.end(), reads_itself);
    for (const int32_t reader : readers) {
      if (is_kept && reads_itself(reader)) CopyFor(editor, n, reader, ++copies);
      is_kept = true;
    }
  }
  return copies;
}

}  // namespace epiphyte::kit::qdq
