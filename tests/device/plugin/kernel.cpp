#include "tests/device/plugin/kernel.h"

#include <algorithm>
#include <string>
#include <utility>

#include "epiphyte/ep_run_limits.h"
#include "tests/device/plugin/control.h"

namespace epiphyte::test::device {
namespace {

// On a host without devices, kernels use host memory and are synchronous.
Options Adapt(Options options, bool has_devices) {
  if (has_devices) return options;
  options.memories = EP_MEMORIES_HOST;
  options.is_async = false;
  return options;
}

uint64_t BytesOf(EpElementType type, const Dims& dims) { return CountOf(dims) * SizeOf(type); }

bool Overlap(const std::byte* a, uint64_t a_size, const std::byte* b, uint64_t b_size) {
  const auto begin_a = reinterpret_cast<uint64_t>(a), begin_b = reinterpret_cast<uint64_t>(b);
  return begin_a < begin_b + b_size && begin_b < begin_a + a_size;
}

// Counts the users of something while it exists; `others` is the number of users that were there before.
struct Turn {
  explicit Turn(std::atomic<int>& its_count) : count(its_count), others(count++) {}
  ~Turn() { --count; }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  std::atomic<int>& count;
  const int others;
};

Dims DimsIn(const EpTensorView& view) { return view.rank == 0 ? Dims{} : Dims(view.dims, view.dims + view.rank); }

}  // namespace

struct Kernel::Call {
  EpRun* run = nullptr;
  EpRunInfo info = {};
  std::shared_ptr<Stream> stream;  // stream of an asynchronous run; null otherwise
  std::vector<Dims> dims;          // shape of each value
  std::vector<Place> places;       // place of each value
  std::vector<Use> uses;
  std::vector<uint64_t> addresses;  // addresses and shapes of the values that the host placed
};

struct Kernel::InUse {
  InUse(std::shared_ptr<Kernel> its_kernel, std::shared_ptr<State> its_state)
      : kernel(std::move(its_kernel)),
        state(std::move(its_state)),
        found_state_free(state == nullptr || state->users.fetch_add(1) == 0) {
    ++kernel->users_;
  }
  ~InUse() {
    if (state != nullptr) --state->users;
    --kernel->users_;
  }
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;

