#include "plugins/vulkan/exec/compiled_graph.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/graph/import.hpp"
#include "epiphyte/kit/memory/heap.hpp"

namespace epiphyte::vulkan {
namespace {

constexpr size_t kMostPrograms = 16;
// Constants of at least this many bytes are weights. Smaller ones may be shapes, which only the host reads.
constexpr uint64_t kLeastWeight = uint64_t{64} << 10;

// Collects the data that an operator packs for one node.
class PackedSink final : public Packing::Sink {
 public:
  PackedSink(int32_t node, std::vector<kit::PackedData>& packed, std::vector<uint32_t>& releases)
      : node_(node), packed_(packed), releases_(releases) {}

  void Put(std::string key, std::vector<std::byte> data) override {
    auto owner = std::make_shared<std::vector<std::byte>>(std::move(data));
    kit::PackedData entry;
    entry.node = node_;
    entry.key = std::move(key);
    entry.data = owner->data();
    entry.bytes = owner->size();
    entry.owner = std::move(owner);
    packed_.push_back(std::move(entry));
  }
  void Release(int32_t value) override { ++releases_[static_cast<size_t>(value)]; }

 private:
  const int32_t node_;
  std::vector<kit::PackedData>& packed_;
  std::vector<uint32_t>& releases_;
};

void Append(std::string* text, const void* data, size_t size) { text->append(static_cast<const char*>(data), size); }

}  // namespace

// Does every step of compiling except those on the device.
std::shared_ptr<CompiledGraph> CompiledGraph::Start(ir::Graph graph, const CompileConfig& config, GraphOrigin origin,
                                                    std::vector<kit::PackedData> packed) {
  auto compiled = std::shared_ptr<CompiledGraph>(new CompiledGraph);
  VerifiedGraph verified = VerifyGraph(graph, packed, *config.operators, config.capabilities, origin);
  compiled->graph_ = std::move(graph);
  compiled->packed_ = std::move(packed);
  compiled->operators_ = std::move(verified.operators);
  compiled->FindPlaces(verified.host_values);
  compiled->device_ = config.device;
  compiled->store_ = config.constants;
  compiled->limit_ = config.limit;
  compiled->capabilities_ = config.capabilities;
  compiled->has_shader_ = [kernels = &config.device->kernels()](std::string_view name) {
    return kernels->Find(name) != nullptr;
  };
  if (origin == GraphOrigin::kMadeNow) compiled->Pack(config);
  return compiled;
}

std::shared_ptr<CompiledGraph> CompiledGraph::Build(ir::Graph graph, const CompileConfig& config, GraphOrigin origin,
                                                    std::vector<kit::PackedData> packed) {
  std::shared_ptr<CompiledGraph> compiled = Start(std::move(graph), config, origin, std::move(packed));
  compiled->KeepConstants(config);
  compiled->on_device_.resize(compiled->graph_.constants.size() + compiled->packed_.size());
  // Loading the weights here reports a defect of the graph at once, and the first run finds its weights on the device.
  if (compiled->StaticProgram() == nullptr) compiled->LoadWeights();
  return compiled;
}

void CompiledGraph::FindPlaces(const HostValues& host_values) {
  reads_inputs_ = host_values.reads_inputs;
  std::vector<int> uses(graph_.values.size(), 0);
  std::vector<int32_t> maker(graph_.values.size(), -1);
  for (size_t n = 0; n < graph_.nodes.size(); ++n) {
    for (const int32_t input : graph_.nodes[n].inputs)
      if (input >= 0) ++uses[static_cast<size_t>(input)];
    for (const int32_t output : graph_.nodes[n].outputs)
      if (output >= 0) maker[static_cast<size_t>(output)] = static_cast<int32_t>(n);
  }
  for (const int32_t output : graph_.outputs) ++uses[static_cast<size_t>(output)];
  for (const int32_t output : graph_.outputs) {
    known_outputs_.push_back(host_values.known[static_cast<size_t>(output)]);
    int32_t over = -1;
    if (const int32_t node = maker[static_cast<size_t>(output)]; node >= 0) {
      const ir::Node& made_by = graph_.nodes[static_cast<size_t>(node)];
      const bool is_first = made_by.outputs[0] == output && made_by.HasInput(0);
      if (is_first && operators_[static_cast<size_t>(node)]->in_place && uses[static_cast<size_t>(made_by.inputs[0])] == 1)
        for (size_t i = 0; i < graph_.inputs.size(); ++i)
          if (graph_.inputs[i] == made_by.inputs[0] && !reads_inputs_[i]) over = static_cast<int32_t>(i);
    }
    in_place_.push_back(over);
  }
}

std::optional<Program> CompiledGraph::ProgramOf(ir::Graph graph, const CompileConfig& config) {
  const std::shared_ptr<CompiledGraph> started = Start(std::move(graph), config, GraphOrigin::kMadeNow, {});
  const auto inputs = started->StaticInputs();
  if (!inputs) return std::nullopt;
  return started->MakeProgram(*inputs);
}

std::optional<std::vector<ArrivedInput>> CompiledGraph::StaticInputs() const {
  std::vector<ArrivedInput> inputs;
  for (size_t i = 0; i < graph_.inputs.size(); ++i) {
    const ir::Value& info = graph_.values[static_cast<size_t>(graph_.inputs[i])];
    if (reads_inputs_[i] || !info.IsStatic() || info.type == EP_TYPE_UNDEFINED) return std::nullopt;
    inputs.push_back({info.type, info.dims, nullptr});
  }
  return inputs;
}

std::shared_ptr<const LoadedProgram> CompiledGraph::StaticProgram() {
  const auto inputs = StaticInputs();
  if (!inputs) return nullptr;
  std::string signature;
  SignatureOf(*inputs, &signature);
  return ProgramFor(signature, *inputs);
}

void CompiledGraph::Pack(const CompileConfig& config) {
  std::vector<uint32_t> releases(graph_.values.size(), 0);
  std::vector<uint32_t> uses(graph_.values.size(), 0);
  for (const ir::Node& node : graph_.nodes)
    for (const int32_t input : node.inputs)
      if (input >= 0) ++uses[static_cast<size_t>(input)];
  for (const int32_t output : graph_.outputs) ++uses[static_cast<size_t>(output)];
  const std::vector<bool> droppable = config.drop ? ir::Droppable(graph_) : std::vector<bool>();
  for (size_t n = 0; n < graph_.nodes.size(); ++n) {
    if (config.progress) config.progress(n, graph_.nodes.size());
    if (operators_[n]->pack == nullptr) continue;
    PackedSink sink(static_cast<int32_t>(n), packed_, releases);
    Packing packing(graph_, graph_.nodes[n], capabilities_, sink);
    try {
      operators_[n]->pack(packing);
    } catch (const kit::Error& error) {
      const ir::Node& node = graph_.nodes[n];
      throw kit::Error(error.code(), kit::TextOf("node '", node.name, "' (", node.op_type, "): ", error.what()));
    }
    if (droppable.empty()) continue;
    for (const int32_t input : graph_.nodes[n].inputs) {
      if (input < 0 || releases[static_cast<size_t>(input)] < uses[static_cast<size_t>(input)]) continue;
      const int32_t constant = graph_.constant_of_value[static_cast<size_t>(input)];
      if (constant >= 0 && droppable[static_cast<size_t>(constant)])
        config.drop(graph_.constants[static_cast<size_t>(constant)]);
    }
  }
  for (ir::Constant& constant : graph_.constants) {
    const auto value = static_cast<size_t>(constant.value);
    if (uses[value] == 0 || releases[value] < uses[value]) continue;
    constant.storage = ir::Constant::Storage::kDropped;
    constant.tensor.data = nullptr;
    constant.tensor.strings = nullptr;
    constant.owner = nullptr;
    constant.handle = nullptr;
  }
}

void CompiledGraph::KeepConstants(const CompileConfig& config) {
  for (ir::Constant& constant : graph_.constants) {
    if (constant.storage != ir::Constant::Storage::kBorrowed) continue;
    if (constant.handle != nullptr && config.retain) {
      config.retain(constant);
      continue;
    }
    if (constant.owner == nullptr) {
      const uint64_t bytes = constant.tensor.Bytes();
      constant.owner = kit::AllocateWeights(bytes);
      if (bytes != 0) std::memcpy(constant.owner.get(), constant.tensor.data, static_cast<size_t>(bytes));
      constant.tensor.data = constant.owner.get();
    }
    constant.storage = ir::Constant::Storage::kOwned;
    constant.handle = nullptr;
  }
}

void CompiledGraph::SignatureOf(std::span<const ArrivedInput> inputs, std::string* signature) const {
  signature->clear();
  if (inputs.size() != graph_.inputs.size())
    kit::FailArgument(inputs.size(), " inputs given, ", graph_.inputs.size(), " expected");
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ArrivedInput& input = inputs[i];
    const uint32_t head[] = {static_cast<uint32_t>(input.type), static_cast<uint32_t>(input.dims.size())};
    Append(signature, head, sizeof head);
    Append(signature, input.dims.data(), input.dims.size_bytes());
    if (!reads_inputs_[i]) continue;
    uint64_t count = 0;
    if (!kit::CountElements(input.dims, &count) || count > uint64_t{kMostHostElements})
      kit::FailArgument("input '", graph_.values[static_cast<size_t>(graph_.inputs[i])].name, "' has shape ",
                        kit::ShapeText(input.dims), "; shapes depend on its elements, and at most ", kMostHostElements,
                        " are possible");
    const uint64_t bytes = kit::ElementBytes(input.type, count);
    if (bytes != 0) Append(signature, input.data, static_cast<size_t>(bytes));
  }
}

