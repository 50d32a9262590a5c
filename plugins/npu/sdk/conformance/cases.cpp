#include "cases.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace epiphyte::nsdk_conformance {
namespace {

using Dims = std::vector<int64_t>;

class Maker {
 public:
  Maker(uint32_t kind, std::mt19937& random, CaseFeatures features)
      : random_(random), features_(features), graph_("case") {
    op_.kind = kind;
  }

  TestGraph Make();

 private:
  int64_t Draw(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }
  bool OneIn(int64_t of) { return Draw(1, of) == 1; }
  uint32_t ByteType() { return OneIn(2) ? NSDK_INT8 : NSDK_UINT8; }
  float DrawScale(float from = 0.01f, float to = 0.1f) {
    return from + (to - from) * static_cast<float>(random_() % 1024) / 1024;
  }
  Dims DrawDims(size_t rank, int64_t most = 9) {
    Dims dims;
    for (size_t i = 0; i < rank; ++i) dims.push_back(Draw(1, most));
    return dims;
  }
  int32_t DrawZero(uint32_t type) {
    if (OneIn(3)) return type == NSDK_UINT8 ? 128 : 0;
    const TypeRange range = RangeOf(type);
    return static_cast<int32_t>(Draw(range.low, range.high));
  }

  uint32_t Input(const std::string& name, Dims dims) {
    const uint32_t type = ByteType();
    return graph_.AddInput({name, type, std::move(dims), {DrawScale()}, {DrawZero(type)}, 0, {}});
  }
  uint32_t InputLike(const std::string& name, Dims dims, uint32_t like) {
    const TestTensor other = graph_.tensors[like];
    return graph_.AddInput({name, other.type, std::move(dims), other.scales, other.zero_points, 0, {}});
  }
  uint32_t Constant(TestTensor tensor) {
    tensor.data = RandomBytes(tensor, random_);
    return graph_.AddTensor(std::move(tensor));
  }
  // Weights of a GEMM or convolution. They have a scale for each channel of `axis` if the case has the feature
  // by_channel.
  uint32_t Weights(Dims dims, uint32_t axis) {
    const bool by_channel = features_.by_channel;
    TestTensor tensor{"w", NSDK_INT8, std::move(dims), {DrawScale(0.002f, 0.02f)}, {}, 0, {}};
    if (by_channel) {
      tensor.axis = axis;
      tensor.scales.clear();
      for (int64_t i = 0; i < tensor.dims[axis]; ++i) tensor.scales.push_back(DrawScale(0.002f, 0.02f));
    } else if (OneIn(4)) {
      tensor.type = NSDK_UINT8;
      tensor.zero_points = {static_cast<int32_t>(Draw(100, 150))};
    }
    return Constant(std::move(tensor));
  }
  void Bias(int64_t channels) {
    if (OneIn(3)) return;
    const TestTensor &x = graph_.tensors[op_.inputs[0]], &w = graph_.tensors[op_.inputs[1]];
    TestTensor bias{"b", NSDK_INT32, {channels}, {}, {}, 0, {}};
    for (const float scale : w.scales) bias.scales.push_back(scale * x.Scale());
    // A single channel has one scale, be it per tensor or per channel.
    bias.data.resize(bias.Size());
    for (int64_t i = 0; i < channels; ++i) Store(NSDK_INT32, bias.data, static_cast<size_t>(i), Draw(-20000, 20000));
    op_.inputs.push_back(graph_.AddTensor(std::move(bias)));
  }
  // Adds an output with a scale for results that are about `spread` away from their mean.
  void Output(Dims dims, double spread) {
    const uint32_t type = ByteType();
    Output(std::move(dims), type, static_cast<float>(spread / 60),
           type == NSDK_UINT8 ? 128 : static_cast<int32_t>(Draw(-20, 20)));
  }
  void Output(Dims dims, uint32_t type, float scale, int32_t zero) {
    op_.outputs = {graph_.AddTensor({"y", type, std::move(dims), {scale}, {zero}, 0, {}})};
  }
  // Adds an output with the input's scale and zero point if `same` is true, otherwise with others.
  void OutputLike(Dims dims, bool same) {
    const TestTensor x = graph_.tensors[op_.inputs[0]];
    if (same) return Output(std::move(dims), x.type, x.Scale(), x.ZeroPoint());
    Output(std::move(dims), 74 * static_cast<double>(x.Scale()));
  }
  double Spread(uint32_t tensor) {
    const TestTensor& t = graph_.tensors[tensor];
    double scale = 0;
    for (const float one : t.scales) scale = std::max(scale, static_cast<double>(one));
    return 100 * scale;
  }

