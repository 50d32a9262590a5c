#include "plugins/vulkan/exec/replay.h"

#include <algorithm>
#include <cstring>

#include "epiphyte/kit/abi/fail.hpp"
#include "plugins/vulkan/exec/device_memories.h"

namespace epiphyte::vulkan {

Replay::Replay(std::shared_ptr<const LoadedProgram> loaded, const CompiledGraph& graph, const kit::Threads& threads,
               bool profile)
    : loaded_(std::move(loaded)), device_(graph.device()), limit_(graph.limit()) {
  const Program& program = loaded_->program;
  if (const uint64_t bytes = loaded_->memory.arena_bytes; bytes != 0)
    arena_ = device_->Allocate(bytes, "activations", MemoryUse::kDevice, limit_);
  memory_bytes_ = loaded_->memory.arena_bytes;

  slot_of_input_.resize(graph.graph().inputs.size(), -1);
  for (const DeviceTensor& tensor : program.tensors) {
    if (tensor.place != vulkan::Place::kInput || slot_of_input_[tensor.index] >= 0) continue;
    slot_of_input_[tensor.index] = static_cast<int32_t>(list_.slots.size());
    list_.slots.push_back(tensor.bytes);
  }
  for (const Program::Output& output : program.outputs) {
    slot_of_output_.push_back(output.tensor < 0 ? -1 : static_cast<int32_t>(list_.slots.size()));
    if (output.tensor >= 0) list_.slots.push_back(program.tensors[static_cast<size_t>(output.tensor)].bytes);
  }
  own_.resize(list_.slots.size());
  AddCommands(graph.graph(), profile);
  if (list_.commands.empty()) return;
  CompileOptions options;
  options.profile = profile;
  options.limit = limit_;
  options.parallel_for = [threads](size_t count, const std::function<void(size_t)>& body) {
    threads.ParallelFor(static_cast<int64_t>(count), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) body(static_cast<size_t>(i));
    });
  };
  compiled_ = std::make_unique<CompiledProgram>(device_, list_, options);
  list_ = {};
}

void Replay::AddCommands(const ir::Graph& graph, bool profile) {
  const Program& program = loaded_->program;
  for (const Dispatch& dispatch : program.dispatches) {
    Command& command = list_.commands.emplace_back();
    command.shader = dispatch.shader;
    command.specialization = dispatch.specialization;
    command.parameters = dispatch.parameters;
    for (const Binding& binding : dispatch.bindings) {
      command.bindings.push_back(BindingOf(binding.tensor));
      command.bindings.back().access = binding.access;
    }
    command.groups = dispatch.groups;
    command.work = dispatch.work;
    command.copies = dispatch.copies;
    command.full_subgroups = dispatch.full_subgroups;
    if (!profile) continue;
    const ir::Node& node = graph.nodes[static_cast<size_t>(dispatch.node)];
    names_.push_back(kit::TextOf(node.op_type, ' ', node.name, ": ", dispatch.shader));
  }
  // Outputs that are not written to their slots directly are copied there.
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    if (slot_of_output_[i] < 0 || list_.slots[static_cast<size_t>(slot_of_output_[i])] == 0) continue;
    Command copy;
    copy.bindings = {BindingOf(program.outputs[i].tensor), {{}, Access::kWrite, slot_of_output_[i]}};
    if (copy.bindings[0].slot == slot_of_output_[i]) continue;
    list_.commands.push_back(std::move(copy));
    if (profile) names_.push_back("copy of an output");
  }
}

Command::Binding Replay::BindingOf(int32_t index) const {
  const Program& program = loaded_->program;
  const uint64_t bytes = program.tensors[static_cast<size_t>(index)].bytes;
  const int32_t root = RootOf(program, index);
  const DeviceTensor& tensor = program.tensors[static_cast<size_t>(root)];
  switch (tensor.place) {
    case vulkan::Place::kArena: return {{arena_, loaded_->memory.offsets[static_cast<size_t>(root)], bytes}};
    case vulkan::Place::kInput: return {{}, Access::kRead, slot_of_input_[tensor.index]};
    case vulkan::Place::kOutput: return {{}, Access::kRead, slot_of_output_[tensor.index]};
    case vulkan::Place::kConstant: return {loaded_->constants[static_cast<size_t>(root)]};
    case vulkan::Place::kLiteral: return {{loaded_->literals, tensor.index, bytes}};
  }
  kit::FailWith(EP_STATUS_FAIL, "tensor ", index, " has no place");
}

const BufferRange& Replay::OwnRange(size_t slot) {
  BufferRange& own = own_[slot];
  if (own.buffer != nullptr) return own;
  const uint64_t bytes = slots_[slot].size;
  own = {device_->Allocate(bytes, "inputs and outputs", MemoryUse::kDevice, limit_), 0, bytes};
  memory_bytes_ += bytes;
  return own;
}

bool Replay::Place(size_t slot, const EpTensorView& view) {
  BufferRange& range = slots_[slot];
  range.size = view.byte_size;
  if (view.buffer == nullptr) {
    range = OwnRange(slot);
    return false;
  }
  range.buffer = kit::BufferOf<DeviceBuffer>(view.buffer).buffer;
  range.offset = view.offset;
  return true;
}

void Replay::PlaceInput(size_t slot, const EpTensorView& view) {
  if (Place(slot, view)) return;
  before_.push_back({{nullptr, 0, const_cast<void*>(view.data)}, {slots_[slot].buffer.get(), 0}, slots_[slot].size});
}

