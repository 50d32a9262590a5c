#include "host/conformance/checks/probes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

namespace epiphyte::conformance {
namespace {

// 16 floats are 64 bytes, so an input ends exactly before the inaccessible page.
constexpr int64_t kRows = 2;
constexpr int64_t kColumns = 8;
constexpr size_t kCount = kRows * kColumns;

using Floats = std::vector<float>;

Floats Numbers(size_t count, float scale, float shift) {
  Floats numbers(count);
  for (size_t i = 0; i < count; ++i) numbers[i] = scale * (static_cast<float>((i * 7) % 11) - 5) + shift;
  return numbers;
}

// Returns y = op(op(x)) on positive and negative numbers below 2.
Probe Unary(const std::string& op, int64_t since_version, const std::function<float(float)>& compute) {
  Probe probe;
  probe.name = op + " of " + op;
  probe.graph.name = probe.name;
  const int x = probe.graph.AddInput("x", EP_TYPE_FLOAT, {kRows, kColumns});
  const int middle = probe.graph.AddValue("middle", EP_TYPE_FLOAT, {kRows, kColumns});
  const int y = probe.graph.AddOutput("y", EP_TYPE_FLOAT, {kRows, kColumns});
  probe.graph.AddNode(op, {x}, {middle}, since_version);
  probe.graph.AddNode(op, {middle}, {y}, since_version);
  const Floats numbers = Numbers(kCount, 0.3f, 0.05f);
  probe.inputs = {FloatTensor({kRows, kColumns}, numbers)};
  Floats expected(kCount);
  std::transform(numbers.begin(), numbers.end(), expected.begin(),
                 [&](float value) { return compute(compute(value)); });
  probe.expected = {expected};
  return probe;
}

enum class Second { kInput, kSame, kConstant };

// Returns z = op(x, y), where y is a second input, x itself or a constant.
Probe Binary(const std::string& op, int64_t since_version, Second second,
             const std::function<float(float, float)>& compute) {
  Probe probe;
  probe.name = op + (second == Second::kInput  ? " of two inputs"
                     : second == Second::kSame ? " of an input and itself"
                                               : " of an input and a constant");
  probe.graph.name = probe.name;
  const Floats left = Numbers(kCount, 0.25f, 0.5f);
  const Floats right = second == Second::kSame ? left : Numbers(kCount, -0.5f, 3.25f);
  const int x = probe.graph.AddInput("x", EP_TYPE_FLOAT, {kRows, kColumns});
  const int y = second == Second::kSame    ? x
                : second == Second::kInput ? probe.graph.AddInput("y", EP_TYPE_FLOAT, {kRows, kColumns})
                                           : probe.graph.AddConstant("c", {kRows, kColumns}, right);
  const int z = probe.graph.AddOutput("z", EP_TYPE_FLOAT, {kRows, kColumns});
  probe.graph.AddNode(op, {x, y}, {z}, since_version);
  probe.inputs = {FloatTensor({kRows, kColumns}, left)};
  if (second == Second::kInput) probe.inputs.push_back(FloatTensor({kRows, kColumns}, right));
  Floats expected(kCount);
  std::transform(left.begin(), left.end(), right.begin(), expected.begin(), compute);
  probe.expected = {expected};
  return probe;
}

Probe MatMul(Second second) {
  Probe probe;
  probe.name = second == Second::kInput ? "MatMul of two inputs" : "MatMul of an input and a constant";
  probe.graph.name = probe.name;
  const Floats a = Numbers(kCount, 0.25f, 0.5f);
  const Floats b = Numbers(kColumns * kColumns, 0.125f, -0.25f);
  const int x = probe.graph.AddInput("x", EP_TYPE_FLOAT, {kRows, kColumns});
  const int w = second == Second::kInput ? probe.graph.AddInput("w", EP_TYPE_FLOAT, {kColumns, kColumns})
                                         : probe.graph.AddConstant("w", {kColumns, kColumns}, b);
  const int y = probe.graph.AddOutput("y", EP_TYPE_FLOAT, {kRows, kColumns});
  probe.graph.AddNode("MatMul", {x, w}, {y}, 13);
  probe.inputs = {FloatTensor({kRows, kColumns}, a)};
  if (second == Second::kInput) probe.inputs.push_back(FloatTensor({kColumns, kColumns}, b));
  Floats expected(kCount);
  for (int64_t row = 0; row < kRows; ++row) {
    for (int64_t column = 0; column < kColumns; ++column) {
      double sum = 0;
      for (int64_t k = 0; k < kColumns; ++k) {
        sum += static_cast<double>(a[static_cast<size_t>(row * kColumns + k)]) *
               b[static_cast<size_t>(k * kColumns + column)];
      }
      expected[static_cast<size_t>(row * kColumns + column)] = static_cast<float>(sum);
    }
  }
  probe.expected = {expected};
  return probe;
}

// Returns a 1x1 convolution of 4 channels with a constant kernel.
Probe Convolution() {
  Probe probe;
  probe.name = "Conv with constant weights";
  probe.graph.name = probe.name;
  const Floats image = Numbers(4 * 4 * 4, 0.2f, 0.1f);
  const Floats weights = Numbers(4 * 4, 0.3f, -0.1f);
  const int x = probe.graph.AddInput("x", EP_TYPE_FLOAT, {1, 4, 4, 4});
  const int w = probe.graph.AddConstant("w", {4, 4, 1, 1}, weights);
  const int y = probe.graph.AddOutput("y", EP_TYPE_FLOAT, {1, 4, 4, 4});
  NodeSpec& node = probe.graph.AddNode("Conv", {x, w}, {y}, 11);
  node.attributes = {{"kernel_shape", EP_ATTRIBUTE_INTS, {1, 1}, {}, {}},
                     {"strides", EP_ATTRIBUTE_INTS, {1, 1}, {}, {}}};
  probe.inputs = {FloatTensor({1, 4, 4, 4}, image)};
  Floats expected(image.size());
  for (size_t out = 0; out < 4; ++out) {
    for (size_t at = 0; at < 16; ++at) {
      double sum = 0;
      for (size_t in = 0; in < 4; ++in) sum += static_cast<double>(weights[out * 4 + in]) * image[in * 16 + at];
      expected[out * 16 + at] = static_cast<float>(sum);
    }
  }
  probe.expected = {expected};
  return probe;
}

// --- Probes of quantized numbers, for devices without floats. Scales are powers of two, so that results are exact. 8
// times 8 bytes are 64.

constexpr std::array<int64_t, 2> kBytes = {8, 8};

using Bytes = std::vector<int8_t>;

Bytes SmallBytes(int most, int step) {
  Bytes bytes(kBytes[0] * kBytes[1]);
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<int8_t>(static_cast<int>(i) * step % (2 * most + 1) - most);
  return bytes;
}

// Builds QDQ units: DequantizeLinear before an operator, and QuantizeLinear after it.
class QuantisedGraph {
 public:
  explicit QuantisedGraph(const std::string& name) {
    probe_.name = name;
    probe_.graph.name = name;
  }

