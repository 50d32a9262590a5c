#include "epiphyte/kit/fuse/flattened_products.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "epiphyte/kit/fuse/match.hpp"

namespace epiphyte::kit::fuse {
namespace {

// True when both have the same dimensions except the last. A dimension may be unknown in both: it is equal because the
// Reshapes keep the number of elements.
bool SameRows(const ir::Value& x, const ir::Value& y) {
  if (x.rank < 3 || x.rank != y.rank || x.dims.back() < 1 || y.dims.back() < 1) return false;
  int unknown = 0;
  for (size_t i = 0; i + 1 < x.dims.size(); ++i) {
    if (x.dims[i] != y.dims[i] || x.dims[i] == 0) return false;
    unknown += x.dims[i] < 0;
  }
  return unknown <= 1;
}

void Unflatten(ir::Editor& editor, int32_t n) {
  const ir::Node& product = editor.node(n);
  if (product.inputs.size() != 2) return;
  const int32_t flat = product.inputs[0], weight = product.inputs[1];
  const int32_t flatten = Maker(editor, flat, "Reshape");
  if (flatten < 0 || editor.OnlyReader(flat) != n || editor.info(flat).rank != 2 || editor.info(weight).rank != 2)
    return;
  const int32_t x = editor.node(flatten).inputs[0];

  int32_t value = product.outputs[0];
  int32_t next = editor.OnlyReader(value);
  const int32_t add = IsArithmetic(editor, next, "Add") ? next : -1;
  if (add >= 0) {
    const ir::Value& row = editor.info(Other(editor.node(add), value));
    if (row.rank != 1 || row.dims[0] != editor.info(value).dims.back()) return;
    value = editor.node(add).outputs[0];
    next = editor.OnlyReader(value);
  }
  if (!IsNode(editor, next, "Reshape") || editor.node(next).inputs[0] != value) return;
  const int32_t y = editor.node(next).outputs[0];
  const ir::Value& from = editor.info(x);
  const ir::Value& to = editor.info(y);
  if (!SameRows(from, to) || from.type != to.type) return;
  if (from.dims.back() != editor.info(weight).dims[0] || to.dims.back() != editor.info(weight).dims[1]) return;

  // The node is copied before the edits, because these invalidate references to nodes and values.
  ir::Node whole = product;
  const int32_t made = product.outputs[0];
  whole.inputs[0] = x;
  if (add < 0) {
    whole.outputs = {y};
    editor.Replace(next, std::move(whole));
    return;
  }
  ir::Node sum = editor.node(add);
  ir::Value whole_info = to;
  whole_info.name = editor.info(made).name + "/rows";
  const int32_t rows = editor.AddValue(std::move(whole_info));
  whole.outputs = {rows};
  editor.InsertBefore(next, std::move(whole));
  std::replace(sum.inputs.begin(), sum.inputs.end(), made, rows);
  sum.outputs = {y};
  editor.Replace(next, std::move(sum));
}

}  // namespace

void UnflattenProducts(ir::Editor& editor) {
  const int32_t count = editor.node_count();
  for (int32_t n = 0; n < count; ++n)
    if (IsNode(editor, n, "MatMul", 2)) Unflatten(editor, n);
}

}  // namespace epiphyte::kit::fuse