  const std::shared_ptr<Kernel> kernel;
  const std::shared_ptr<State> state;  // may be null
  const bool found_state_free;
};

Kernel::Kernel(Machine& machine, const Options& options, std::shared_ptr<std::atomic<int>> executing, uint32_t device,
               Program program)
    : machine_(machine),
      device_runs_(machine.host()),
      options_(Adapt(options, static_cast<bool>(device_runs_))),
      executing_(std::move(executing)),
      device_(device),
      program_(std::move(program)) {
  const std::vector<bool> host_inputs = HostInputsOf(program_);
  for (size_t i = 0; i < program_.inputs.size(); ++i) {
    input_memories_.push_back(options_.memories | (host_inputs[i] ? EP_MEMORIES_HOST : 0));
  }
  output_memories_.assign(program_.outputs.size(), options_.memories);
  aliases_ = AliasesOf(program_, options_.aliases);
}

void Kernel::Describe(EpKernelInfo* info) const {
  if (!EP_HAS_FIELD(info, EpKernelInfo, output_aliases)) {
    throw kit::Error(EP_STATUS_INVALID_ARGUMENT, "EpKernelInfo is too short");
  }
  info->struct_size = std::min<uint32_t>(info->struct_size, sizeof *info);
  if (options_.is_exclusive) info->flags |= EP_KERNEL_EXCLUSIVE;
  if (!IsOnDevice()) return;
  if (options_.is_async) info->flags |= EP_KERNEL_ASYNC;
  info->device = machine_.HasFault("unknown_device") ? 9 : device_;
  info->input_count = static_cast<uint32_t>(input_memories_.size());
  info->output_count = static_cast<uint32_t>(output_memories_.size());
  info->input_memories = input_memories_.data();
  info->output_memories = output_memories_.data();
  if (!options_.adopts) info->output_aliases = aliases_.data();
  static constexpr uint32_t kMemory7 = 1u << 8;
  static constexpr int32_t kInput99 = 99;
  if (machine_.HasFault("unknown_memory")) {
    info->output_memories = &kMemory7;
    info->output_count = 1;
  }
  if (machine_.HasFault("bad_alias")) {
    info->output_aliases = &kInput99;
    info->output_count = 1;
  }
}

void Kernel::Execute(const std::shared_ptr<State>& state, EpRun* run) {
  ++Control().executes;
  const Turn turn_of_provider(*executing_);
  if (options_.is_exclusive && turn_of_provider.others != 0) {
    Complain("Execute of an EXCLUSIVE kernel while another of its provider executes");
  }
  Call call;
  call.run = run;
  call.info.struct_size = sizeof call.info;
  kit::ThrowIfFailed(host(), host().run->GetInfo(run, &call.info));
  const InUse while_it_runs(shared_from_this(), state);
  const bool is_state_free = while_it_runs.found_state_free;
  if (!is_state_free) Complain("Execute with a state that another Execute, or submitted work, is using");

  if (options_.is_async) GetStream(call);
  std::optional<StreamTurn> turn;
  if (call.stream != nullptr) turn.emplace(*call.stream, "Execute");
  TakeInputs(call);
  if (machine_.HasFault("output_missing")) return;
  MakeOutputs(call);
  LookAtBinding(call);
  std::unique_ptr<Work> work = MakeWork(call, state, is_state_free);
  if (call.stream != nullptr) {
    machine_.Submit(*call.stream, std::move(work));
  } else {
    machine_.SubmitAndWait(device_, std::move(work));
  }
}

void Kernel::GetStream(Call& call) const {
  call.stream = Machine::FindStream(device_runs_.Stream(call.run), "Execute");
  if (call.stream == nullptr) throw kit::Error(EP_STATUS_INVALID_ARGUMENT, "the run's stream is none");
  if (&call.stream->machine != &machine_ || call.stream->device.index != device_) {
    Complain("Execute with a stream of another device");
    throw kit::Error(EP_STATUS_INVALID_ARGUMENT, "the run's stream is another device's");
  }
  machine_.CheckStream(*call.stream);
}

Place Kernel::Locate(Call& call, const EpTensorView& view, uint32_t memories, bool is_written,
                     const std::string& what) const {
  const auto complain = [&](const std::string& why) { Complain("'" + program_.Title() + "': " + what + " " + why); };
  const auto refuse = [&](const std::string& why) {
    complain(why);
    throw kit::Error(EP_STATUS_INVALID_ARGUMENT, what + " " + why);
  };
  Place place = {nullptr, DimsIn(view)};
  const auto note_address = [&](uint64_t address, uint64_t offset) {
    call.addresses.insert(call.addresses.end(), {address, offset, place.dims.size()});
    for (int64_t dim : place.dims) call.addresses.push_back(static_cast<uint64_t>(dim));
  };
  if (view.byte_size != BytesOf(view.element_type, place.dims)) refuse("has another byte_size than its shape");
  if (view.buffer == nullptr) {
    if ((memories & EP_MEMORIES_HOST) == 0) complain("is in host memory, which DescribeKernel did not name");
    if (view.data == nullptr && view.byte_size != 0) refuse("has neither buffer nor data");
    place.data = static_cast<std::byte*>(const_cast<void*>(view.data));
    note_address(reinterpret_cast<uint64_t>(view.data), 0);
    return place;
  }
  if (view.data != nullptr) complain("has a buffer and data, too");
  const std::shared_ptr<Buffer> buffer = machine_.Find(view.buffer, what);
  if (view.device != buffer->device || view.memory != buffer->memory) complain("is not where its view says");
  if (buffer->device != device_) refuse("is on another device");
  if ((memories & (2u << buffer->memory)) == 0) {
    complain("is in memory " + std::to_string(buffer->memory) + ", which DescribeKernel did not name");
  }
  if (view.offset > buffer->size() || view.byte_size > buffer->size() - view.offset) refuse("ends beyond its buffer");
  if (view.offset % kAlignment != 0) complain("has offset " + std::to_string(view.offset));
  call.uses.push_back({buffer, view.offset, view.byte_size, is_written});
  place.data = buffer->data() + view.offset;
  note_address(reinterpret_cast<uint64_t>(view.buffer), view.offset);
  return place;
}

void Kernel::TakeInputs(Call& call) const {
  if (call.info.input_count != program_.inputs.size() || call.info.output_count != program_.outputs.size()) {
    throw kit::Error(EP_STATUS_INVALID_ARGUMENT, "the run has another number of inputs or outputs than the kernel");
  }
  for (uint32_t i = 0; i < call.info.input_count; ++i) {
    const std::string what = "input " + std::to_string(i);
    const EpValueView* const value = call.info.inputs[i];
    if (value == nullptr || value->tensor == nullptr || value->tensor->element_type != program_.inputs[i]) {
      throw kit::Error(EP_STATUS_INVALID_ARGUMENT, what + " is no tensor of the type that the graph declares");
    }
    call.places.push_back(Locate(call, *value->tensor, input_memories_[i], false, what));
    call.dims.push_back(call.places.back().dims);
  }
  call.dims = DimsOf(program_, call.dims);
  for (const ConstantTensor& constant : program_.constants) {
    call.places.push_back({const_cast<std::byte*>(constant.data.data()), constant.dims});
  }
  call.places.resize(program_.ValueCount());
}

void Kernel::MakeOutputs(Call& call) const {
  for (uint32_t i = 0; i < program_.outputs.size(); ++i) {
    const Dims& dims = call.dims[program_.outputs[i]];
    Place place = MakeOutput(call, i, dims);
    place.dims = dims;
    LookForOverlap(call, i, place);
    call.places[program_.outputs[i]] = std::move(place);
  }
}

Place Kernel::MakeOutput(Call& call, uint32_t index, const Dims& dims) const {
  if (!IsOnDevice()) {
    void* data = nullptr;
    kit::ThrowIfFailed(host(), host().run->AllocateOutput(call.run, index, EP_TYPE_FLOAT, dims.data(),
                                                          static_cast<uint32_t>(dims.size()), &data));
    return {static_cast<std::byte*>(data), {}};
  }
  for (const char* fault : {"adopt_null", "adopt_foreign", "adopt_short", "adopt_other_memory"}) {
    if (machine_.HasFault(fault)) return Adopt(call, index, dims);
  }
  if (options_.adopts && (options_.memories & ~EP_MEMORIES_HOST) != 0) return Adopt(call, index, dims);
  const EpElementType type = machine_.HasFault("other_type") ? EP_TYPE_INT32 : EP_TYPE_FLOAT;
  const EpTensorView* view = &device_runs_.Output(call.run, index, type, dims);
  if (machine_.HasFault("output_twice")) view = &device_runs_.Output(call.run, index, type, dims);
  const std::string what = "output " + std::to_string(index);
  if (DimsIn(*view) != dims) {
    Complain(what + " has another shape than was asked for");
    throw kit::Error(EP_STATUS_INVALID_ARGUMENT, what + " has another shape than was asked for");
  }
  return Locate(call, *view, output_memories_[index], true, what);
}

Place Kernel::Adopt(Call& call, uint32_t index, const Dims& dims) const {
  const uint32_t memory = (options_.memories & 2u) == 0 && (options_.memories & 4u) != 0 ? kShared : kArena;
  const bool is_short = machine_.HasFault("adopt_short");
  const uint64_t offset = is_short ? 0 : kAlignment;
  const uint64_t size = is_short ? 1 : offset + std::max<uint64_t>(BytesOf(EP_TYPE_FLOAT, dims), 1);
  const std::shared_ptr<Buffer> buffer = machine_.Allocate(device_, memory, size);
  EpBuffer* handle = buffer->handle();
  if (machine_.HasFault("adopt_null")) handle = nullptr;
  if (machine_.HasFault("adopt_foreign")) {
    const auto is_on_device = [](const EpValueView* input) { return input->tensor->buffer != nullptr; };
    const auto end = call.info.inputs + call.info.input_count;
    const auto found = std::find_if(call.info.inputs, end, is_on_device);
    if (found != end) handle = (*found)->tensor->buffer;
  }
  try {
    device_runs_.Adopt(call.run, index, EP_TYPE_FLOAT, dims, machine_.HasFault("adopt_other_memory") ? 9 : memory,
                       handle, size, offset);
  } catch (...) {
    machine_.Free(buffer->handle());
    throw;
  }
  if (handle != buffer->handle()) machine_.Free(buffer->handle());
  call.uses.push_back({buffer, offset, size - offset, true});
  return {buffer->data() + offset, {}};
}

void Kernel::LookForOverlap(const Call& call, uint32_t output, const Place& place) const {
  const uint64_t size = BytesOf(EP_TYPE_FLOAT, place.dims);
  for (uint32_t value = 0; value < call.places.size(); ++value) {
    const Place& other = call.places[value];
    const uint64_t other_size = other.data == nullptr ? 0 : BytesOf(program_.TypeOf(value), other.dims);
    if (size == 0 || other_size == 0 || !Overlap(place.data, size, other.data, other_size)) continue;
    if (static_cast<int64_t>(value) == aliases_[output] && other.data == place.data && other_size == size) continue;
    Complain("'" + program_.Title() + "': output " + std::to_string(output) + " is in the memory of value " +
             std::to_string(value));
  }
}

void Kernel::LookAtBinding(const Call& call) {
  if (call.info.binding == 0) return;
  TestDeviceControl& control = Control();
  ++control.bindings_seen;
  const std::lock_guard lock(mutex_);
  const auto [found, is_new] = bindings_.try_emplace(call.info.binding, call.addresses);
  if (is_new || found->second == call.addresses) return;
  ++control.bindings_broken;
  Complain("'" + program_.Title() + "': the addresses or shapes of binding " + std::to_string(call.info.binding) +
           " have changed");
}

std::unique_ptr<Work> Kernel::MakeWork(Call& call, const std::shared_ptr<State>& state, bool is_state_free) {
  uint64_t inside = 0;
  const uint32_t first = program_.FirstStep();
  const auto is_inside = [&](uint32_t value) { return std::ranges::count(program_.outputs, value) == 0; };
  for (uint32_t value = first; value < program_.ValueCount(); ++value) {
    if (is_inside(value)) inside += CountOf(call.dims[value]);
  }
  if (inside != 0) {
    const auto* limits = static_cast<const EpRunLimitsApi*>(host().GetExtension(&host(), EP_RUN_LIMITS_EXTENSION));
    if (limits != nullptr) kit::ThrowIfFailed(host(), limits->TakeMemory(call.run, inside * sizeof(float)));
  }
  auto own = std::make_shared<std::vector<float>>();
  std::vector<float>& scratch = options_.has_states && state != nullptr && is_state_free ? state->scratch : *own;
  scratch.resize(inside);
  float* next = scratch.data();
  for (uint32_t value = first; value < program_.ValueCount(); ++value) {
    if (!is_inside(value)) continue;
    call.places[value] = {reinterpret_cast<std::byte*>(next), call.dims[value]};
    next += CountOf(call.dims[value]);
  }
  auto work = std::make_unique<Work>();
  work->what = program_.Title();
  work->is_kernel = true;
  work->uses = std::move(call.uses);
  auto in_use = std::make_shared<InUse>(shared_from_this(), state);
  work->run = [in_use = std::move(in_use), own = std::move(own), places = std::move(call.places)] {
    Run(in_use->kernel->program_, places);
  };
  return work;
}

}  // namespace epiphyte::test::device