  int AddInput(const std::string& name, const Bytes& bytes, float scale, int8_t zero) {
    const int value = probe_.graph.AddInput(name, EP_TYPE_INT8, {kBytes[0], kBytes[1]});
    probe_.inputs.push_back(ByteTensor({kBytes[0], kBytes[1]}, bytes));
    return Dequantised(name, value, scale, zero);
  }
  int AddWeights(const std::string& name, const Bytes& bytes, float scale) {
    const int value = AddConstant(name, {kBytes[0], kBytes[1]}, bytes);
    return Dequantised(name, value, scale, 0);
  }
  Probe Finish(const std::string& op, int64_t since_version, const std::vector<int>& inputs, float scale, int8_t zero,
               const Floats& expected) {
    GraphSpec& graph = probe_.graph;
    const int real = graph.AddValue("real", EP_TYPE_FLOAT, {kBytes[0], kBytes[1]});
    const int y = graph.AddOutput("y", EP_TYPE_INT8, {kBytes[0], kBytes[1]});
    graph.AddNode(op, inputs, {real}, since_version);
    graph.AddNode("QuantizeLinear", {real, AddScale("y", scale), AddConstant("y_zero", {}, Bytes{zero})}, {y}, 13);
    probe_.expected = {expected};
    return std::move(probe_);
  }

 private:
  int AddConstant(const std::string& name, std::vector<int64_t> dims, const Bytes& bytes) {
    const int index = probe_.graph.AddValue(name, EP_TYPE_INT8, dims);
    ValueSpec& value = probe_.graph.values[static_cast<size_t>(index)];
    value.is_constant = true;
    value.data = ByteTensor(std::move(dims), bytes).bytes;
    return index;
  }
  int AddScale(const std::string& name, float scale) {
    return probe_.graph.AddConstant(name + "_scale", {}, {&scale, 1});
  }
  int Dequantised(const std::string& name, int value, float scale, int8_t zero) {
    const int real = probe_.graph.AddValue(name + "_real", EP_TYPE_FLOAT, {kBytes[0], kBytes[1]});
    const int zero_point = AddConstant(name + "_zero", {}, Bytes{zero});
    probe_.graph.AddNode("DequantizeLinear", {value, AddScale(name, scale), zero_point}, {real}, 13);
    return real;
  }

