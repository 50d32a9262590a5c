// A plugin for two chips that compute on 8-bit integers. It uses all parts of the kit for such a device: QDQ units,
// groups, devices, options, share groups, verdicts on contexts, a declined partition. Program simulates the chips on
// the CPU.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <epiphyte/kit/container/graph.hpp>
#include <epiphyte/kit/container/key.hpp>
#include <epiphyte/kit/graph/import.hpp>
#include <epiphyte/kit/plugin/plugin.hpp>
#include <epiphyte/kit/qdq/host_units.hpp>
#include <epiphyte/kit/qdq/quantization.hpp>
#include <epiphyte/kit/qdq/unshare.hpp>

namespace {

namespace kit = epiphyte::kit;
namespace ir = epiphyte::kit::ir;
namespace qdq = epiphyte::kit::qdq;

// --- Supported nodes

[[noreturn]] void Refuse(const std::string& what) {
  throw kit::Error(EP_STATUS_INVALID_GRAPH, what + " can't be run; compile the model again");
}

int64_t CountOf(const ir::Value& value) { return kit::Dims(value.dims).Count(); }

// Reads element `i` from unaligned memory: inputs of applications and constants of models may begin at any address.
double At(const void* data, EpElementType type, int64_t i) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  if (type == EP_TYPE_UINT8) return bytes[i];
  if (type == EP_TYPE_INT8) return static_cast<signed char>(bytes[i]);
  float value;
  std::memcpy(&value, bytes + static_cast<size_t>(i) * sizeof(value), sizeof(value));
  return value;
}

// Returns why an operator's shapes can't be run; "" if they can. A MatMul is [rows, inner] times [inner, columns];
// `rows` combines all dimensions of x but the last.
std::string ShapeProblem(const ir::Editor& editor, const ir::Node& node) {
  const ir::Value& y = editor.info(node.outputs[0]);
  const bool product = node.Is("MatMul");
  for (const int32_t input : node.inputs) {
    const bool known = input >= 0 && editor.info(input).IsStatic() && y.IsStatic();
    if (!known || (!product && editor.info(input).dims != y.dims)) return "only one shape, known before the run";
  }
  if (!product) return "";
  const ir::Value& x = editor.info(node.inputs[0]);
  const ir::Value& w = editor.info(node.inputs[1]);
  const bool fits = w.rank == 2 && x.rank >= 1 && x.rank == y.rank && x.dims.back() == w.dims[0] &&
                    y.dims.back() == w.dims[1] && std::equal(x.dims.begin(), x.dims.end() - 1, y.dims.begin());
  return fits ? "" : "only products with a matrix";
}

// Selects 8-bit QDQ units with an operator that the chips support.
qdq::Options UnitOptions() {
  const auto refuse = [](const ir::Editor& editor, const qdq::Unit& unit) -> std::string {
    const ir::Node& node = editor.node(unit.target);
    if (!node.Is("Add") && !node.Is("Relu") && !node.Is("MatMul")) return "only Add, Relu and MatMul";
    return ShapeProblem(editor, node);
  };
  return {.narrowest_bits = 8, .widest_bits = 8, .refuse = refuse};
}

// Returns true for a float MatMul with constant weights.
bool IsDense(const ir::Editor& editor, int32_t n) {
  const ir::Node& node = editor.node(n);
  return node.Is("MatMul") && node.inputs.size() == 2 && node.HasOutput(0) && editor.IsFloat(node.outputs[0]) &&
         editor.IsFloat(node.inputs[0]) && editor.IsFloat(node.inputs[1]) &&
         editor.ConstantOf(node.inputs[1]) != nullptr && ShapeProblem(editor, node).empty();
}

// Returns the Relu that is the only reader of a MatMul, or -1. The two nodes form one group.
int32_t ReluBehind(const ir::Editor& editor, int32_t product) {
  const int32_t reader = editor.OnlyReader(editor.node(product).outputs[0]);
  const bool fits = editor.Is(reader, "Relu") && editor.IsFloat(editor.node(reader).outputs[0]) &&
                    ShapeProblem(editor, editor.node(reader)).empty();
  return fits ? reader : -1;
}
bool IsReluOfDense(const ir::Editor& editor, int32_t n) {
  const int32_t product = editor.Is(n, "Relu") ? editor.ProducerOf(editor.node(n).inputs[0], "MatMul") : -1;
  return product >= 0 && IsDense(editor, product) && ReluBehind(editor, product) == n;
}

// --- Execution

// A compiled partition: one step for each QDQ unit and each float MatMul.
class Program {
 public:
  using Scratch = std::vector<std::vector<std::byte>>;  // results of a run, indexed by value; reused by the next run

