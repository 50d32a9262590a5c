// Attention of ONNX (opset 23) and of the kit: softmax(scale * q k + mask) v. It is two GEMMs over strided views, with
// the softmax between them. The cache of past keys and values precedes the new ones.
#include <algorithm>
#include <array>
#include <cmath>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/fuse/operators.hpp"
#include "epiphyte/kit/shape/arithmetic.hpp"
#include "epiphyte/kit/shape/attention.hpp"
#include "epiphyte/kit/shape/strides.hpp"
#include "plugins/vulkan/ops/product/product.h"
#include "plugins/vulkan/ops/row_work.h"
#include "plugins/vulkan/ops/shader_numbers.h"

namespace epiphyte::vulkan {
namespace {

// A tensor and its strides as [batch, heads, position, element]. A stride of 0 broadcasts.
struct View {
  int32_t tensor = -1;
  int64_t batch = 0, head = 0, position = 0, element = 0;
};

struct Mask {
  int32_t tensor = -1;
  std::array<int64_t, 4> strides{};
  int64_t length = 0;  // keys that the mask covers; later keys are masked out
};

struct Attention {
  int64_t batch = 0, heads = 0;
  int64_t queries = 0, keys = 0;
  int64_t size = 0, width = 0;  // length of a key vector and of a value vector
  int64_t key_heads = 0, value_heads = 0;
  View q, k, v, y;
  float scale = 1;
  float softcap = 0;
  Mask mask;
  bool causal = false;
  int64_t before = 0;    // keys before the first query's own; -1: computed from `lengths`
  int32_t lengths = -1;  // tensor with the number of valid keys of each batch, int64; -1: all keys are valid
  int32_t shown = -1;    // tensor that gets the scores [batch, heads, queries, keys] after `stage`; -1: none
  uint32_t stage = 4;    // 0: the GEMM, 1: softcap, 2: mask, 3: softmax
};

void RecordSoftmax(Recording& r, const Attention& attention, int32_t scores, int64_t pitch) {
  const EpElementType type = r.tensor(scores).type;
  const int64_t rows = attention.batch * attention.heads * attention.queries;
  const bool is_bool = attention.mask.tensor >= 0 && r.tensor(attention.mask.tensor).type == EP_TYPE_BOOL;
  const RowWork work(r.capabilities(), {.count = rows, .length = attention.keys, .passes = 3, .shared = true});
  const std::string name = is_bool ? "attention_softmax_bool" : "attention_softmax";
  r.Note(work.Explain(name));
  Dispatch dispatch;
  dispatch.shader = Recording::ShaderFor(kit::TextOf(name, work.suffix()), type);
  dispatch.specialization = {(attention.mask.tensor >= 0 ? shader::kAttentionMask : 0) |
                                 (attention.causal ? shader::kAttentionCausal : 0) |
                                 (attention.softcap > 0 ? shader::kAttentionSoftcap : 0) |
                                 (attention.lengths >= 0 ? shader::kAttentionLengths : 0),
                             attention.shown >= 0 ? attention.stage : 4};
  const auto& strides = attention.mask.strides;
  dispatch.parameters = {Word(rows),
                         Word(attention.keys),
                         Word(pitch),
                         Word(attention.heads),
                         Word(attention.queries),
                         Word(strides[0]),
                         Word(strides[1]),
                         Word(strides[2]),
                         Word(strides[3]),
                         Word(attention.mask.length),
                         Word(attention.before),
                         Word(attention.softcap)};
  const Binding unused = Recording::ReadTensor(attention.q.tensor);
  dispatch.bindings = {
      Recording::ReadWrite(scores), attention.mask.tensor >= 0 ? Recording::ReadTensor(attention.mask.tensor) : unused,
      attention.lengths >= 0 ? Recording::ReadTensor(attention.lengths) : unused,
      attention.shown >= 0 ? Recording::Write(attention.shown) : Recording::Write(r.Scratch(type, {4}))};
  work.Complete(r, &dispatch);
  dispatch.work = static_cast<uint64_t>(rows * pitch) * 8;
  r.Add(std::move(dispatch));
}

// Product::offsets for each batch and each group of `heads_each` heads. `right_heads` is the number of heads of
// `right`.
std::vector<uint32_t> Offsets(const Attention& attention, const View& left, const View& right, const View& result,
                              int64_t right_heads, int64_t heads_each) {
  std::vector<uint32_t> offsets;
  for (int64_t b = 0; b < attention.batch; ++b) {
    for (int64_t h = 0; h < attention.heads; h += heads_each) {
      const int64_t shared = h / (attention.heads / right_heads);
      offsets.push_back(Word(b * left.batch + h * left.head));
      offsets.push_back(Word(b * right.batch + shared * right.head));
      offsets.push_back(Word(b * result.batch + h * result.head));
    }
  }
  return offsets;
}

// left [queries, inner] times right [inner, columns] for each head. With one query, the heads that share a matrix are
// the rows of one product.
Product HeadProduct(const Attention& attention, const View& left, const View& right, const View& result,
                    int64_t right_heads, int64_t inner, int64_t columns) {
  Product product;
  const int64_t heads_each = attention.queries == 1 ? attention.heads / right_heads : 1;
  const bool one = attention.queries == 1;
  product.m = one ? heads_each : attention.queries;
  product.n = columns;
  product.k = inner;
  product.batches = attention.batch * (attention.heads / heads_each);
  product.a = {left.tensor, one ? left.head : left.position, left.element};
  product.b = {right.tensor, right.position, right.element};
  product.y = {result.tensor, one ? result.head : result.position, result.element};
  product.offsets = Offsets(attention, left, right, result, right_heads, heads_each);
  return product;
}

void RecordAttention(Recording& r, const Attention& attention) {
  const EpElementType type = r.tensor(attention.q.tensor).type;
  if (kit::CheckedMultiply(attention.batch, attention.heads) == 0 || attention.queries == 0) return;
  // Rows are padded to a multiple of 4, so that the second GEMM reads them in vectors of four.
  const int64_t pitch = (attention.keys + 3) / 4 * 4;
  const int32_t scores = r.Scratch(type, {attention.batch, attention.heads, attention.queries, pitch});
  View rows;
  rows.tensor = scores;
  rows.element = 1;
  rows.position = pitch;
  rows.head = attention.queries * pitch;
  rows.batch = attention.heads * rows.head;
  // Keys as [element, position].
  View keys = attention.k;
  std::swap(keys.position, keys.element);
  Product product =
      HeadProduct(attention, attention.q, keys, rows, attention.key_heads, attention.size, attention.keys);
  product.alpha = attention.scale;
  RecordProduct(r, product);
  if (attention.keys != 0) RecordSoftmax(r, attention, scores, pitch);
  RecordProduct(r, HeadProduct(attention, rows, attention.v, attention.y, attention.value_heads, attention.keys,
                               attention.width));
}

// --- The cache

// Concatenates past and new keys (or values) to [batch, heads, total, width], in output `output` if the node has it.
// Returns the view of the result.
View RecordPresent(Recording& r, int32_t past, int64_t past_length, const View& fresh, const Dims& dims,
                   size_t output) {
  const EpElementType type = r.tensor(fresh.tensor).type;
  const int32_t present = r.HasOutput(output) ? r.Output(output, type, dims) : r.Scratch(type, dims);
  const int64_t heads = dims[1], total = dims[2], width = dims[3];
  const int64_t count = kit::CheckedCount({dims.data(), dims.size()});
  if (count != 0) {
    r.Add({.shader = Recording::MoverFor("attention_append", type),
           .parameters = {Word(count), Word(past_length), Word(total), Word(width), Word(heads), Word(fresh.batch),
                          Word(fresh.head), Word(fresh.position), Word(fresh.element)},
           .bindings = {Recording::ReadTensor(past >= 0 && past_length != 0 ? past : fresh.tensor),
                        Recording::ReadTensor(past_length == total ? past : fresh.tensor), Recording::Write(present)},
           .groups = r.GroupsFor(count),
           .work = static_cast<uint64_t>(count)});
  }
  return {present, heads * total * width, total * width, width, 1};
}

// --- ONNX

std::string CheckOnnx(const NodeCheck& check) {
  for (const size_t i : {size_t{1}, size_t{2}, size_t{4}, size_t{5}})
    if (check.HasInput(i) && check.InputType(i) != check.InputType(0))
      return "queries, keys, values and the cache are of different types";
  if (check.HasInput(3) && check.InputType(3) != check.InputType(0) && check.InputType(3) != EP_TYPE_BOOL)
    return "the mask is neither bool nor of the queries' type";
  const int64_t stage = check.node().Int("qk_matmul_output_mode", 0);
  if (stage < 0 || stage > 3) return "qk_matmul_output_mode is not 0 to 3";
  return "";
}

View HeadsView(int32_t tensor, const kit::AttentionShape& shape, int64_t heads, int64_t length, int64_t width) {
  if (shape.heads_first) return {tensor, heads * length * width, length * width, width, 1};
  return {tensor, length * heads * width, width, heads * width, 1};
}

void RecordOnnx(Recording& r) {
  const ir::Node& node = r.node();
  const bool has_past = r.HasInput(4);
  if (has_past != r.HasInput(5)) kit::FailArgument("past keys without past values, or the other way round");
  const kit::AttentionShape shape(r.InputDims(0), r.InputDims(1), r.InputDims(2), has_past ? &r.InputDims(4) : nullptr,
                                  has_past ? &r.InputDims(5) : nullptr, node.Int("q_num_heads", 0),
                                  node.Int("kv_num_heads", 0));
  const EpElementType type = r.InputType(0);
  Attention attention;
  attention.batch = shape.batch;
  attention.heads = shape.heads;
  attention.key_heads = attention.value_heads = shape.kv_heads;
  attention.queries = shape.queries;
  attention.keys = shape.total;
  attention.size = shape.size;
  attention.width = shape.v_size;
  attention.scale = node.Has("scale") ? node.Float("scale", 1)
                                      : 1.0f / std::sqrt(static_cast<float>(std::max<int64_t>(shape.size, 1)));
  attention.softcap = node.Float("softcap", 0);
  attention.causal = node.Int("is_causal", 0) != 0;
  attention.q = HeadsView(r.InputTensor(0), shape, shape.heads, shape.queries, shape.size);
  attention.k = HeadsView(r.InputTensor(1), shape, shape.kv_heads, shape.fresh, shape.size);
  attention.v = HeadsView(r.InputTensor(2), shape, shape.kv_heads, shape.fresh, shape.v_size);
  if (has_past || r.HasOutput(1))
    attention.k = RecordPresent(r, has_past ? r.InputTensor(4) : -1, shape.past, attention.k, shape.PresentKey(), 1);
  if (has_past || r.HasOutput(2))
    attention.v = RecordPresent(r, has_past ? r.InputTensor(5) : -1, shape.past, attention.v, shape.PresentValue(), 2);
  attention.before = shape.past;
  if (r.HasInput(6)) {
    if (r.InputDims(6).Count() != shape.batch)
      kit::FailArgument("nonpad_kv_seqlen has ", r.InputDims(6).Count(), " elements, expected one for each of ",
                        shape.batch);
    attention.lengths = r.InputTensor(6);
    if (shape.past == 0) attention.before = -1;
  }
  if (r.HasInput(3)) {
    const kit::AttentionMask mask(shape, r.InputDims(3));
    attention.mask = {r.InputTensor(3), mask.strides, mask.length};
  }
  if (r.HasOutput(3)) {
    attention.shown = r.Output(3, type, shape.Scores());
    attention.stage = static_cast<uint32_t>(node.Int("qk_matmul_output_mode", 0));
  }
  const int32_t y = r.Output(0, type, shape.Output());
  attention.y = HeadsView(y, shape, shape.heads, shape.queries, shape.v_size);
  RecordAttention(r, attention);
}

// --- The kit's operator, over permuted views

struct PermutedView {
  View view;
  std::array<int64_t, 4> sizes{};

