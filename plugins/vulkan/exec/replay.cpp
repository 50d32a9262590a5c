#include "plugins/vulkan/exec/replay.h"

#include <algorithm>
#include <cstring>

#include "epiphyte/kit/abi/fail.hpp"

namespace epiphyte::vulkan {

Replay::Replay(std::shared_ptr<const LoadedProgram> loaded, std::shared_ptr<Device> device,
               const kit::Threads& threads, bool profile, const ir::Graph* graph)
    : loaded_(std::move(loaded)) {
  const Program& program = loaded_->program;
  if (loaded_->memory.arena_bytes != 0) arena_ = device->Allocate(loaded_->memory.arena_bytes, "activations");
  std::vector<uint64_t> bytes;
  for (const DeviceTensor& tensor : program.tensors) {
    if (tensor.place != Place::kInput) continue;
    bytes.resize(std::max(bytes.size(), static_cast<size_t>(tensor.index) + 1));
    bytes[static_cast<size_t>(tensor.index)] = tensor.bytes;
  }
  uint64_t total = 0;
  input_ranges_.resize(bytes.size());
  for (const uint32_t input : loaded_->inputs) {
    input_ranges_[input] = {nullptr, total, bytes[input]};
    total += (bytes[input] + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
  }
  if (!loaded_->inputs.empty()) input_memory_ = device->Allocate(total, "inputs");
  for (const uint32_t input : loaded_->inputs) input_ranges_[input].buffer = input_memory_;
  memory_bytes_ = loaded_->memory.arena_bytes + total;

  CommandList list;
  for (const Dispatch& dispatch : program.dispatches) {
    Command& command = list.commands.emplace_back();
    command.shader = dispatch.shader;
    command.specialization = dispatch.specialization;
    command.parameters = dispatch.parameters;
    for (const Binding& binding : dispatch.bindings)
      command.bindings.push_back({RangeOf(binding.tensor), binding.access});
    command.groups = dispatch.groups;
    command.work = dispatch.work;
  }
  for (const uint32_t input : loaded_->inputs) list.inputs.push_back(input_ranges_[input]);
  for (const Program::Output& output : program.outputs)
    if (output.tensor >= 0) list.outputs.push_back(RangeOf(output.tensor));
  if (list.commands.empty() && list.outputs.empty()) return;
  CompileOptions options;
  options.profile = profile;
  for (const Dispatch& dispatch : program.dispatches) {
    if (!profile) break;
    const ir::Node* node = graph == nullptr ? nullptr : &graph->nodes[static_cast<size_t>(dispatch.node)];
    names_.push_back(node == nullptr ? dispatch.shader : kit::TextOf(node->op_type, ' ', node->name, ": ", dispatch.shader));
  }
  options.parallel_for = [threads](size_t count, const std::function<void(size_t)>& body) {
    threads.ParallelFor(static_cast<int64_t>(count), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) body(static_cast<size_t>(i));
    });
  };
  compiled_ = std::make_unique<CompiledProgram>(std::move(device), list, options);
}

BufferRange Replay::RangeOf(int32_t index) const {
  const DeviceTensor& tensor = loaded_->program.tensors[static_cast<size_t>(index)];
  switch (tensor.place) {
    case Place::kArena: return {arena_, loaded_->memory.offsets[static_cast<size_t>(index)], tensor.bytes};
    case Place::kInput: return input_ranges_[static_cast<size_t>(tensor.index)];
    case Place::kConstant: return loaded_->constants[static_cast<size_t>(index)];
    case Place::kLiteral: return {loaded_->literals, tensor.index, tensor.bytes};
  }
  kit::FailWith(EP_STATUS_FAIL, "tensor ", index, " has no place");
}

void Replay::Run(const kit::Run& run, std::span<const ArrivedInput> inputs) {
  sources_.clear();
  targets_.clear();
  for (const uint32_t input : loaded_->inputs) sources_.push_back(inputs[input].data);
  const std::vector<Program::Output>& outputs = loaded_->program.outputs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Program::Output& output = outputs[i];
    void* const data = run.Output<void>(static_cast<uint32_t>(i), output.type, output.dims);
    if (output.tensor >= 0) {
      targets_.push_back(data);
    } else if (!output.host_data.empty()) {
      std::memcpy(data, output.host_data.data(), output.host_data.size());
    }
  }
  if (compiled_ == nullptr) return;
  RunOptions options;
  options.cancelled = [&run] { return run.IsCancelled(); };
  const kit::Profile profile(run.host(), run.handle());
  if (profile && !names_.empty()) {
    RunProfiled(profile, options);
  } else {
    compiled_->Run(sources_, targets_, options);
  }
}

// The device's clock is not the host's: the last dispatch is taken to end when the run does.
void Replay::RunProfiled(const kit::Profile& profile, const RunOptions& options) {
  RunOptions timed = options;
  timed.times = &times_;
  compiled_->Run(sources_, targets_, timed);
  const int64_t end = profile.Now();
  uint64_t length = 0;
  for (const CommandTime& time : times_) length = std::max(length, time.start_ns + time.duration_ns);
  const int64_t begin = end - static_cast<int64_t>(length);
  for (size_t i = 0; i < times_.size() && i < names_.size(); ++i) {
    const int64_t start = begin + static_cast<int64_t>(times_[i].start_ns);
    profile.Add(names_[i].c_str(), start, start + static_cast<int64_t>(times_[i].duration_ns), "device");
  }
}

PreparedReplay::PreparedReplay(CompiledGraph& graph, const kit::Threads& threads) {
  std::shared_ptr<const LoadedProgram> program = graph.StaticProgram();
  if (program == nullptr) return;
  try {
    replay_ = std::make_unique<Replay>(std::move(program), graph.device(), threads);
  } catch (const kit::Error& error) {
    if (error.code() != EP_STATUS_OUT_OF_MEMORY) throw;
  }
}

std::unique_ptr<Replay> PreparedReplay::Take(const std::string& signature) {
  const std::lock_guard lock(mutex_);
  if (replay_ == nullptr || replay_->loaded().signature != signature) return nullptr;
  return std::move(replay_);
}

void ReplaySet::Execute(CompiledGraph& graph, const kit::Run& run, const kit::Threads& threads,
                        PreparedReplay& prepared) {
  inputs_.clear();
  for (size_t i = 0; i < run.input_count(); ++i) {
    const EpTensorView& view = run.input(i);
    inputs_.push_back({view.element_type, {view.dims, view.rank}, view.data});
  }
  graph.SignatureOf(inputs_, &signature_);
  const auto found = std::find_if(replays_.begin(), replays_.end(),
                                  [&](const auto& replay) { return replay->loaded().signature == signature_; });
  if (found != replays_.end()) {
    std::rotate(replays_.begin(), found, found + 1);
  } else {
    uint64_t bytes = 0;
    for (const auto& replay : replays_) bytes += replay->memory_bytes();
    while (!replays_.empty() && (replays_.size() >= kMost || bytes > kMostBytes)) {
      bytes -= replays_.back()->memory_bytes();
      replays_.pop_back();
    }
    const auto profiled = static_cast<bool>(kit::Profile(run.host(), run.handle()));
    // A prepared one takes no times; whoever wants them lets go of it.
    std::unique_ptr<Replay> replay = prepared.Take(signature_);
    if (replay == nullptr || profiled)
      replay = std::make_unique<Replay>(graph.ProgramFor(signature_, inputs_), graph.device(), threads, profiled,
                                        &graph.graph());
    replays_.insert(replays_.begin(), std::move(replay));
  }
  replays_[0]->Run(run, inputs_);
}

}  // namespace epiphyte::vulkan