std::shared_ptr<const LoadedProgram> CompiledGraph::ProgramFor(const std::string& signature,
                                                               std::span<const ArrivedInput> inputs) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(programs_.begin(), programs_.end(),
                                  [&](const auto& known) { return known->signature == signature; });
  if (found != programs_.end()) {
    std::rotate(found, found + 1, programs_.end());
    return programs_.back();
  }
  std::shared_ptr<const LoadedProgram> made = Make(signature, inputs);
  if (programs_.size() >= kMostPrograms) programs_.erase(programs_.begin());
  programs_.push_back(made);
  ++programs_made_;
  return made;
}

uint64_t CompiledGraph::programs_made() const {
  const std::lock_guard lock(mutex_);
  return programs_made_;
}

Program CompiledGraph::MakeProgram(std::span<const ArrivedInput> inputs) const {
  std::vector<ProgramInput> known;
  for (size_t i = 0; i < inputs.size(); ++i) {
    ProgramInput& input = known.emplace_back();
    input.type = inputs[i].type;
    input.dims = Dims(inputs[i].dims);
    if (reads_inputs_[i])
      input.host = std::make_shared<HostTensor>(ReadHostTensor(input.type, input.dims, inputs[i].data));
  }
  return ProgramBuilder(graph_, operators_, capabilities_, packed_, has_shader_).Build(known);
}