  // Takes the graph of a partition or of a context. The graph of a context is untrusted, so everything is checked.
  explicit Program(ir::Graph partition) : graph_(std::move(partition)) {
    {
      ir::Editor editor(graph_);
      qdq::UnshareDequantize(editor);
      editor.Finish();
    }
    const ir::Editor editor(graph_);
    for (const qdq::Unit& unit : qdq::FindUnits(editor, UnitOptions()).units) {  // in topological order
      if (unit.IsQdq()) {
        AddUnit(editor, unit);
      } else if (IsDense(editor, unit.target)) {
        const ir::Node& product = editor.node(unit.target);
        const int32_t relu = ReluBehind(editor, unit.target);
        const int32_t out = relu < 0 ? product.outputs[0] : editor.node(relu).outputs[0];
        steps_.push_back({.kind = Kind::kMatMul,
                          .x = {.value = product.inputs[0]},
                          .y = {.value = product.inputs[1]},
                          .out = {.value = out},
                          .low = relu < 0 ? -HUGE_VAL : 0});
      } else if (!IsReluOfDense(editor, unit.target)) {
        Refuse(qdq::NodeText(graph_, editor.node(unit.target)));
      }
    }
    for (const ir::Constant& constant : graph_.constants) {
      if (constant.storage == ir::Constant::Storage::kDropped) Refuse("a constant without its bytes");
    }
  }

  const ir::Graph& graph() const { return graph_; }
  size_t step_count() const { return steps_.size(); }

  void Run(const kit::Run& run, Scratch& scratch) const {
    std::vector<const void*> data(graph_.values.size());
    scratch.resize(graph_.values.size());
    for (const ir::Constant& constant : graph_.constants) data[Index(constant.value)] = constant.tensor.data;
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      const EpTensorView& input = run.input(i);
      const ir::Value& value = Info(graph_.inputs[i]);
      if (input.element_type != value.type || !std::ranges::equal(std::span(input.dims, input.rank), value.dims)) {
        throw kit::Error(EP_STATUS_INVALID_ARGUMENT, "input '" + value.name + "' is not what was compiled for");
      }
      data[Index(graph_.inputs[i])] = input.data;
    }
    for (const Step& step : steps_) {
      run.ThrowIfCancelled();
      const ir::Value& value = Info(step.out.value);
      const auto output = std::ranges::find(graph_.outputs, step.out.value);
      void* out = nullptr;
      if (output != graph_.outputs.end()) {
        out = run.Output<void>(static_cast<uint32_t>(output - graph_.outputs.begin()), value.type, value.dims);
      } else {
        std::vector<std::byte>& made = scratch[Index(step.out.value)];
        made.resize(kit::ElementBytes(value.type, static_cast<uint64_t>(CountOf(value))));
        out = made.data();
      }
      Compute(step, data, out);
      data[Index(step.out.value)] = out;
    }
  }

 private:
  enum class Kind : uint8_t { kAdd, kRelu, kMatMul };
  // A tensor of a step: 8-bit numbers with scale and zero point, or floats.
  struct Operand {
    int32_t value = -1;  // -1: none
    EpElementType type = EP_TYPE_FLOAT;
    double scale = 1;
    double zero_point = 0;
  };
  struct Step {
    Kind kind;
    Operand x = {}, y = {}, out = {};
    double low = 0, high = HUGE_VAL;  // bounds of the results; in quantised numbers for a quantised output
  };

  static size_t Index(int32_t value) { return static_cast<size_t>(value); }
  const ir::Value& Info(int32_t value) const { return graph_.values[Index(value)]; }

  void AddUnit(const ir::Editor& editor, const qdq::Unit& unit) {
    const ir::Node& node = editor.node(unit.target);
    const auto operand = [&](int32_t quantizing, int32_t value, int32_t real) -> Operand {
      std::string why;
      const std::optional<qdq::Quantization> numbers = qdq::ReadQuantization(graph_, editor.node(quantizing), &why);
      const bool fits = numbers && numbers->IsPerTensor() && Info(value).type == numbers->type;
      if (!fits || !editor.SameStaticShape(value, real)) Refuse(qdq::NodeText(graph_, node));
      return {value, numbers->type, numbers->Scale(0), static_cast<double>(numbers->ZeroPoint(0))};
    };
    const auto input = [&](size_t i) {
      return operand(unit.dequantize[i], editor.node(unit.dequantize[i]).inputs[0], node.inputs[i]);
    };
    Step step = {.kind = node.Is("Add") ? Kind::kAdd : node.Is("Relu") ? Kind::kRelu : Kind::kMatMul, .x = input(0)};
    if (node.inputs.size() > 1) step.y = input(1);
    step.out = operand(unit.quantize[0], editor.node(unit.quantize[0]).outputs[0], node.outputs[0]);
    step.low = static_cast<double>(unit.clamp >= 0 ? unit.range.low : qdq::LowestOf(step.out.type));
    step.high = static_cast<double>(unit.clamp >= 0 ? unit.range.high : qdq::HighestOf(step.out.type));
    steps_.push_back(step);
  }

  void Compute(const Step& step, const std::vector<const void*>& data, void* out) const {
    const auto read = [&](const Operand& from, int64_t i) {
      return At(data[Index(from.value)], from.type, i) - from.zero_point;
    };
    const auto write = [&](int64_t i, double real) {
      if (step.out.type == EP_TYPE_FLOAT) {
        static_cast<float*>(out)[i] = static_cast<float>(std::max(real, step.low));
      } else {
        const double number = std::nearbyint(real / step.out.scale) + step.out.zero_point;
        const auto kept = static_cast<int64_t>(std::clamp(number, step.low, step.high));
        static_cast<unsigned char*>(out)[i] = static_cast<unsigned char>(kept);
      }
    };
    const int64_t count = CountOf(Info(step.out.value));
    if (step.kind != Kind::kMatMul) {
      for (int64_t i = 0; i < count; ++i) {
        const double x = read(step.x, i) * step.x.scale;
        write(i, step.kind == Kind::kRelu ? std::max(x, 0.0) : x + read(step.y, i) * step.y.scale);
      }
      return;
    }
    // Sums of 8-bit products are exact in double, as in the chips' integer arithmetic.
    const int64_t inner = Info(step.y.value).dims[0];
    const int64_t columns = Info(step.y.value).dims[1];
    for (int64_t i = 0; i < count; ++i) {
      double sum = 0;
      for (int64_t k = 0; k < inner; ++k) {
        sum += read(step.x, i / columns * inner + k) * read(step.y, k * columns + i % columns);
      }
      write(i, sum * step.x.scale * step.y.scale);
    }
  }

  ir::Graph graph_;
  std::vector<Step> steps_;
};

