// A plugin with a custom operator domain. It declares the operators' types, so that ONNX's operators can use their
// outputs. The domain example.ops has:
//
//   Bucketize(x, edges)   float[…], float[K] → int64[…]: how many of the edges are not above x
//   PreciseSum(x)         float[…, N] → double[…]: the sum along the last axis, added up in double
//   Blank(shape; value)   int64[R] → uint8 of that shape, filled with the attribute `value` (required)
//
// A partition may hold any number of such nodes, connected in any way: the kernel runs them one by one.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "epiphyte/kit/plugin/plugin.hpp"
#include "epiphyte/kit/plugin/schema.hpp"

namespace {

namespace kit = epiphyte::kit;

constexpr const char* kDomain = "example.ops";

// --- types

void InferBucketize(const kit::Inference& node) {
  const kit::ValueView edges = node.node().input(1);
  if (edges.has_rank() && edges.dims().size() != 1) {
    node.Reject("edges have " + std::to_string(edges.dims().size()) + " dimensions, 1 expected");
  }
  node.SetLike(0, 0, EP_TYPE_INT64);
}

void InferPreciseSum(const kit::Inference& node) {
  const kit::ValueView x = node.node().input(0);
  if (!x.has_rank()) return node.SetTensorOfUnknownRank(0, EP_TYPE_DOUBLE);
  if (x.dims().empty()) node.Reject("x is a scalar, an axis to sum along expected");
  node.SetTensor(0, EP_TYPE_DOUBLE, x.dims().first(x.dims().size() - 1));
}

void InferBlank(const kit::Inference& node) {
  if (const auto dims = node.Ints(0)) {
    for (const int64_t dim : *dims) {
      if (dim < 0) node.Reject("a dimension of " + std::to_string(dim) + " was asked for, 0 or more expected");
    }
    return node.SetTensor(0, EP_TYPE_UINT8, *dims);
  }
  const kit::ValueView shape = node.node().input(0);
  if (shape.IsStatic() && shape.dims().size() == 1 && shape.dims()[0] <= 64) {
    return node.SetTensor(0, EP_TYPE_UINT8, std::vector<int64_t>(static_cast<size_t>(shape.dims()[0]), -1));
  }
  node.SetTensorOfUnknownRank(0, EP_TYPE_UINT8);
}

// --- kernels

// A tensor in a partition: an input or a constant (not owned), or a result (owned by `memory`).
struct Tensor {
  EpElementType type = EP_TYPE_UNDEFINED;
  std::vector<int64_t> dims;
  const void* data = nullptr;
  std::vector<std::byte> memory;

  uint64_t Count() const {
    uint64_t count = 1;
    for (const int64_t dim : dims) count *= static_cast<uint64_t>(dim);
    return count;
  }
  static Tensor View(const EpTensorView& view) {
    return {view.element_type, std::vector<int64_t>(view.dims, view.dims + view.rank), view.data, {}};
  }
  template <typename T>
  static Tensor Make(EpElementType type, std::vector<int64_t> dims, T** data) {
    Tensor made{type, std::move(dims), nullptr, {}};
    made.memory.resize(std::max<size_t>(1, static_cast<size_t>(made.Count()) * sizeof(T)));
    made.data = made.memory.data();
    *data = reinterpret_cast<T*>(made.memory.data());
    return made;
  }
};

// Copies the elements, because memory of an application may have any alignment [R724].
template <typename T>
std::vector<T> ElementsOf(const Tensor& tensor) {
  std::vector<T> elements(static_cast<size_t>(tensor.Count()));
  if (!elements.empty()) std::memcpy(elements.data(), tensor.data, elements.size() * sizeof(T));
  return elements;
}

Tensor Bucketize(const Tensor& x, const Tensor& edges) {
  int64_t* buckets = nullptr;
  Tensor y = Tensor::Make(EP_TYPE_INT64, x.dims, &buckets);
  const std::vector<float> values = ElementsOf<float>(x), bounds = ElementsOf<float>(edges);
  for (size_t i = 0; i < values.size(); ++i) {
    buckets[i] = std::count_if(bounds.begin(), bounds.end(), [&](float edge) { return edge <= values[i]; });
  }
  return y;
}

Tensor PreciseSum(const Tensor& x) {
  if (x.dims.empty())
    throw kit::Error(EP_STATUS_INVALID_ARGUMENT, "PreciseSum of a scalar; an axis to sum along expected");
  double* sums = nullptr;
  Tensor y = Tensor::Make(EP_TYPE_DOUBLE, {x.dims.begin(), x.dims.end() - 1}, &sums);
  const std::vector<float> values = ElementsOf<float>(x);
  const auto length = static_cast<uint64_t>(x.dims.back());
  for (uint64_t row = 0; row < y.Count(); ++row) {
    sums[row] = 0;
    for (uint64_t i = 0; i < length; ++i) sums[row] += values[row * length + i];
  }
  return y;
}

Tensor Blank(const Tensor& shape, int64_t value) {
  const std::vector<int64_t> wanted = ElementsOf<int64_t>(shape);
  uint64_t count = 1;
  for (const int64_t dim : wanted) {
    if (dim < 0 || __builtin_mul_overflow(count, static_cast<uint64_t>(dim), &count) || count > (uint64_t{1} << 32)) {
      throw kit::Error(EP_STATUS_INVALID_ARGUMENT,
                       "Blank: the shape has a negative dimension or more than 2^32 elements");
    }
  }
  uint8_t* pixels = nullptr;
  Tensor y = Tensor::Make(EP_TYPE_UINT8, wanted, &pixels);
  std::memset(pixels, static_cast<int>(value & 0xFF), static_cast<size_t>(count));
  return y;
}

// One node of a partition. Values are identified by their id, which is unique in the partition.
struct Step {
  std::string op_type;
  std::vector<uint64_t> inputs;
  uint64_t output;
  int64_t value;
};

class OperatorsKernel : public kit::Kernel {
 public:
  explicit OperatorsKernel(const kit::GraphView& graph) {
    for (const kit::ValueView& input : graph.inputs()) inputs_.push_back(input.id());
    for (const kit::ValueView& output : graph.outputs()) outputs_.push_back(output.id());
    for (const kit::ValueView& constant : graph.constants()) Keep(constant);
    for (const kit::NodeView& node : graph.nodes()) {
      Step step{std::string(node.op_type()), {}, node.output(0).id(), node.Int("value", 0)};
      for (size_t i = 0; i < node.input_count(); ++i) step.inputs.push_back(node.input(i).id());
      steps_.push_back(std::move(step));
    }
  }