std::shared_ptr<LoadedProgram> CompiledGraph::Make(const std::string& signature,
                                                   std::span<const ArrivedInput> inputs) {
  auto loaded = std::make_shared<LoadedProgram>();
  loaded->signature = signature;
  loaded->program = MakeProgram(inputs);
  BindOutputs(loaded->program);
  loaded->memory = PlanMemory(loaded->program);
  if (const std::vector<std::byte>& literals = loaded->program.literals; !literals.empty()) {
    loaded->literals = device_->Allocate(literals.size(), "literals", MemoryUse::kDevice, limit_);
    device_->Upload(std::vector<HostToDevice>{{{loaded->literals, 0, literals.size()}, literals.data()}});
  }
  LoadConstants(*loaded);
  std::set<uint32_t> used;
  for (const DeviceTensor& tensor : loaded->program.tensors)
    if (tensor.place == Place::kInput) used.insert(static_cast<uint32_t>(tensor.index));
  loaded->inputs.assign(used.begin(), used.end());
  return loaded;
}

std::span<const std::byte> CompiledGraph::BytesOfConstant(uint64_t index) const {
  if (index >= graph_.constants.size()) {
    const kit::PackedData& packed = packed_[static_cast<size_t>(index) - graph_.constants.size()];
    return {static_cast<const std::byte*>(packed.data), static_cast<size_t>(packed.bytes)};
  }
  const ir::Tensor& tensor = graph_.constants[static_cast<size_t>(index)].tensor;
  return {static_cast<const std::byte*>(tensor.data), static_cast<size_t>(tensor.Bytes())};
}

void CompiledGraph::LoadWeights() {
  std::vector<bool> used(graph_.values.size(), false);
  for (const ir::Node& node : graph_.nodes)
    for (const int32_t input : node.inputs)
      if (input >= 0) used[static_cast<size_t>(input)] = true;
  std::vector<uint64_t> weights;
  for (uint64_t index = 0; index < on_device_.size(); ++index) {
    if (index < graph_.constants.size() && !used[static_cast<size_t>(graph_.constants[index].value)]) continue;
    const std::span<const std::byte> bytes = BytesOfConstant(index);
    if (bytes.data() != nullptr && bytes.size() >= kLeastWeight) weights.push_back(index);
  }
  Load(weights);
}

void CompiledGraph::LoadConstants(LoadedProgram& loaded) {
  std::vector<uint64_t> missing;
  for (const DeviceTensor& tensor : loaded.program.tensors)
    if (tensor.place == Place::kConstant && on_device_[static_cast<size_t>(tensor.index)].buffer == nullptr)
      missing.push_back(tensor.index);
  std::sort(missing.begin(), missing.end());
  missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  Load(missing);
  loaded.constants.resize(loaded.program.tensors.size());
  for (size_t i = 0; i < loaded.constants.size(); ++i)
    if (const DeviceTensor& tensor = loaded.program.tensors[i]; tensor.place == Place::kConstant)
      loaded.constants[i] = on_device_[static_cast<size_t>(tensor.index)];
}

void CompiledGraph::Load(std::span<const uint64_t> indices) {
  std::vector<std::span<const std::byte>> data;
  for (const uint64_t index : indices) data.push_back(BytesOfConstant(index));
  const std::vector<BufferRange> places =
      store_ != nullptr ? store_->Load(device_, data, limit_) : vulkan::LoadConstants(device_, data, limit_);
  for (size_t i = 0; i < indices.size(); ++i) on_device_[static_cast<size_t>(indices[i])] = places[i];
}

}  // namespace epiphyte::vulkan
