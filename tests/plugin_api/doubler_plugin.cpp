// A plugin made with the kit that doubles float tensors (Add(x, x), Mul by a constant 2), with a trivial context
// format. Tests use it where they must not depend on the CPU plugin.
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "epiphyte/kit/container/container.hpp"
#include "epiphyte/kit/plugin/plugin.hpp"

namespace {

namespace kit = epiphyte::kit;

// Computes input · factor.
class ScaleKernel : public kit::Kernel {
 public:
  explicit ScaleKernel(float factor) : factor_(factor) {}
  void Execute(const kit::Run& run) override {
    const EpTensorView& x = run.input(0);
    float* y = run.Output<float>(0, EP_TYPE_FLOAT, {x.dims, x.rank});
    for (uint64_t i = 0; i < x.element_count; ++i) y[i] = static_cast<const float*>(x.data)[i] * factor_;
  }

 private:
  float factor_;
};

// Results of compilation that the sessions of a share group share.
struct Workspace {
  std::mutex mutex;
  std::map<std::string, float> factors;
};

class DoublerProvider : public kit::Provider {
 public:
  static constexpr bool kMakesContexts = true;

  static std::span<const kit::Option> Options() {
    static constexpr kit::Option kOptions[] = {
        kit::Option::String("decline", "", "a value; the node that makes it is not claimed")};
    return kOptions;
  }

  explicit DoublerProvider(const kit::ProviderConfig& config)
      : share_(config.host, config.share_group),
        decline_(kit::OptionValues(Options(), config.options).Text("decline")) {}

  bool Supports(const kit::NodeView& node, std::string* why_not) override {
    if (!decline_.empty() && node.output(0).name() == decline_) {
      *why_not = "declined by option";
      return false;
    }
    *why_not = "only Add(x, x) of float";
    return node.Is("Add") && node.input(0).handle() == node.input(1).handle() &&
           node.input(0).element_type() == EP_TYPE_FLOAT;
  }

  std::unique_ptr<kit::Kernel> Compile(const kit::Partition& partition) override {
    if (partition.graph.inputs().size() != 1 || partition.graph.outputs().size() != 1) {
      throw kit::Error(EP_STATUS_NOT_IMPLEMENTED, "a partition with one input and one output is expected");
    }
    float factor = 1;
    for (size_t i = 0; i < partition.graph.node_count(); ++i) factor *= 2;
    factors_.push_back(factor);
    return std::make_unique<ScaleKernel>(factor);
  }

  void SaveContext(const std::vector<std::string>& partitions, kit::ContextWriter& writer) override {
    std::map<std::string, float> all;
    if (share_) {
      std::lock_guard lock(share_->mutex);
      all.swap(share_->factors);
    }
    for (size_t i = 0; i < partitions.size(); ++i) all[partitions[i]] = factors_[i];
    kit::ContextContainerBuilder builder({"DOUBLER", 1});
    for (const auto& [name, factor] : all) builder.Add(name, &factor, sizeof(float));
    builder.Write(writer);
  }
  void KeepContext(const std::vector<std::string>& partitions) override {
    std::lock_guard lock(share_->mutex);
    for (size_t i = 0; i < partitions.size(); ++i) share_->factors[partitions[i]] = factors_[i];
  }
  std::string SdkVersion() const override { return "doubler 1.0"; }
  std::string Hardware() const override { return "any"; }

  std::unique_ptr<kit::Kernel> LoadContext(std::string_view partition, std::span<const std::byte> payload) override {
    const kit::ContextContainer container(payload, {"DOUBLER", 1});
    // An empty partition name stands for the only partition.
    const bool is_only = partition.empty() && container.section_count() == 1;
    const std::span<const std::byte> section = is_only ? container.section(0) : container.Find(partition);
    if (section.size() != sizeof(float)) throw kit::Error(EP_STATUS_INVALID_GRAPH, "a section of 4 bytes is expected");
    float factor = 0;
    std::memcpy(&factor, section.data(), sizeof(factor));
    return std::make_unique<ScaleKernel>(factor);
  }

 private:
  kit::ShareGroup<Workspace> share_;
  std::string decline_;
  std::vector<float> factors_;
};

}  // namespace

EPIPHYTE_KIT_PLUGIN(DoublerProvider, "doubler", "tests", "1.0.0", "DoublerSource")