class ProgramKernel : public kit::StatefulKernel<Program::Scratch> {
 public:
  explicit ProgramKernel(std::shared_ptr<const Program> program) : program_(std::move(program)) {}
  void Execute(const kit::Run& run, Program::Scratch& scratch) override { program_->Run(run, scratch); }

 private:
  const std::shared_ptr<const Program> program_;
};

// --- The plugin

constexpr const char* kSdk = "2.1";
constexpr const char* kSource = "ExampleKitFull";
constexpr kit::ContainerFormat kFormat = {"KITFULL", 1, "the context of kit_full"};

constexpr EpDeviceInfo Chip(const char* name, uint64_t memory_bytes) {
  EpDeviceInfo device = kit::MakeDevice(EP_DEVICE_NPU, name, "Example", kSdk, name);
  device.memory_bytes = memory_bytes;
  return device;
}
constexpr EpDeviceInfo kChips[] = {Chip("X1", 64 << 10), Chip("X2", 256 << 20)};

// Properties that a context depends on. The second chip runs contexts of the first chip, but not at full speed.
kit::CompatibilityKey KeyOf(const EpDeviceInfo& chip) {
  kit::CompatibilityKey key;
  key.Require("sdk", kSdk, "SDK {}");
  return &chip == &kChips[0] ? key.Require("chip", chip.architecture, "chip {}")
                             : key.Prefer("chip", chip.architecture, "chip {}");
}

using Programs = std::map<std::string, std::shared_ptr<const Program>>;  // key: the partition's name

// Compiled partitions of all sessions of a share group; outlives each session.
struct Workspace {
  std::mutex mutex;
  Programs programs;
};

class ChipProvider : public kit::Provider {
 public:
  explicit ChipProvider(const kit::ProviderConfig& config)
      : chip_(kChips[config.devices.empty() ? 0 : config.devices[0]]), share_(config.host, config.share_group) {}

  void GetCapability(const kit::GraphView& graph, kit::Claims& claims) override {
    qdq::HostUnits units = qdq::FindHostUnits(host(), graph.handle(), UnitOptions());
    for (const qdq::Group& group : units.groups) claims.Together(group.nodes, group.name);
    const ir::Editor editor(units.graph);
    for (const qdq::Unit& unit : units.found.units) {
      const EpNode* const node = units.HandleOf(unit.target);
      if (unit.IsQdq() || kit::NodeView(host(), node).placed() || IsReluOfDense(editor, unit.target)) continue;
      if (!IsDense(editor, unit.target)) {
        claims.Decline(node, units.found.reasons[static_cast<size_t>(unit.target)]);
      } else if (const int32_t relu = ReluBehind(editor, unit.target); relu >= 0) {
        const EpNode* const both[] = {node, units.HandleOf(relu)};
        claims.Exactly(both, "MatMul+Relu");
      } else {
        claims.Support(node);
      }
    }
  }

