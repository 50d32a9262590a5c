// An execution provider for Abs, Neg and Relu of floats, written with the kit: two classes and one macro.
#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "epiphyte/kit/plugin/plugin.hpp"

namespace {

namespace kit = epiphyte::kit;

enum class Operator { kAbs, kNeg, kRelu };

float Apply(Operator op, float x) {
  switch (op) {
    case Operator::kAbs: return std::fabs(x);
    case Operator::kNeg: return -x;
    case Operator::kRelu: return x < 0 ? 0.0f : x;  // a NaN stays NaN
  }
  return x;
}

// An output of a partition, as a chain of operators on one of the partition's inputs.
struct Chain {
  uint32_t input = 0;
  std::vector<Operator> operators;
};

class ElementwiseKernel : public kit::Kernel {
 public:
  explicit ElementwiseKernel(std::vector<Chain> outputs) : outputs_(std::move(outputs)) {}

  void Execute(const kit::Run& run) override {
    for (uint32_t i = 0; i < outputs_.size(); ++i) {
      const Chain& chain = outputs_[i];
      const EpTensorView& x = run.input(chain.input);
      const auto* from = static_cast<const float*>(x.data);
      float* to = run.Output<float>(i, EP_TYPE_FLOAT, {x.dims, x.rank});
      for (uint64_t k = 0; k < x.element_count; ++k) {
        float value = from[k];
        for (const Operator op : chain.operators) value = Apply(op, value);
        to[k] = value;
      }
    }
  }

 private:
  std::vector<Chain> outputs_;
};

bool FindOperator(const kit::NodeView& node, Operator* op) {
  if (node.Is("Abs")) return *op = Operator::kAbs, true;
  if (node.Is("Neg")) return *op = Operator::kNeg, true;
  if (node.Is("Relu")) return *op = Operator::kRelu, true;
  return false;
}

class ElementwiseProvider : public kit::Provider {
 public:
  static std::span<const kit::Option> Options() { return {}; }

  explicit ElementwiseProvider(const kit::ProviderConfig& config) : host_(config.host) {}

  // The host groups the supported nodes and shows the reason for each unsupported node.
  bool Supports(const kit::NodeView& node, std::string* why_not) override {
    Operator op;
    *why_not = "only Abs, Neg and Relu of float";
    return FindOperator(node, &op) && node.input(0).element_type() == EP_TYPE_FLOAT &&
           node.input(0).constant() == nullptr;
  }

  std::unique_ptr<kit::Kernel> Compile(const kit::Partition& partition) override {
    std::vector<Chain> outputs;
    for (const kit::ValueView& output : partition.graph.outputs()) outputs.push_back(ChainOf(partition.graph, output));
    return std::make_unique<ElementwiseKernel>(std::move(outputs));
  }

 private:
  // Walks back from an output to the input that it depends on.
  Chain ChainOf(const kit::GraphView& graph, kit::ValueView value) const {
    Chain chain;
    for (;;) {
      const std::vector<kit::ValueView> inputs = graph.inputs();
      for (uint32_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i].handle() != value.handle()) continue;
        chain.input = i;
        return chain;
      }
      Operator op;
      if (value.producer() == nullptr || !FindOperator(kit::NodeView(host_, value.producer()), &op)) {
        throw kit::Error(EP_STATUS_NOT_IMPLEMENTED,
                         "'" + std::string(value.name()) + "' is no chain of Abs, Neg, Relu");
      }
      chain.operators.insert(chain.operators.begin(), op);
      value = kit::NodeView(host_, value.producer()).input(0);
    }
  }

  const EpHostInfo& host_;
};

}  // namespace

EPIPHYTE_KIT_PLUGIN(ElementwiseProvider, "example_elementwise", "Epiphyte examples", "1.0.0", "ExampleElementwise")