void Replay::PlaceOutput(size_t slot, const EpTensorView& view) {
  if (Place(slot, view)) return;
  after_.push_back({{slots_[slot].buffer.get(), 0}, {nullptr, 0, const_cast<void*>(view.data)}, slots_[slot].size});
}

void Replay::Run(const kit::Run& run, const kit::DeviceRuns& device_runs, Stream& stream) {
  slots_.assign(own_.size(), {});
  before_.clear();
  after_.clear();
  for (size_t i = 0; i < slot_of_input_.size(); ++i)
    if (slot_of_input_[i] >= 0) PlaceInput(static_cast<size_t>(slot_of_input_[i]), run.input(i));
  const std::vector<Program::Output>& outputs = loaded_->program.outputs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Program::Output& output = outputs[i];
    const auto index = static_cast<uint32_t>(i);
    EpTensorView view = {};
    if (device_runs) {
      view = device_runs.Output(run.handle(), index, output.type, output.dims);
    } else {
      view.byte_size = kit::ElementBytes(output.type, static_cast<uint64_t>(output.dims.Count()));
      view.data = run.Output<void>(index, output.type, output.dims);
    }
    const std::vector<std::byte>& known = output.host_data;
    if (output.tensor >= 0) {
      PlaceOutput(static_cast<size_t>(slot_of_output_[i]), view);
    } else if (view.buffer != nullptr) {
      before_.push_back({{nullptr, 0, const_cast<std::byte*>(known.data())},
                         {kit::BufferOf<DeviceBuffer>(view.buffer).buffer.get(), view.offset},
                         known.size()});
    } else if (!known.empty()) {
      std::memcpy(const_cast<void*>(view.data), known.data(), known.size());
    }
  }
  if (!before_.empty()) stream.Copy(before_);
  if (compiled_ != nullptr) {
    compiled_->Submit(stream, slots_, {.cancelled = [&run] { return run.IsCancelled(); }});
    const kit::Profile profile(run.host(), run.handle());
    if (profile && !names_.empty()) stream.Then([this, profile] { AddTimes(profile); });
  }
  if (!after_.empty()) stream.Copy(after_);
  slots_.clear();  // the host owns these buffers and may free them
  if (!device_runs) stream.Synchronize(stream.Signal());
}

// The device's clock differs from the host's, so the last dispatch is assumed to end now.
void Replay::AddTimes(const kit::Profile& profile) noexcept {
  try {
    const std::vector<CommandTime> times = compiled_->Times();
    const int64_t end = profile.Now();
    uint64_t length = 0;
    for (const CommandTime& time : times) length = std::max(length, time.start_ns + time.duration_ns);
    const int64_t begin = end - static_cast<int64_t>(length);
    for (size_t i = 0; i < times.size() && i < names_.size(); ++i) {
      const int64_t start = begin + static_cast<int64_t>(times[i].start_ns);
      profile.Add(names_[i].c_str(), start, start + static_cast<int64_t>(times[i].duration_ns), "device");
    }
  } catch (const std::exception&) {
    // Missing times are no reason to fail the run.
  }
}

PreparedReplay::PreparedReplay(CompiledGraph& graph, const kit::Threads& threads) {
  std::shared_ptr<const LoadedProgram> program = graph.StaticProgram();
  if (program == nullptr) return;
  try {
    replay_ = std::make_unique<Replay>(std::move(program), graph, threads, false);
  } catch (const kit::Error& error) {
    if (error.code() != EP_STATUS_OUT_OF_MEMORY) throw;
  }
}

std::unique_ptr<Replay> PreparedReplay::Take(const std::string& signature) {
  const std::lock_guard lock(mutex_);
  if (replay_ == nullptr || replay_->loaded().signature != signature) return nullptr;
  return std::move(replay_);
}

void ReplaySet::Execute(CompiledGraph& graph, const kit::Run& run, const kit::DeviceRuns& device_runs,
                        const kit::Threads& threads, PreparedReplay& prepared) {
  Stream* stream = nullptr;
  if (device_runs) {
    stream = &kit::StreamOf<DeviceStream>(device_runs.Stream(run.handle())).stream();
    if (stream->device() != graph.device())
      kit::FailWith(EP_STATUS_DEVICE_RESET, "the Vulkan device ", graph.device()->info().name,
                    " was lost; make a new session");
  } else {
    if (own_stream_ == nullptr) own_stream_ = std::make_unique<Stream>(graph.device());
    stream = own_stream_.get();
  }
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
    // A prepared replay records no timestamps, so a profiled run discards it and makes its own.
    std::unique_ptr<Replay> replay = prepared.Take(signature_);
    if (profiled) replay.reset();
    const auto make = [&] {
      replay = std::make_unique<Replay>(graph.ProgramFor(signature_, inputs_), graph, threads, profiled);
    };
    try {
      if (replay == nullptr) make();
    } catch (const kit::Error& error) {
      if (error.code() != EP_STATUS_OUT_OF_MEMORY || replays_.empty()) throw;
      replays_.clear();  // frees the memory of replays for other shapes
      make();
    }
    replays_.insert(replays_.begin(), std::move(replay));
  }
  replays_[0]->Run(run, device_runs, *stream);
}

}  // namespace epiphyte::vulkan
