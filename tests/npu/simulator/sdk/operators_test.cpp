// Every operator of nsdk.h over random shapes and parameters, through compile, blob, load and run. Results are at most
// one step from the same operator on real numbers, and have the same bits for every array, memory size, effort and
// fusion.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "tests/npu/simulator/graph_builder.h"
#include "tests/npu/simulator/sdk/session.h"

namespace epiphyte::npusim {
namespace {

using Dims = std::vector<int64_t>;

int64_t Count(const Dims& dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  return count;
}

class Maker {
 public:
  explicit Maker(uint32_t seed) : random(seed), b("graph", seed) {}

  int64_t Between(int64_t low, int64_t high) { return low + static_cast<int64_t>(random() % (high - low + 1)); }
  bool Chance(int one_in) { return Between(1, one_in) == 1; }
  uint32_t ByteType() { return Chance(2) ? NSDK_INT8 : NSDK_UINT8; }
  int32_t ZeroPoint(uint32_t type) {
    if (Chance(3)) return type == NSDK_INT8 ? 0 : 128;
    return static_cast<int32_t>(Between(0, 255)) - (type == NSDK_INT8 ? 128 : 0);
  }
  float Scale() {
    return std::ldexp(1.0f + static_cast<float>(Between(0, 999)) / 1000, static_cast<int>(Between(-7, -3)));
  }
  Quantisation Any(uint32_t type) { return {Scale(), ZeroPoint(type)}; }

  uint32_t Input(const Dims& dims, uint32_t type, Quantisation q) {
    const uint32_t x = b.Input("x" + std::to_string(inputs.size()), type, dims, q);
    Bytes bytes(static_cast<size_t>(Count(dims)));
    for (uint8_t& v : bytes) v = static_cast<uint8_t>(random());
    inputs.push_back(std::move(bytes));
    return x;
  }
  uint32_t Input(const Dims& dims) {
    const uint32_t type = ByteType();
    return Input(dims, type, Any(type));
  }
  // Adds NSDK_LOW and NSDK_HIGH to the parameters now and then.
  std::vector<OpParam> Bounds(uint32_t type, std::vector<OpParam> params) {
    const int64_t least = type == NSDK_INT8 ? -128 : 0;
    if (Chance(3)) params.push_back({NSDK_LOW, {least + Between(0, 100)}});
    if (Chance(4)) params.push_back({NSDK_HIGH, {least + Between(150, 255)}});
    return params;
  }
  Dims AnyDims(size_t rank, int64_t most) {
    Dims dims(rank);
    for (int64_t& dim : dims) dim = Between(1, most);
    return dims;
  }