  void Window(bool transposed);
  void Pooling();
  void Product();
  void Elementwise();
  void Lookup();
  void Moving();
  void Resizing();
  void Norm();

  std::mt19937& random_;
  CaseFeatures features_;
  TestGraph graph_;
  TestOp op_;
};

void Maker::Window(bool transposed) {
  const size_t space = OneIn(5) ? 1 : 2;
  const int64_t groups = OneIn(3) ? Draw(2, 4) : 1;
  const bool depthwise = OneIn(4);
  const int64_t in_each = depthwise ? 1 : Draw(1, 9), out_each = depthwise ? 1 : Draw(features_.by_channel ? 2 : 1, 9);
  const int64_t group_count = depthwise ? Draw(2, 20) : groups;
  Dims x = {Draw(1, 2), group_count * in_each}, y = {x[0], group_count * out_each}, kernel, strides, dilations, begins,
       ends, extra;
  for (size_t i = 0; i < space; ++i) {
    kernel.push_back(Draw(1, 4));
    strides.push_back(Draw(1, 3));
    dilations.push_back(OneIn(4) ? 2 : 1);
    const int64_t span = dilations[i] * (kernel[i] - 1) + 1;
    begins.push_back(Draw(0, span - 1));
    ends.push_back(Draw(0, span - 1));
    if (transposed) {
      x.push_back(Draw(1, 7));
      extra.push_back(Draw(0, strides[i] - 1));
      int64_t size = (x[i + 2] - 1) * strides[i] + span + extra[i] - begins[i] - ends[i];
      if (size < 1) {
        begins[i] = ends[i] = 0;
        size = (x[i + 2] - 1) * strides[i] + span + extra[i];
      }
      y.push_back(size);
    } else {
      x.push_back(std::max<int64_t>(Draw(1, 13), span - begins[i] - ends[i]));
      y.push_back((x[i + 2] + begins[i] + ends[i] - span) / strides[i] + 1);
    }
  }
  Dims pads = begins;
  pads.insert(pads.end(), ends.begin(), ends.end());
  Dims w = transposed ? Dims{x[1], out_each} : Dims{y[1], in_each};
  w.insert(w.end(), kernel.begin(), kernel.end());
  op_.inputs = {Input("x", x), Weights(w, transposed ? 1 : 0)};
  if (transposed && features_.by_channel && group_count > 1) {
    // Scales are per output channel, and with several groups no axis of the weights has one index for each output
    // channel.
    graph_.tensors[op_.inputs[1]].scales.resize(1);
  }
  Bias(y[1]);
  if (transposed && op_.inputs.size() > 2 && graph_.tensors[op_.inputs[2]].scales.size() != static_cast<size_t>(y[1])) {
    graph_.tensors[op_.inputs[2]].scales.resize(1);
  }
  op_.ints = {{NSDK_STRIDES, strides}, {NSDK_PADS, pads}};
  if (OneIn(2) || std::any_of(dilations.begin(), dilations.end(), [](int64_t d) { return d != 1; })) {
    op_.ints[NSDK_DILATIONS] = dilations;
  }
  if (group_count != 1) op_.ints[NSDK_GROUPS] = {group_count};
  if (transposed && std::any_of(extra.begin(), extra.end(), [](int64_t e) { return e != 0; }))
    op_.ints[NSDK_OUTPUT_PADS] = extra;
  int64_t terms = in_each;
  for (const int64_t k : kernel) terms *= k;
  Output(y, Spread(op_.inputs[0]) * Spread(op_.inputs[1]) * std::sqrt(static_cast<double>(terms)));
}

void Maker::Pooling() {
  const size_t space = OneIn(5) ? 1 : 2;
  Dims x = {Draw(1, 2), Draw(1, 20)}, y = x, kernel, strides, begins, ends;
  const bool whole = OneIn(4);
  for (size_t i = 0; i < space; ++i) {
    x.push_back(Draw(3, 13));
    kernel.push_back(whole ? x[i + 2] : Draw(1, 3));
    strides.push_back(whole ? 1 : Draw(1, 3));
    begins.push_back(whole ? 0 : Draw(0, kernel[i] - 1));
    ends.push_back(whole ? 0 : Draw(0, kernel[i] - 1));
    y.push_back((x[i + 2] + begins[i] + ends[i] - kernel[i]) / strides[i] + 1);
  }
  Dims pads = begins;
  pads.insert(pads.end(), ends.begin(), ends.end());
  op_.inputs = {Input("x", x)};
  op_.ints = {{NSDK_KERNEL, kernel}, {NSDK_STRIDES, strides}, {NSDK_PADS, pads}};
  if (op_.kind == NSDK_AVERAGE_POOL && OneIn(2)) op_.ints[NSDK_COUNT_PADS] = {1};
  OutputLike(y, op_.kind == NSDK_MAX_POOL && OneIn(2));
}

void Maker::Product() {
  const int64_t m = Draw(1, 18), k = Draw(1, 70), n = Draw(features_.by_channel ? 2 : 1, 40);
  const bool turn_b = OneIn(3), turn_a = OneIn(6), constant = features_.by_channel || !OneIn(4);
  Dims batch = OneIn(3) ? DrawDims(static_cast<size_t>(Draw(1, 2)), 3) : Dims{};
  Dims a = batch, b = constant || OneIn(2) ? Dims{} : batch, y = batch;
  a.insert(a.end(), {turn_a ? k : m, turn_a ? m : k});
  b.insert(b.end(), {turn_b ? n : k, turn_b ? k : n});
  y.insert(y.end(), {m, n});
  op_.inputs = {Input("a", a)};
  op_.inputs.push_back(constant ? Weights(b, static_cast<uint32_t>(b.size() - (turn_b ? 2 : 1))) : Input("b", b));
  Bias(n);
  if (turn_a) op_.ints[NSDK_TRANSPOSE_A] = {1};
  if (turn_b) op_.ints[NSDK_TRANSPOSE_B] = {1};
  Output(y, Spread(op_.inputs[0]) * Spread(op_.inputs[1]) * std::sqrt(static_cast<double>(k)));
}

void Maker::Elementwise() {
  const Dims y = DrawDims(static_cast<size_t>(Draw(1, 4)));
  Dims a = y, b = y;
  if (OneIn(2)) {
    for (int64_t& dim : b) {
      if (OneIn(2)) dim = 1;
    }
    if (OneIn(3)) b.erase(b.begin());
    if (OneIn(4)) std::swap(a, b);
  }
  op_.inputs = {Input("a", a)};
  if (OneIn(4)) {
    op_.inputs.push_back(Constant({"c", ByteType(), b, {DrawScale()}, {}, 0, {}}));
  } else {
    op_.inputs.push_back(Input("b", b));
  }
  const double one = Spread(op_.inputs[0]), other = Spread(op_.inputs[1]);
  Output(y, op_.kind == NSDK_MUL ? one * other : std::max(one, other) * 1.2);
}

void Maker::Lookup() {
  const Dims dims = DrawDims(static_cast<size_t>(Draw(1, 4)));
  const uint32_t type = ByteType();
  op_.inputs = {Input("x", dims), Constant({"table", type, {256}, {0.03f}, {}, 0, {}})};
  Output(dims, type, 0.03f, 0);
}

void Maker::Moving() {
  const auto rank = static_cast<size_t>(Draw(1, 4));
  const Dims x = DrawDims(rank);
  Dims y = x;
  const uint32_t input = Input("x", x);
  op_.inputs = {input};
  bool same = !OneIn(3);
  if (op_.kind == NSDK_CONCAT) {
    const int64_t axis = Draw(0, static_cast<int64_t>(rank) - 1);
    op_.ints[NSDK_AXIS] = {axis};
    for (int64_t more = Draw(1, 3); more > 0; --more) {
      Dims dims = x;
      dims[static_cast<size_t>(axis)] = Draw(1, 9);
      y[static_cast<size_t>(axis)] += dims[static_cast<size_t>(axis)];
      const std::string name = "x" + std::to_string(more);
      op_.inputs.push_back(same ? InputLike(name, dims, input) : Input(name, dims));
    }
  } else if (op_.kind == NSDK_SLICE) {
    Dims starts, steps;
    for (size_t i = 0; i < rank; ++i) {
      const int64_t step = OneIn(4) ? -Draw(1, 2) : Draw(1, 2), start = Draw(0, x[i] - 1);
      const int64_t most = step > 0 ? (x[i] - 1 - start) / step + 1 : start / -step + 1;
      starts.push_back(start);
      steps.push_back(step);
      y[i] = Draw(1, most);
    }
    op_.ints = {{NSDK_STARTS, starts}, {NSDK_STEPS, steps}};
  } else if (op_.kind == NSDK_PAD) {
    Dims begins, ends;
    for (size_t i = 0; i < rank; ++i) {
      begins.push_back(Draw(0, 3));
      ends.push_back(Draw(0, 3));
      y[i] += begins[i] + ends[i];
    }
    begins.insert(begins.end(), ends.begin(), ends.end());
    same = true;  // VALUE is a quantised number, so input and output need the same scale and zero point
    op_.ints = {{NSDK_PADS, begins}, {NSDK_VALUE, {graph_.tensors[input].ZeroPoint()}}};
  } else if (op_.kind == NSDK_RESHAPE) {
    y = OneIn(2) ? Dims{graph_.tensors[input].Elements()} : Dims{1, graph_.tensors[input].Elements(), 1};
  } else if (op_.kind == NSDK_TRANSPOSE) {
    Dims order;
    for (size_t i = 0; i < rank; ++i) order.push_back(static_cast<int64_t>(i));
    std::shuffle(order.begin(), order.end(), random_);
    for (size_t i = 0; i < rank; ++i) y[i] = x[static_cast<size_t>(order[i])];
    op_.ints[NSDK_PERM] = order;
  } else {
    same = false;  // RESCALE: the output has another scale
  }
  OutputLike(y, same);
}

void Maker::Resizing() {
  const Dims x = {1, Draw(1, 6), Draw(2, 7), Draw(2, 7)};
  Dims y = x;
  std::vector<float> scales = {1, 1};
  for (size_t i = 2; i < 4; ++i) {
    scales.push_back(OneIn(4) ? 0.5f : OneIn(3) ? 4.0f : 2.0f);
    y[i] = std::max<int64_t>(1, static_cast<int64_t>(static_cast<float>(x[i]) * scales[i]));
  }
  op_.inputs = {Input("x", x)};
  op_.ints = {{NSDK_MODE, {Draw(0, 1)}}, {NSDK_COORDINATES, {Draw(0, 3)}}, {NSDK_ROUNDING, {Draw(0, 3)}}};
  // With align_corners, positions other than halves may be rounded either way, so asymmetric coordinates replace it.
  if (op_.ints[NSDK_MODE][0] == 0 && op_.ints[NSDK_COORDINATES][0] == 2) op_.ints[NSDK_COORDINATES] = {1};
  op_.floats = {{NSDK_SCALES, scales}};
  OutputLike(y, OneIn(2));
}

void Maker::Norm() {
  const auto rank = static_cast<size_t>(Draw(1, 4));
  Dims x = DrawDims(rank, 12);
  const int64_t axis = OneIn(2) ? static_cast<int64_t>(rank) - 1 : Draw(0, static_cast<int64_t>(rank) - 1);
  x[static_cast<size_t>(axis)] = Draw(4, 40);
  op_.inputs = {Input("x", x)};
  if (op_.kind == NSDK_REDUCE_MEAN) {
    Dims axes, y;
    const bool keep = OneIn(2);
    for (size_t i = 0; i < rank; ++i) {
      const bool reduced = static_cast<int64_t>(i) == axis || OneIn(3);
      if (reduced) axes.push_back(static_cast<int64_t>(i));
      if (!reduced || keep) y.push_back(reduced ? 1 : x[i]);
    }
    op_.ints[NSDK_AXES] = axes;
    return Output(y, Spread(op_.inputs[0]));
  }
  op_.ints[NSDK_AXIS] = {axis};
  if (op_.kind == NSDK_SOFTMAX) return Output(x, NSDK_UINT8, 1.0f / 256, 0);
  const Dims inner(x.begin() + axis, x.end());
  op_.floats[NSDK_EPSILON] = {1e-5f};
  TestTensor scale{"scale", NSDK_FLOAT32, inner, {}, {}, 0, {}}, bias{"bias", NSDK_FLOAT32, inner, {}, {}, 0, {}};
  for (TestTensor* tensor : {&scale, &bias}) {
    tensor->data.resize(tensor->Size());
    for (int64_t i = 0; i < tensor->Elements(); ++i) {
      const float number = DrawScale(0.5f, 1.5f);
      std::memcpy(tensor->data.data() + 4 * i, &number, 4);
    }
  }
  op_.inputs.push_back(graph_.AddTensor(std::move(scale)));
  if (!OneIn(3)) op_.inputs.push_back(graph_.AddTensor(std::move(bias)));
  Output(x, 2.5);
}

TestGraph Maker::Make() {
  switch (op_.kind) {
    case NSDK_CONV: Window(false); break;
    case NSDK_CONV_TRANSPOSE: Window(true); break;
    case NSDK_MATMUL: Product(); break;
    case NSDK_MAX_POOL:
    case NSDK_AVERAGE_POOL: Pooling(); break;
    case NSDK_ADD:
    case NSDK_SUB:
    case NSDK_MUL:
    case NSDK_MAXIMUM:
    case NSDK_MINIMUM: Elementwise(); break;
    case NSDK_LOOKUP: Lookup(); break;
    case NSDK_RESIZE: Resizing(); break;
    case NSDK_SOFTMAX:
    case NSDK_LAYER_NORM:
    case NSDK_REDUCE_MEAN: Norm(); break;
    default: Moving(); break;
  }
  const TestTensor& y = graph_.tensors[op_.outputs[0]];
  if (features_.limits) {
    const TypeRange range = RangeOf(y.type);
    op_.ints[NSDK_LOW] = {Draw(range.low, range.low + 140)};
    op_.ints[NSDK_HIGH] = {Draw(op_.ints[NSDK_LOW][0], range.high)};
  }
  std::string text = NameOfKind(op_.kind);
  for (const uint32_t input : op_.inputs) {
    const TestTensor& tensor = graph_.tensors[input];
    text += fmt::format(" {}{}[{}]", tensor.name, tensor.data.empty() ? "" : "=const ", fmt::join(tensor.dims, ","));
  }
  for (const auto& [key, numbers] : op_.ints) text += fmt::format(" {}:[{}]", key, fmt::join(numbers, ","));
  op_.name = text;
  graph_.outputs = op_.outputs;
  graph_.AddOp(op_);
  return std::move(graph_);
}

}  // namespace