  void Execute(const kit::Run& run) override {
    std::map<uint64_t, Tensor> made;
    for (size_t i = 0; i < inputs_.size(); ++i) made[inputs_[i]] = Tensor::View(run.input(i));
    const auto value = [&](uint64_t id) -> const Tensor& {
      const auto constant = constants_.find(id);
      return constant != constants_.end() ? constant->second : made.at(id);
    };
    for (const Step& step : steps_) {
      made[step.output] = step.op_type == "Bucketize"    ? Bucketize(value(step.inputs[0]), value(step.inputs[1]))
                          : step.op_type == "PreciseSum" ? PreciseSum(value(step.inputs[0]))
                                                         : Blank(value(step.inputs[0]), step.value);
    }
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const Tensor& result = value(outputs_[i]);
      auto* data = run.Output<std::byte>(static_cast<uint32_t>(i), result.type, result.dims);
      if (!result.memory.empty())
        std::memcpy(data, result.data, static_cast<size_t>(result.Count()) * ElementSize(result));
    }
  }

 private:
  static size_t ElementSize(const Tensor& tensor) { return tensor.type == EP_TYPE_UINT8 ? 1 : 8; }

  // Copies a constant, because the data of constants is freed when Compile returns.
  void Keep(const kit::ValueView& value) {
    const EpTensorView& view = *value.constant();
    Tensor copy = Tensor::View(view);
    const auto* bytes = static_cast<const std::byte*>(view.data);
    if (view.byte_size != 0) copy.memory.assign(bytes, bytes + view.byte_size);
    Tensor& kept = constants_[value.id()] = std::move(copy);
    kept.data = kept.memory.data();
  }

  std::vector<uint64_t> inputs_, outputs_;
  std::map<uint64_t, Tensor> constants_;
  std::vector<Step> steps_;
};

class OperatorsProvider : public kit::Provider {
 public:
  static std::span<const kit::Operator> Operators() {
    static constexpr kit::OperatorAttribute kBlankAttributes[] = {{"value", EP_ATTRIBUTE_INT, /*required=*/true}};
    static constexpr kit::Operator kOperators[] = {
        {.domain = kDomain, .name = "Bucketize", .min_inputs = 2, .max_inputs = 2, .infer = InferBucketize},
        {.domain = kDomain, .name = "PreciseSum", .infer = InferPreciseSum},
        {.domain = kDomain, .name = "Blank", .attributes = kBlankAttributes, .infer = InferBlank},
    };
    return kOperators;
  }

  static std::span<const kit::Option> Options() { return {}; }

  explicit OperatorsProvider(const kit::ProviderConfig&) {}

  bool Supports(const kit::NodeView& node, std::string* why_not) override {
    const bool blank = node.Is("Blank", kDomain);
    if (!blank && !node.Is("Bucketize", kDomain) && !node.Is("PreciseSum", kDomain)) {
      *why_not = "only Bucketize, PreciseSum and Blank of example.ops";
      return false;
    }
    const EpElementType wanted = blank ? EP_TYPE_INT64 : EP_TYPE_FLOAT;
    for (size_t i = 0; i < node.input_count(); ++i) {
      if (node.input(i).element_type() == wanted) continue;
      *why_not = wanted == EP_TYPE_FLOAT ? "only inputs of float" : "only a shape of int64";
      return false;
    }
    return true;
  }

  std::unique_ptr<kit::Kernel> Compile(const kit::Partition& partition) override {
    return std::make_unique<OperatorsKernel>(partition.graph);
  }
};

}  // namespace

EPIPHYTE_KIT_PLUGIN(OperatorsProvider, "custom_operators", "Example", "1.0.0", "ExampleCustomOperators")