  Probe probe_;
};

Probe QuantisedRelu() {
  const Bytes x = SmallBytes(100, 37);
  Floats expected;
  for (const int8_t number : x) expected.push_back(std::max<float>(number, 3));
  QuantisedGraph graph("Relu of quantised numbers");
  const int input = graph.AddInput("x", x, 0.5f, 3);
  return graph.Finish("Relu", 14, {input}, 0.5f, 3, expected);
}

Probe QuantisedAdd() {
  const Bytes a = SmallBytes(20, 7), b = SmallBytes(40, 11);
  Floats expected;
  for (size_t i = 0; i < a.size(); ++i) expected.push_back(static_cast<float>(2 * a[i] + b[i]));
  QuantisedGraph graph("Add of two quantised inputs");
  const int first = graph.AddInput("a", a, 0.5f, 0);
  const int second = graph.AddInput("b", b, 0.25f, 0);
  return graph.Finish("Add", 14, {first, second}, 0.25f, 0, expected);
}

Probe QuantisedMatMul() {
  const Bytes x = SmallBytes(5, 3), w = SmallBytes(1, 2);
  Floats expected;
  for (int64_t row = 0; row < kBytes[0]; ++row)
    for (int64_t column = 0; column < kBytes[1]; ++column) {
      int sum = 0;
      for (int64_t k = 0; k < kBytes[1]; ++k)
        sum += x[static_cast<size_t>(row * kBytes[1] + k)] * w[static_cast<size_t>(k * kBytes[1] + column)];
      expected.push_back(static_cast<float>(sum));
    }
  QuantisedGraph graph("MatMul of quantised numbers");
  const int input = graph.AddInput("x", x, 0.5f, 0);
  const int weights = graph.AddWeights("w", w, 0.25f);
  return graph.Finish("MatMul", 13, {input, weights}, 0.125f, 0, expected);
}

}  // namespace

GraphSpec Probe::As(const std::string& partition_name) const {
  std::vector<size_t> all(graph.nodes.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  return graph.Part(all, partition_name);
}

GraphSpec Probe::WithType(EpElementType type) const {
  GraphSpec other = graph;
  for (ValueSpec& value : other.values) value.type = type;
  return other;
}

std::vector<Probe> AllProbes() {
  const auto sigmoid = [](float x) { return 1 / (1 + std::exp(-x)); };
  std::vector<Probe> probes = {
      Unary("Relu", 14, [](float x) { return x > 0 ? x : 0; }),  Unary("Neg", 13, [](float x) { return -x; }),
      Unary("Abs", 13, [](float x) { return std::fabs(x); }),    Unary("Sigmoid", 13, sigmoid),
      Unary("Tanh", 13, [](float x) { return std::tanh(x); }),   Unary("Exp", 13, [](float x) { return std::exp(x); }),
      Unary("Floor", 13, [](float x) { return std::floor(x); }),
  };
  for (const Second second : {Second::kConstant, Second::kInput, Second::kSame}) {
    probes.push_back(Binary("Add", 14, second, [](float x, float y) { return x + y; }));
    probes.push_back(Binary("Mul", 14, second, [](float x, float y) { return x * y; }));
  }
  probes.push_back(Binary("Sub", 14, Second::kInput, [](float x, float y) { return x - y; }));
  probes.push_back(QuantisedRelu());
  probes.push_back(QuantisedAdd());
  probes.push_back(QuantisedMatMul());
  probes.push_back(MatMul(Second::kConstant));
  probes.push_back(MatMul(Second::kInput));
  probes.push_back(Convolution());
  return probes;
}

std::vector<Probe> EmptyProbes() {
  std::vector<Probe> probes;
  for (Probe probe : AllProbes()) {
    const bool has_constants = std::any_of(probe.graph.values.begin(), probe.graph.values.end(),
                                           [](const ValueSpec& value) { return value.is_constant; });
    const bool flat = std::all_of(probe.graph.values.begin(), probe.graph.values.end(), [](const ValueSpec& value) {
      return value.dims == std::vector<int64_t>{kRows, kColumns};
    });
    if (has_constants || !flat) continue;
    for (ValueSpec& value : probe.graph.values) value.dims[0] = -1;
    for (Tensor& input : probe.inputs) input = {EP_TYPE_FLOAT, {0, kColumns}, {}};
    probe.expected = {{}};
    probes.push_back(std::move(probe));
  }
  return probes;
}

std::vector<Probe> ClaimedProbes(Session& session) {
  std::vector<Probe> claimed;
  for (Probe& probe : AllProbes()) {
    const Claims claims = session.Capability(probe.graph);
    const bool whole = claims.nodes == probe.graph.nodes.size() && (!claims.exact || claims.units.size() == 1);
    if (whole) claimed.push_back(std::move(probe));
  }
  return claimed;
}

std::string Difference(const Probe& probe, const std::vector<Tensor>& found) {
  if (found.size() != probe.expected.size()) return probe.name + ": another number of outputs";
  for (size_t i = 0; i < found.size(); ++i) {
    const Floats numbers = FloatsOf(found[i]);
    const Floats& expected = probe.expected[i];
    if (numbers.size() != expected.size()) {
      return probe.name + ": output " + std::to_string(i) + " has " + std::to_string(numbers.size()) + " elements, " +
             std::to_string(expected.size()) + " are expected";
    }
    for (size_t k = 0; k < numbers.size(); ++k) {
      // The tolerance is wide enough for half-precision arithmetic.
      if (std::fabs(numbers[k] - expected[k]) <= 1e-2f + 1e-2f * std::fabs(expected[k])) continue;
      return probe.name + ": element " + std::to_string(k) + " of output " + std::to_string(i) + " is " +
             std::to_string(numbers[k]) + ", " + std::to_string(expected[k]) + " is expected";
    }
  }
  return "";
}

}  // namespace epiphyte::conformance