const char* NameOfKind(uint32_t kind) {
  static constexpr const char* kNames[] = {
      "",        "CONV",      "CONV_TRANSPOSE", "MATMUL",  "MAX_POOL",   "AVERAGE_POOL", "ADD",   "SUB",
      "MUL",     "MAXIMUM",   "MINIMUM",        "LOOKUP",  "RESCALE",    "CONCAT",       "SLICE", "PAD",
      "RESHAPE", "TRANSPOSE", "RESIZE",         "SOFTMAX", "LAYER_NORM", "REDUCE_MEAN"};
  return kind <= kLastKind ? kNames[kind] : "?";
}

TestGraph RandomCase(uint32_t kind, std::mt19937& random, CaseFeatures features) {
  return Maker(kind, random, features).Make();
}

TestGraph SmallNet(std::mt19937& random) {
  TestGraph graph("net");
  const auto constant = [&](TestTensor tensor) {
    tensor.data = RandomBytes(tensor, random);
    return graph.AddTensor(std::move(tensor));
  };
  const auto result = [&](const std::string& name, std::vector<int64_t> dims, float scale) {
    graph.outputs.push_back(graph.AddTensor({name, NSDK_INT8, std::move(dims), {scale}, {-7}, 0, {}}));
    return graph.outputs.back();
  };
  const uint32_t x = graph.AddInput({"x", NSDK_INT8, {1, 3, 12, 12}, {0.05f}, {4}, 0, {}});
  const uint32_t c1 = result("c1", {1, 17, 12, 12}, 0.2f);
  const uint32_t w1 = constant({"w1", NSDK_INT8, {17, 3, 3, 3}, {0.01f}, {}, 0, {}});
  graph.AddOp({NSDK_CONV, "c1", {x, w1}, {c1}, {{NSDK_PADS, {1, 1, 1, 1}}, {NSDK_LOW, {-7}}}, {}});
  const uint32_t c2 = result("c2", {1, 17, 12, 12}, 0.2f);
  const uint32_t w2 = constant({"w2", NSDK_INT8, {17, 17, 1, 1}, {0.01f}, {}, 0, {}});
  graph.AddOp({NSDK_CONV, "c2", {c1, w2}, {c2}, {}, {}});
  const uint32_t sum = result("sum", {1, 17, 12, 12}, 0.3f);
  graph.AddOp({NSDK_ADD, "sum", {c1, c2}, {sum}, {}, {}});
  const uint32_t most = result("most", {1, 17, 6, 6}, 0.3f);
  graph.AddOp({NSDK_MAX_POOL, "most", {sum}, {most}, {{NSDK_KERNEL, {2, 2}}, {NSDK_STRIDES, {2, 2}}}, {}});
  const uint32_t mean = result("mean", {1, 17, 1, 1}, 0.1f);
  graph.AddOp({NSDK_AVERAGE_POOL, "mean", {most}, {mean}, {{NSDK_KERNEL, {6, 6}}}, {}});
  const uint32_t flat = result("flat", {1, 17}, 0.1f);
  graph.AddOp({NSDK_RESHAPE, "flat", {mean}, {flat}, {}, {}});
  const uint32_t y = result("y", {1, 10}, 0.1f);
  const uint32_t w3 = constant({"w3", NSDK_INT8, {17, 10}, {0.01f}, {}, 0, {}});
  graph.AddOp({NSDK_MATMUL, "y", {flat, w3}, {y}, {}, {}});
  return graph;
}

}  // namespace epiphyte::nsdk_conformance