  std::unique_ptr<kit::Kernel> Compile(const kit::Partition& partition) override {
    partition.task.Report(0, 2, "reading");
    ir::Graph graph = ir::Import(host(), partition.graph.handle(), std::string(partition.name));
    uint64_t bytes = 0;
    for (const ir::Constant& constant : graph.constants) bytes += constant.tensor.Bytes();
    if (bytes > chip_.memory_bytes) {
      throw kit::Declined("its constants have " + std::to_string(bytes) + " bytes, chip " + chip_.name + " has " +
                          std::to_string(chip_.memory_bytes));
    }
    for (ir::Constant& constant : graph.constants) Own(&constant);
    partition.task.Report(1, 2, "compiling");
    auto program = std::make_shared<const Program>(std::move(graph));
    compiled_[std::string(partition.name)] = program;
    return std::make_unique<ProgramKernel>(std::move(program));
  }

  void SaveContexts(kit::ContextSink& sink) override {
    const std::string key = KeyOf(chip_).ToText();
    Programs all = compiled_;
    if (share_) {  // the last session of the group writes all partitions, identical weights once
      const std::lock_guard lock(share_->mutex);
      share_->programs.insert(compiled_.begin(), compiled_.end());
      all = share_->programs;
    }
    std::optional<kit::ContextWriter> payload;
    if (!sink.defers_payload()) {
      kit::ContextContainerBuilder builder(kFormat, key);
      for (const auto& [name, program] : all) kit::AddGraph(builder, program->graph());
      payload = sink.BeginPayload();
      builder.Write(*payload);
      payload->End();
    }
    for (const kit::SavedPartition& partition : sink.partitions()) {
      const size_t steps = compiled_.at(std::string(partition.name))->step_count();
      sink.AddNode({.partition = partition.index,
                    .payload = payload ? &*payload : nullptr,
                    .sdk_version = kSdk,
                    .hardware = chip_.architecture,
                    .attributes = {{"kit_full_steps", std::to_string(steps)}}});
    }
    sink.SetCompatibilityInfo(key);
  }

  // Weights stay in the payload that the host has mapped, for all sessions of a group.
  void LoadContexts(kit::ContextLoading& loading) override {
    for (size_t i = 0; i < loading.size(); ++i) {
      loading.task().Report(i, loading.size());
      loading.SetKernel(i, loading.FirstThatHas(i, [&](std::span<const std::byte> bytes) {
        const kit::ContextContainer container(bytes, kFormat);
        KeyOf(chip_).Compare(container.key()).ThrowIfUnsupported();
        kit::StoredGraph stored = kit::ReadGraph(container, loading.node(i).partition_name());
        return std::make_unique<ProgramKernel>(std::make_shared<const Program>(std::move(stored.graph)));
      }));
    }
  }

 private:
  // Copies a constant: the host frees constants with the session, but a share group outlives the session.
  static void Own(ir::Constant* constant) {
    const auto* from = static_cast<const std::byte*>(constant->tensor.data);
    auto copy = std::make_shared<std::vector<std::byte>>(from, from + constant->tensor.Bytes());
    constant->tensor.data = copy->data();
    constant->owner = std::move(copy);
    constant->storage = ir::Constant::Storage::kOwned;
  }

  const EpDeviceInfo& chip_;
  const kit::ShareGroup<Workspace> share_;
  Programs compiled_;
};

class ChipPlugin : public kit::Plugin {
 public:
  static constexpr bool kMakesContexts = true;
  using Plugin::Plugin;

  std::span<const EpDeviceInfo> Devices() override { return kChips; }
  std::unique_ptr<kit::Provider> CreateProvider(const kit::ProviderConfig& config) override {
    return std::make_unique<ChipProvider>(config);
  }
  std::optional<std::span<const kit::Option>> Options() override { return std::span<const kit::Option>(); }

  // Works without a provider: it compares the stored compatibility info, or the key in the payload.
  kit::ContextVerdict CheckContext(const kit::ContextHeader& header) override {
    const std::string source(header.origin().source);
    if (!source.empty() && source != kSource)
      return kit::ContextVerdict::NotApplicable("its source is '" + source + "'");
    std::string made(header.compatibility_info());
    if (made.empty() && header.has_payload()) made = kit::ContextContainer(header.payload(), kFormat).key();
    if (made.empty()) return kit::ContextVerdict::NotApplicable("nothing says what it was compiled for");
    if (!header.devices().empty()) return KeyOf(kChips[header.devices()[0]]).Compare(made);
    kit::ContextVerdict best = KeyOf(kChips[0]).Compare(made);
    kit::ContextVerdict other = KeyOf(kChips[1]).Compare(made);
    return other.verdict < best.verdict ? other : best;
  }
};

}  // namespace

EPIPHYTE_KIT_PLUGIN(ChipPlugin, "kit_full", "Example", "1.0.0", "ExampleKitFull")
