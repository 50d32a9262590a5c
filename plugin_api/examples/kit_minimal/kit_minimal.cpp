// A plugin written with the kit: Add and Relu of float tensors, with contexts and an option.
//
// The host merges the nodes that Supports accepts into the largest possible partitions. A kernel therefore runs a graph
// of such nodes, and its context holds that graph.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <epiphyte/kit/container/graph.hpp>
#include <epiphyte/kit/graph/import.hpp>
#include <epiphyte/kit/plugin/plugin.hpp>

namespace {

namespace kit = epiphyte::kit;
namespace ir = epiphyte::kit::ir;

// Magic and version of the plugin's contexts. Raise the version when the content's format changes.
constexpr kit::ContainerFormat kFormat = {"EXAMPLE1", 1, "the context of kit_minimal"};

// Reads one float from unaligned memory: inputs of applications and constants of models may begin at any address.
float At(const void* data, size_t i) {
  float value;
  std::memcpy(&value, static_cast<const char*>(data) + i * sizeof(value), sizeof(value));
  return value;
}

class GraphKernel : public kit::Kernel {
 public:
  // Throws INVALID_GRAPH for a graph with nodes that Supports doesn't accept, because a context is a file and may be
  // forged.
  explicit GraphKernel(std::shared_ptr<const ir::Graph> graph) : graph_(std::move(graph)) {
    bool fits = std::ranges::all_of(
        graph_->values, [](const ir::Value& value) { return value.type == EP_TYPE_FLOAT && value.IsStatic(); });
    for (const ir::Constant& constant : graph_->constants) fits &= constant.storage != ir::Constant::Storage::kDropped;
    for (const ir::Node& node : graph_->nodes) {
      const size_t inputs = node.Is("Add") ? 2 : node.Is("Relu") ? 1 : 0;
      fits &= inputs > 0 && node.inputs.size() == inputs && node.outputs.size() == 1 && node.HasOutput(0);
      for (size_t i = 0; fits && i < inputs; ++i) fits = node.HasInput(i) && SameShape(node.inputs[i], node.outputs[0]);
    }
    if (!fits)
      throw kit::Error(EP_STATUS_INVALID_GRAPH, "the graph is not one of this plugin; compile the model again");
  }

  void Execute(const kit::Run& run) override {
    std::vector<const void*> data(graph_->values.size());
    std::vector<std::vector<float>> made(graph_->nodes.size());
    for (const ir::Constant& constant : graph_->constants) data[Index(constant.value)] = constant.tensor.data;
    for (size_t i = 0; i < graph_->inputs.size(); ++i) {
      const EpTensorView& input = run.input(i);
      if (input.element_type != EP_TYPE_FLOAT || input.element_count != CountOf(graph_->inputs[i])) {
        throw kit::Error(EP_STATUS_INVALID_ARGUMENT, "input " + std::to_string(i) + " is not what was compiled for");
      }
      data[Index(graph_->inputs[i])] = input.data;
    }
    for (size_t n = 0; n < graph_->nodes.size(); ++n) {
      const ir::Node& node = graph_->nodes[n];
      const void* const x = data[Index(node.inputs[0])];
      const void* const y = data[Index(node.inputs.back())];
      made[n].resize(CountOf(node.outputs[0]));
      for (size_t i = 0; i < made[n].size(); ++i) {
        made[n][i] = node.inputs.size() == 2 ? At(x, i) + At(y, i) : std::max(At(x, i), 0.0f);
      }
      data[Index(node.outputs[0])] = made[n].data();
    }
    for (size_t i = 0; i < graph_->outputs.size(); ++i) {
      const int32_t value = graph_->outputs[i];
      auto* to = run.Output<float>(static_cast<uint32_t>(i), EP_TYPE_FLOAT, graph_->values[Index(value)].dims);
      if (CountOf(value) > 0) std::memcpy(to, data[Index(value)], CountOf(value) * sizeof(float));
    }
  }

 private:
  static size_t Index(int32_t value) { return static_cast<size_t>(value); }
  size_t CountOf(int32_t value) const {
    return static_cast<size_t>(kit::Dims(graph_->values[Index(value)].dims).Count());
  }
  bool SameShape(int32_t a, int32_t b) const { return graph_->values[Index(a)].dims == graph_->values[Index(b)].dims; }

  const std::shared_ptr<const ir::Graph> graph_;
};

class KitMinimalProvider : public kit::Provider {
 public:
  static constexpr bool kMakesContexts = true;
  static constexpr const char* kSdkVersion = "1.0";  // a context of another version is refused

  // The host checks options; `epiphyte doctor` shows them.
  static std::span<const kit::Option> Options() {
    static constexpr kit::Option kOptions[] = {
        kit::Option::Int("min_elements", 0, "tensors of fewer elements are left to other providers", 0),
    };
    return kOptions;
  }

  explicit KitMinimalProvider(const kit::ProviderConfig& config)
      : min_elements_(kit::OptionValues(Options(), config.options).Int("min_elements")) {}

  bool Supports(const kit::NodeView& node, std::string* why_not) override {
    if (!node.Is("Add") && !node.Is("Relu")) return *why_not = "only Add and Relu", false;
    const kit::ValueView y = node.output(0);
    for (size_t i = 0; i < node.input_count(); ++i) {
      const kit::ValueView x = node.input(i);
      const bool fits = x.element_type() == EP_TYPE_FLOAT && x.IsStatic() && std::ranges::equal(x.dims(), y.dims());
      if (!fits) return *why_not = "only float tensors of one shape that is known before the run", false;
    }
    int64_t elements = 1;
    for (const int64_t dim : y.dims()) elements *= dim;
    if (elements < min_elements_) return *why_not = "fewer elements than the option min_elements says", false;
    return true;
  }

  std::unique_ptr<kit::Kernel> Compile(const kit::Partition& partition) override {
    auto graph = std::make_shared<ir::Graph>(ir::Import(host(), partition.graph.handle(), std::string(partition.name)));
    // Retained weights stay in the host's memory after Compile, without a copy.
    for (ir::Constant& constant : graph->constants) ir::Retain(host(), partition.task.handle(), constant);
    compiled_.push_back(graph);
    return std::make_unique<GraphKernel>(std::move(graph));
  }

  void SaveContext(const std::vector<std::string>&, kit::ContextWriter& writer) override {
    kit::ContextContainerBuilder builder(kFormat);
    for (const auto& graph : compiled_) kit::AddGraph(builder, *graph);
    builder.Write(writer);
  }

  std::unique_ptr<kit::Kernel> LoadContext(std::string_view partition, std::span<const std::byte> payload) override {
    kit::StoredGraph stored = kit::ReadGraph(kit::ContextContainer(payload, kFormat), partition);
    return std::make_unique<GraphKernel>(std::make_shared<ir::Graph>(std::move(stored.graph)));
  }

 private:
  const int64_t min_elements_;
  std::vector<std::shared_ptr<const ir::Graph>> compiled_;
};

}  // namespace

EPIPHYTE_KIT_PLUGIN(KitMinimalProvider, "kit_minimal", "Example", "1.0.0", "ExampleKitMinimal")