  std::mt19937 random;
  GraphBuilder b;
  std::vector<Bytes> inputs;
};

// Weights of shape [out, in / groups, ...] or, transposed, [in, out / groups, ...], with one scale or one for each
// output channel.
uint32_t Weights(Maker& m, const Dims& dims, int64_t channels, uint32_t axis, std::vector<float>& scales) {
  const uint32_t type = m.ByteType();
  const uint32_t w = m.b.RandomConstant(type, dims, {m.Scale(), m.Chance(2) ? 0 : m.ZeroPoint(type)});
  scales.assign(static_cast<size_t>(channels), m.b.QuantisationOf(w).scale);
  if (m.Chance(2) && dims[axis] == channels) {
    std::vector<int32_t> zero_points(scales.size(), m.b.ZeroPoint(w));
    for (float& s : scales) s = m.Scale();
    if (m.Chance(3)) {
      for (int32_t& z : zero_points) z = m.ZeroPoint(type);
    }
    m.b.PerChannel(w, axis, scales, zero_points);
  }
  return w;
}

uint32_t Bias(Maker& m, int64_t channels, float x_scale, const std::vector<float>& scales) {
  const uint32_t bias = m.b.RandomConstant(NSDK_INT32, {channels}, {x_scale * scales[0], 0});
  std::vector<float> of;
  for (const float s : scales) of.push_back(x_scale * s);
  m.b.PerChannel(bias, 0, of);
  return bias;
}

Quantisation Result(Maker& m, uint32_t type, float x_scale, float w_scale, int64_t depth) {
  return {x_scale * w_scale * 80.0f * std::sqrt(static_cast<float>(depth)), m.ZeroPoint(type)};
}

void Conv(Maker& m, bool depthwise, size_t spatial) {
  const int64_t groups = depthwise ? m.Between(2, 40) : m.Chance(3) ? m.Between(2, 4) : 1;
  const int64_t in = depthwise ? 1 : m.Between(1, 40 / groups);
  const int64_t out = depthwise ? (m.Chance(4) ? 2 : 1) : m.Between(1, 40 / groups);
  Dims x_dims = {m.Between(1, 2), in * groups};
  Dims w_dims = {out * groups, in};
  Dims y_dims = {x_dims[0], out * groups};
  Dims strides, dilations, begins, ends;
  for (size_t d = 0; d < spatial; ++d) {
    const int64_t kernel = m.Between(1, 4);
    strides.push_back(m.Between(1, 3));
    dilations.push_back(m.Chance(3) ? 2 : 1);
    begins.push_back(m.Between(0, 2));
    ends.push_back(m.Between(0, 2));
    const int64_t reach = (kernel - 1) * dilations[d] + 1;
    const int64_t size = std::max<int64_t>(m.Between(3, 20), reach);
    x_dims.push_back(size);
    w_dims.push_back(kernel);
    y_dims.push_back((size + begins[d] + ends[d] - reach) / strides[d] + 1);
  }
  const uint32_t x = m.Input(x_dims);
  std::vector<float> scales;
  const uint32_t w = Weights(m, w_dims, out * groups, 0, scales);
  std::vector<uint32_t> inputs = {x, w};
  const float x_scale = m.b.QuantisationOf(x).scale;
  if (m.Chance(2)) inputs.push_back(Bias(m, out * groups, x_scale, scales));
  const uint32_t type = m.ByteType();
  const uint32_t y = m.b.Value(type, y_dims, Result(m, type, x_scale, scales[0], Count(w_dims) / w_dims[0]));
  Dims pads = begins;
  pads.insert(pads.end(), ends.begin(), ends.end());
  m.b.Op(NSDK_CONV, inputs, {y},
         m.Bounds(type,
                  {{NSDK_STRIDES, strides}, {NSDK_PADS, pads}, {NSDK_DILATIONS, dilations}, {NSDK_GROUPS, {groups}}}));
  m.b.Output(y, "y");
}

void ConvTranspose(Maker& m) {
  const int64_t groups = m.Chance(3) ? 2 : 1;
  const int64_t in = m.Between(1, 20);
  const int64_t out = m.Between(1, 20);
  const size_t spatial = m.Chance(3) ? 1 : 2;
  Dims x_dims = {m.Between(1, 2), in * groups};
  Dims w_dims = {in * groups, out};
  Dims y_dims = {x_dims[0], out * groups};
  Dims strides, dilations, begins, ends, extra;
  for (size_t d = 0; d < spatial; ++d) {
    const int64_t kernel = m.Between(1, 4);
    strides.push_back(m.Between(1, 3));
    dilations.push_back(m.Chance(3) ? 2 : 1);
    extra.push_back(m.Between(0, strides[d] - 1));
    const int64_t reach = (kernel - 1) * dilations[d] + 1;
    begins.push_back(m.Between(0, reach - 1));
    ends.push_back(m.Between(0, reach - 1));
    x_dims.push_back(m.Between(2, 9));
    w_dims.push_back(kernel);
    int64_t size = (x_dims.back() - 1) * strides[d] - begins[d] - ends[d] + reach + extra[d];
    while (size < 1) {
      ++size;
      --ends[d];
    }
    y_dims.push_back(size);
  }
  const uint32_t x = m.Input(x_dims);
  std::vector<float> scales;
  const uint32_t w = Weights(m, w_dims, out * groups, 1, scales);
  const float x_scale = m.b.QuantisationOf(x).scale;
  std::vector<uint32_t> inputs = {x, w};
  if (m.Chance(2)) inputs.push_back(Bias(m, out * groups, x_scale, scales));
  const uint32_t type = m.ByteType();
  const uint32_t y = m.b.Value(type, y_dims, Result(m, type, x_scale, scales[0], in * 4));
  Dims pads = begins;
  pads.insert(pads.end(), ends.begin(), ends.end());
  m.b.Op(NSDK_CONV_TRANSPOSE, inputs, {y},
         m.Bounds(type, {{NSDK_STRIDES, strides},
                         {NSDK_PADS, pads},
                         {NSDK_DILATIONS, dilations},
                         {NSDK_GROUPS, {groups}},
                         {NSDK_OUTPUT_PADS, extra}}));
  m.b.Output(y, "y");
}

void MatMul(Maker& m) {
  const int64_t rows = m.Between(1, 40);
  const int64_t depth = m.Between(1, 90);
  const int64_t columns = m.Between(1, 40);
  const bool ta = m.Chance(3);
  const bool tb = m.Chance(2);
  const bool constant = m.Chance(2);
  Dims batch = m.AnyDims(static_cast<size_t>(m.Between(0, 2)), 3);
  Dims a_dims = batch;
  Dims b_dims = constant ? Dims{} : batch;
  if (!constant && !b_dims.empty() && m.Chance(2)) b_dims[0] = 1;
  Dims y_dims = batch;
  for (const int64_t dim : {ta ? depth : rows, ta ? rows : depth}) a_dims.push_back(dim);
  for (const int64_t dim : {tb ? columns : depth, tb ? depth : columns}) b_dims.push_back(dim);
  for (const int64_t dim : {rows, columns}) y_dims.push_back(dim);
  const uint32_t a = m.Input(a_dims);
  std::vector<float> scales;
  const uint32_t b = constant ? Weights(m, b_dims, columns, static_cast<uint32_t>(b_dims.size() - (tb ? 2 : 1)), scales)
                              : m.Input(b_dims);
  if (!constant) scales.assign(static_cast<size_t>(columns), m.b.QuantisationOf(b).scale);
  std::vector<uint32_t> inputs = {a, b};
  const float a_scale = m.b.QuantisationOf(a).scale;
  if (m.Chance(2)) inputs.push_back(Bias(m, columns, a_scale, scales));
  const uint32_t type = m.ByteType();
  const uint32_t y = m.b.Value(type, y_dims, Result(m, type, a_scale, scales[0], depth));
  m.b.Op(NSDK_MATMUL, inputs, {y}, m.Bounds(type, {{NSDK_TRANSPOSE_A, {ta}}, {NSDK_TRANSPOSE_B, {tb}}}));
  m.b.Output(y, "y");
}

void Pool(Maker& m, uint32_t kind) {
  const size_t spatial = m.Chance(4) ? 1 : 2;
  Dims x_dims = {m.Between(1, 2), m.Between(1, 40)};
  Dims y_dims = x_dims;
  Dims kernel, strides, dilations, begins, ends;
  for (size_t d = 0; d < spatial; ++d) {
    kernel.push_back(m.Between(1, 4));
    strides.push_back(m.Between(1, 3));
    dilations.push_back(kind == NSDK_MAX_POOL && m.Chance(3) ? 2 : 1);
    begins.push_back(m.Between(0, kernel[d] - 1));
    ends.push_back(m.Between(0, kernel[d] - 1));
    const int64_t reach = (kernel[d] - 1) * dilations[d] + 1;
    x_dims.push_back(std::max<int64_t>(m.Between(3, 20), reach));
    y_dims.push_back((x_dims.back() + begins[d] + ends[d] - reach) / strides[d] + 1);
  }
  const uint32_t x = m.Input(x_dims);
  const Quantisation q = m.b.QuantisationOf(x);
  const uint32_t type = m.ByteType();
  const uint32_t y = m.b.Value(type, y_dims, {q.scale * (m.Chance(2) ? 1.0f : 0.7f), m.ZeroPoint(type)});
  Dims pads = begins;
  pads.insert(pads.end(), ends.begin(), ends.end());
  std::vector<OpParam> params = {{NSDK_KERNEL, kernel}, {NSDK_STRIDES, strides}, {NSDK_PADS, pads}};
  if (kind == NSDK_MAX_POOL) params.push_back({NSDK_DILATIONS, dilations});
  if (kind == NSDK_AVERAGE_POOL) params.push_back({NSDK_COUNT_PADS, {m.Between(0, 1)}});
  m.b.Op(kind, {x}, {y}, m.Bounds(type, std::move(params)));
  m.b.Output(y, "y");
}

void Elementwise(Maker& m, uint32_t kind) {
  const Dims y_dims = m.AnyDims(static_cast<size_t>(m.Between(1, 4)), 12);
  const auto part = [&] {
    Dims dims = y_dims;
    if (m.Chance(3)) {
      for (int64_t& dim : dims) {
        if (m.Chance(2)) dim = 1;
      }
      if (m.Chance(2)) dims.erase(dims.begin(), dims.begin() + m.Between(0, static_cast<int64_t>(dims.size()) - 1));
    }
    return dims;
  };
  Dims first = part();
  Dims second = part();
  if (m.Chance(2))
    first = y_dims;
  else
    second = y_dims;
  const uint32_t a = m.Input(first);
  const uint32_t b = m.Chance(4) ? [&] {
    const uint32_t type = m.ByteType();
    return m.b.RandomConstant(type, second, m.Any(type));
  }() : m.Input(second);
  const uint32_t type = m.ByteType();
  const float sa = m.b.QuantisationOf(a).scale;
  const float sb = m.b.QuantisationOf(b).scale;
  const uint32_t y = m.b.Value(type, y_dims, {kind == NSDK_MUL ? sa * sb * 100 : sa + sb, m.ZeroPoint(type)});
  m.b.Op(kind, {a, b}, {y}, m.Bounds(type, {}));
  m.b.Output(y, "y");
}

void Lookup(Maker& m) {
  const Dims dims = m.AnyDims(static_cast<size_t>(m.Between(1, 4)), 15);
  const uint32_t x = m.Input(dims);
  const uint32_t type = m.ByteType();
  const Quantisation q = m.Any(type);
  const uint32_t table = m.b.RandomConstant(type, {256}, q);
  const uint32_t y = m.b.Value(type, dims, q);
  m.b.Op(NSDK_LOOKUP, {x, table}, {y});
  m.b.Output(y, "y");
}

void Rescale(Maker& m) {
  const Dims dims = m.AnyDims(static_cast<size_t>(m.Between(1, 4)), 15);
  const uint32_t x = m.Input(dims);
  const uint32_t type = m.ByteType();
  const uint32_t y = m.b.Value(
      type, dims, {m.b.QuantisationOf(x).scale * static_cast<float>(m.Between(5, 20)) / 10, m.ZeroPoint(type)});
  m.b.Op(NSDK_RESCALE, {x}, {y}, m.Bounds(type, {}));
  m.b.Output(y, "y");
}

void Concat(Maker& m) {
  Dims dims = m.AnyDims(static_cast<size_t>(m.Between(1, 4)), 10);
  const int64_t axis = m.Between(0, static_cast<int64_t>(dims.size()) - 1);
  std::vector<uint32_t> parts;
  int64_t total = 0;
  const bool one_scale = m.Chance(2);
  const uint32_t type = m.ByteType();
  const Quantisation q = m.Any(type);
  for (int64_t i = m.Between(1, 4); i > 0; --i) {
    dims[axis] = m.Between(1, 20);
    total += dims[axis];
    const float factor = static_cast<float>(m.Between(5, 12)) / 10;
    parts.push_back(m.Input(dims, type, one_scale ? q : Quantisation{q.scale * factor, m.ZeroPoint(type)}));
  }
  dims[axis] = total;
  const uint32_t y = m.b.Value(type, dims, q);
  m.b.Op(NSDK_CONCAT, parts, {y}, {{NSDK_AXIS, {axis}}});
  m.b.Output(y, "y");
}

// Adds the output of an operator that moves elements, with the scale and zero point of x.
uint32_t Moved(Maker& m, uint32_t x, uint32_t type, const Dims& dims) {
  return m.b.Value(type, dims, m.b.QuantisationOf(x));
}

void Slice(Maker& m) {
  const Dims dims = m.AnyDims(static_cast<size_t>(m.Between(1, 4)), 20);
  const uint32_t type = m.ByteType();
  const uint32_t x = m.Input(dims, type, m.Any(type));
  Dims y_dims, starts, steps;
  for (const int64_t dim : dims) {
    const int64_t step = m.Chance(3) ? -m.Between(1, 2) : m.Between(1, 3);
    const int64_t start = m.Between(0, dim - 1);
    const int64_t most = step > 0 ? (dim - 1 - start) / step + 1 : start / -step + 1;
    starts.push_back(start);
    steps.push_back(step);
    y_dims.push_back(m.Between(1, most));
  }
  const uint32_t y = Moved(m, x, type, y_dims);
  m.b.Op(NSDK_SLICE, {x}, {y}, {{NSDK_STARTS, starts}, {NSDK_STEPS, steps}});
  m.b.Output(y, "y");
}

void Pad(Maker& m) {
  const Dims dims = m.AnyDims(static_cast<size_t>(m.Between(1, 4)), 12);
  const uint32_t type = m.ByteType();
  const uint32_t x = m.Input(dims, type, m.Any(type));
  Dims y_dims = dims;
  Dims pads(2 * dims.size());
  for (size_t d = 0; d < dims.size(); ++d) {
    pads[d] = m.Between(0, 3);
    pads[d + dims.size()] = m.Between(0, 3);
    y_dims[d] += pads[d] + pads[d + dims.size()];
  }
  const uint32_t y = Moved(m, x, type, y_dims);
  m.b.Op(NSDK_PAD, {x}, {y}, {{NSDK_PADS, pads}, {NSDK_VALUE, {m.ZeroPoint(type)}}});
  m.b.Output(y, "y");
}

void Transpose(Maker& m) {
  const Dims dims = m.AnyDims(static_cast<size_t>(m.Between(2, 4)), 20);
  const uint32_t type = m.ByteType();
  const uint32_t x = m.Input(dims, type, m.Any(type));
  Dims perm(dims.size());
  for (size_t d = 0; d < perm.size(); ++d) perm[d] = static_cast<int64_t>(d);
  std::shuffle(perm.begin(), perm.end(), m.random);
  Dims y_dims;
  for (const int64_t d : perm) y_dims.push_back(dims[d]);
  const uint32_t y = Moved(m, x, type, y_dims);
  m.b.Op(NSDK_TRANSPOSE, {x}, {y}, {{NSDK_PERM, perm}});
  m.b.Output(y, "y");
}

void Reshape(Maker& m) {
  const Dims dims = m.AnyDims(4, 9);
  const uint32_t type = m.ByteType();
  const uint32_t x = m.Input(dims, type, m.Any(type));
  const uint32_t y = Moved(m, x, type, {dims[0] * dims[1], dims[2], dims[3]});
  m.b.Op(NSDK_RESHAPE, {x}, {y});
  m.b.Output(y, "y");
}

void Resize(Maker& m) {
  const Dims dims = {m.Between(1, 2), m.Between(1, 20), m.Between(1, 9), m.Between(1, 9)};
  const uint32_t type = m.ByteType();
  const uint32_t x = m.Input(dims, type, m.Any(type));
  std::vector<float> scales = {1, 1, 0, 0};
  Dims y_dims = dims;
  for (size_t d = 2; d < 4; ++d) {
    y_dims[d] = m.Between(1, 20);
    scales[d] = static_cast<float>(y_dims[d]) / static_cast<float>(dims[d]);
  }
  const uint32_t y = Moved(m, x, type, y_dims);
  const int64_t mode = m.Between(0, 1);
  std::vector<OpParam> params = {{NSDK_MODE, {mode}}, {NSDK_COORDINATES, {m.Between(0, 3)}}, {NSDK_SCALES, {}, scales}};
  if (mode == 0) params.push_back({NSDK_ROUNDING, {m.Between(0, 3)}});
  m.b.Op(NSDK_RESIZE, {x}, {y}, std::move(params));
  m.b.Output(y, "y");
}

void Softmax(Maker& m) {
  const Dims dims = m.AnyDims(static_cast<size_t>(m.Between(1, 4)), 15);
  const uint32_t x = m.Input(dims);
  const uint32_t type = m.ByteType();
  const uint32_t y = m.b.Value(type, dims, {1.0f / 256, type == NSDK_INT8 ? -128 : 0});
  m.b.Op(NSDK_SOFTMAX, {x}, {y}, {{NSDK_AXIS, {m.Between(0, static_cast<int64_t>(dims.size()) - 1)}}});
  m.b.Output(y, "y");
}

void LayerNorm(Maker& m) {
  const Dims dims = m.AnyDims(static_cast<size_t>(m.Between(2, 4)), 16);
  // A row has one or two dimensions, so that it fits into the smallest scratchpad used here.
  const auto rank = static_cast<int64_t>(dims.size());
  const int64_t axis = m.Between(std::max<int64_t>(1, rank - 2), rank - 1);
  const Dims of(dims.begin() + axis, dims.end());
  const uint32_t x = m.Input(dims);
  std::vector<uint32_t> inputs = {x};
  inputs.push_back(m.Chance(2) ? m.b.RandomConstant(NSDK_FLOAT32, of, {})
                               : m.b.RandomConstant(NSDK_INT8, of, {0.01f, 3}));
  if (m.Chance(2)) inputs.push_back(m.b.RandomConstant(NSDK_FLOAT32, of, {}));
  const uint32_t type = m.ByteType();
  const uint32_t y = m.b.Value(type, dims, {0.02f, m.ZeroPoint(type)});
  m.b.Op(NSDK_LAYER_NORM, inputs, {y}, {{NSDK_AXIS, {axis}}, {NSDK_EPSILON, {}, {1e-5f}}});
  m.b.Output(y, "y");
}

void ReduceMean(Maker& m) {
  const Dims dims = m.AnyDims(static_cast<size_t>(m.Between(1, 4)), 8);  // at most 4,096 elements
  Dims axes;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (m.Chance(2)) axes.push_back(static_cast<int64_t>(d));
  }
  if (axes.empty()) axes.push_back(0);
  const bool keep = m.Chance(2);
  Dims y_dims;
  for (size_t d = 0; d < dims.size(); ++d) {
    const bool reduced = std::find(axes.begin(), axes.end(), static_cast<int64_t>(d)) != axes.end();
    if (!reduced) y_dims.push_back(dims[d]);
    if (reduced && keep) y_dims.push_back(1);
  }
  const uint32_t x = m.Input(dims);
  const uint32_t type = m.ByteType();
  const uint32_t y = m.b.Value(type, y_dims, {m.b.QuantisationOf(x).scale * 0.6f, m.ZeroPoint(type)});
  m.b.Op(NSDK_REDUCE_MEAN, {x}, {y}, m.Bounds(type, {{NSDK_AXES, axes}}));
  m.b.Output(y, "y");
}

// Returns the operator's shapes and parameters as text, for messages.
std::string Describe(const NsdkGraph& graph) {
  std::string text;
  const NsdkOp& op = graph.ops[0];
  const auto tensor = [&](uint32_t index) {
    if (index == NSDK_NONE) return;
    const NsdkTensor& t = graph.tensors[index];
    text += " type " + std::to_string(t.type) + " [";
    for (uint32_t d = 0; d < t.rank; ++d) text += (d > 0 ? "," : "") + std::to_string(t.dims[d]);
    text += "]";
  };
  for (uint32_t i = 0; i < op.input_count; ++i) tensor(op.inputs[i]);
  text += " ->";
  tensor(op.outputs[0]);
  for (uint32_t i = 0; i < op.param_count; ++i) {
    text += "; " + std::to_string(op.params[i].key) + ":";
    for (uint32_t j = 0; j < op.params[i].int_count; ++j) text += " " + std::to_string(op.params[i].ints[j]);
    for (uint32_t j = 0; j < op.params[i].float_count; ++j) text += " " + std::to_string(op.params[i].floats[j]);
  }
  return text;
}

struct Case {
  const char* name;
  std::function<void(Maker&)> make;
  int rounds = 40;
};

const Case kCases[] = {
    {"Conv", [](Maker& m) { Conv(m, false, 2); }, 80},
    {"ConvOfOneDimension", [](Maker& m) { Conv(m, false, 1); }},
    {"DepthwiseConv", [](Maker& m) { Conv(m, true, 2); }},
    {"ConvTranspose", ConvTranspose},
    {"MatMul", MatMul, 80},
    {"MaxPool", [](Maker& m) { Pool(m, NSDK_MAX_POOL); }},
    {"AveragePool", [](Maker& m) { Pool(m, NSDK_AVERAGE_POOL); }},
    {"Add", [](Maker& m) { Elementwise(m, NSDK_ADD); }},
    {"Sub", [](Maker& m) { Elementwise(m, NSDK_SUB); }},
    {"Mul", [](Maker& m) { Elementwise(m, NSDK_MUL); }},
    {"Maximum", [](Maker& m) { Elementwise(m, NSDK_MAXIMUM); }},
    {"Minimum", [](Maker& m) { Elementwise(m, NSDK_MINIMUM); }},
    {"Lookup", Lookup},
    {"Rescale", Rescale},
    {"Concat", Concat},
    {"Slice", Slice},
    {"Pad", Pad},
    {"Reshape", Reshape},
    {"Transpose", Transpose},
    {"Resize", Resize},
    {"Softmax", Softmax},
    {"LayerNorm", LayerNorm},
    {"ReduceMean", ReduceMean},
};

class Operators : public testing::TestWithParam<Case> {};

// Two devices have small memories, so that even the small tensors here are cut into tiles.
const Options kDevices[] = {
    {},
    {{"array", "8x4"}, {"scratchpad_kib", "16"}, {"accumulator_kib", "4"}, {"effort", "fast"}},
    {{"array", "4x8"}, {"scratchpad_kib", "32"}, {"accumulator_kib", "4"}, {"fusion", "off"}},
};

TEST_P(Operators, AreWithinAStepOnEveryDevice) {
  for (int round = 0; round < GetParam().rounds; ++round) {
    Maker m(static_cast<uint32_t>(round) * 7919 + 1);
    GetParam().make(m);
    const NsdkGraph& graph = *m.b.Graph();
    SCOPED_TRACE("round " + std::to_string(round) + ":" + Describe(graph));
    const Values expected = Reference(graph, m.inputs);
    std::vector<Bytes> first;
    for (const Options& options : kDevices) {
      const Session session(options);
      Reason reason;
      ASSERT_EQ(Api().query_op(session.context(), &graph, 0, &reason), NSDK_OK) << reason.text;
      const Bytes blob = session.Blob({&graph});
      const auto program = session.Load(blob);
      Bound bound(program.get(), 0, blob, m.inputs);
      const std::vector<Bytes>& outputs = bound.Run();
      if (first.empty()) first = outputs;
      ASSERT_EQ(outputs, first) << "bits depend on the device";
    }
    const uint32_t y = graph.outputs[0];
    const std::vector<int32_t> found = Stored(graph.tensors[y].type, first[0]);
    ASSERT_EQ(found.size(), expected.at(y).size());
    for (size_t i = 0; i < found.size(); ++i) {
      ASSERT_LE(std::abs(found[i] - expected.at(y)[i]), 1)
          << "element " << i << ": " << found[i] << ", expected " << expected.at(y)[i];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Npusim, Operators, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace epiphyte::npusim