  PermutedView(int32_t tensor, const Dims& dims, const std::array<size_t, 4>& perm) {
    if (dims.size() != 4) kit::FailArgument("an operand of attention has rank ", dims.size(), ", expected 4");
    const Dims own = kit::RowMajorStrides({dims.data(), dims.size()});
    for (size_t d = 0; d < 4; ++d) sizes[d] = dims[perm[d]];
    view = {tensor, sizes[0] == 1 ? 0 : own[perm[0]], own[perm[1]], own[perm[2]], own[perm[3]]};
  }
};

std::array<size_t, 4> ReadPerm(const ir::Node& node, std::string_view name) {
  const std::vector<int64_t> list = node.Ints(name);
  std::array<size_t, 4> perm{};
  unsigned seen = 0;
  for (size_t i = 0; i < 4 && list.size() == 4; ++i) {
    if (list[i] < 0 || list[i] > 3) break;
    perm[i] = static_cast<size_t>(list[i]);
    seen |= 1u << perm[i];
  }
  if (seen != 15) kit::FailWith(EP_STATUS_INVALID_GRAPH, "attribute '", name, "' is not a permutation of 0 to 3");
  return perm;
}

void CheckHeads(int64_t heads, int64_t shared, std::string_view what) {
  if (shared == 0 || heads % shared != 0)
    kit::FailArgument(shared, " heads of ", what, " don't divide ", heads, " heads");
}

std::array<int64_t, 4> MaskStrides(const Dims& mask, const std::array<int64_t, 4>& scores) {
  if (mask.size() > 4) kit::FailArgument("a mask of rank ", mask.size(), "; at most 4 expected");
  std::array<int64_t, 4> strides{};
  int64_t stride = 1;
  for (size_t i = 0; i < mask.size(); ++i) {
    const int64_t size = mask[mask.size() - 1 - i];
    if (size != 1 && size != scores[3 - i])
      kit::FailArgument("a mask dimension of ", size, " for ", scores[3 - i], " scores");
    strides[3 - i] = size == 1 ? 0 : stride;
    stride *= size;
  }
  return strides;
}

void RecordPermuted(Recording& r) {
  const ir::Node& node = r.node();
  const EpElementType type = r.InputType(0);
  PermutedView q(r.InputTensor(0), r.InputDims(0), ReadPerm(node, "q_perm"));
  PermutedView k(r.InputTensor(1), r.InputDims(1), ReadPerm(node, "k_perm"));
  PermutedView v(r.InputTensor(2), r.InputDims(2), ReadPerm(node, "v_perm"));
  const std::array<size_t, 4> y_perm = ReadPerm(node, "y_perm");
  std::swap(k.view.position, k.view.element);  // the permuted operand is [batch, heads, depth, keys]
  std::swap(k.sizes[2], k.sizes[3]);

  Attention attention;
  const bool has_past = r.HasInput(4);
  if (has_past != r.HasInput(5)) kit::FailArgument("past keys without past values, or the other way round");
  int64_t past = 0;
  attention.batch = std::max({q.sizes[0], k.sizes[0], v.sizes[0]});
  if (has_past) {
    const Dims past_key = r.InputDims(4), past_value = r.InputDims(5);
    if (past_key.size() != 4 || past_value.size() != 4) kit::FailArgument("a cache of rank 4 expected");
    past = past_key[2];
    attention.batch = std::max(attention.batch, past_key[0]);
    if (past_key != Dims{attention.batch, k.sizes[1], past, k.sizes[3]} ||
        past_value != Dims{attention.batch, v.sizes[1], past, v.sizes[3]})
      kit::FailArgument("the cache's shapes don't fit those of keys and values");
  }
  for (const PermutedView* operand : {&q, &k, &v})
    if (operand->sizes[0] != 1 && operand->sizes[0] != attention.batch)
      kit::FailArgument("a batch of ", operand->sizes[0], " doesn't go with one of ", attention.batch);
  attention.heads = std::max({q.sizes[1], k.sizes[1], v.sizes[1]});
  CheckHeads(attention.heads, q.sizes[1], "queries");
  CheckHeads(attention.heads, k.sizes[1], "keys");
  CheckHeads(attention.heads, v.sizes[1], "values");
  if (q.sizes[1] != attention.heads) {
    if (q.sizes[1] != 1) kit::FailArgument("fewer heads of queries than of keys or values");
    q.view.head = 0;
  }
  if (k.sizes[3] != q.sizes[3] || v.sizes[2] != k.sizes[2])
    kit::FailArgument("queries, keys and values don't fit together");
  attention.queries = q.sizes[2];
  attention.size = q.sizes[3];
  attention.width = v.sizes[3];
  attention.keys = past + k.sizes[2];
  attention.before = past;
  attention.scale = node.Float("scale", 1);
  attention.key_heads = k.sizes[1];
  attention.value_heads = v.sizes[1];
  attention.q = q.view;
  attention.k = k.view;
  attention.v = v.view;
  if (has_past || r.HasOutput(1))
    attention.k = RecordPresent(r, has_past ? r.InputTensor(4) : -1, past, k.view,
                                {attention.batch, k.sizes[1], attention.keys, attention.size}, 1);
  if (has_past || r.HasOutput(2))
    attention.v = RecordPresent(r, has_past ? r.InputTensor(5) : -1, past, v.view,
                                {attention.batch, v.sizes[1], attention.keys, attention.width}, 2);
  if (r.HasInput(3))
    attention.mask = {
        r.InputTensor(3),
        MaskStrides(r.InputDims(3), {attention.batch, attention.heads, attention.queries, attention.keys}),
        attention.keys};

  const std::array<int64_t, 4> logical = {attention.batch, attention.heads, attention.queries, attention.width};
  Dims y_dims;
  for (const size_t d : y_perm) y_dims.push_back(logical[d]);
  const int32_t y = r.Output(0, type, y_dims);
  const Dims y_strides = kit::RowMajorStrides({y_dims.data(), y_dims.size()});
  std::array<int64_t, 4> strides{};
  for (size_t d = 0; d < 4; ++d) strides[y_perm[d]] = y_strides[d];
  attention.y = {y, strides[0], strides[1], strides[2], strides[3]};
  RecordAttention(r, attention);
}

}  // namespace

void Register_attention(OperatorTable& table) {
  table.Add({.op_type = "Attention",
             .first_version = 23,
             .check = CheckOnnx,
             .record = RecordOnnx,
             .bindings = kProductBindings});
  table.Add({.op_type = kit::fuse::kAttention,
             .domain = kit::fuse::kDomain,
             .record = RecordPermuted,
             .bindings = kProductBindings});
}

}  // namespace epiphyte::vulkan
