#include <algorithm>
#include <chrono>
#include <limits>

#include "plugins/npu/simulator/sdk/objects.h"
#include "plugins/npu/simulator/sdk/status.h"

using epiphyte::npusim::BlobIo;
using epiphyte::npusim::CurrentFailure;
using epiphyte::npusim::CycleCounters;
using epiphyte::npusim::Device;
using epiphyte::npusim::ExternalMemory;
using epiphyte::npusim::Failure;
using epiphyte::npusim::Require;
using epiphyte::npusim::SdkError;
using epiphyte::npusim::Turns;

NsdkExecution::NsdkExecution(NsdkProgram& program, uint32_t graph)
    : program_(program),
      index_(graph),
      graph_(program.blob.graphs[graph]),
      device_(std::in_place, program.context->settings.config),
      own_scratch_(program.scratch == nullptr ? graph_.scratch_size : 0),
      inputs_(graph_.inputs.size()),
      outputs_(graph_.outputs.size()) {}

NsdkExecution::~NsdkExecution() {
  if (thread_.joinable()) thread_.join();
}

void NsdkExecution::Bind(uint32_t direction, uint32_t index, const NsdkBinding& binding) {
  Require(direction == NSDK_INPUT || direction == NSDK_OUTPUT,
          "direction is " + std::to_string(direction) + ", expected 0 (input) or 1 (output)");
  const bool output = direction == NSDK_OUTPUT;
  const std::vector<BlobIo>& ios = output ? graph_.outputs : graph_.inputs;
  const std::string kind = output ? "output " : "input ";
  Require(index < ios.size(),
          "there is no " + kind + std::to_string(index) + ", the graph has " + std::to_string(ios.size()));
  const std::string what = kind + "'" + ios[index].name + "'";
  Require(binding.size >= ios[index].size, what + " is bound to " + std::to_string(binding.size) +
                                               " bytes, expected at least " + std::to_string(ios[index].size));
  std::byte* address = nullptr;
  if (binding.memory != nullptr) {
    const NsdkMemory& memory = *binding.memory;
    Require(binding.host_address == nullptr, what + ": there are a memory and a host address, expected one of them");
    Require(binding.offset <= memory.size && binding.size <= memory.size - binding.offset,
            what + ": offset " + std::to_string(binding.offset) + " + size " + std::to_string(binding.size) +
                " goes beyond the memory's " + std::to_string(memory.size) + " bytes");
    Require(!output || memory.writable, what + ": the memory can only be read, expected a descriptor opened for both");
    address = memory.address + binding.offset;
  } else {
    Require(binding.host_address != nullptr, what + ": neither a memory nor a host address is given");
    const uint64_t room = std::numeric_limits<uintptr_t>::max() - reinterpret_cast<uintptr_t>(binding.host_address);
    Require(binding.offset <= room && binding.size <= room - binding.offset,
            what + ": address, offset and size go beyond the end of the address space");
    address = static_cast<std::byte*>(binding.host_address) + binding.offset;
  }
  const std::lock_guard lock(mutex_);
  Require(state_ == State::kIdle, "the execution is running", NSDK_BUSY);
  (output ? outputs_ : inputs_)[index] = {true, address};
}

void NsdkExecution::Begin() {
  const std::lock_guard lock(mutex_);
  Require(state_ == State::kIdle, "the execution is running", NSDK_BUSY);
  for (size_t i = 0; i < inputs_.size(); ++i) {
    Require(inputs_[i].bound, "input '" + graph_.inputs[i].name + "' isn't bound");
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    Require(outputs_[i].bound, "output '" + graph_.outputs[i].name + "' isn't bound");
  }
  state_ = State::kRunning;
}

void NsdkExecution::Finish(bool finished) {
  const std::lock_guard lock(mutex_);
  state_ = State::kIdle;
  ever_finished_ = ever_finished_ || finished;
  over_.notify_all();
}

void NsdkExecution::Execute(const NsdkTask* task) {
  using Clock = std::chrono::steady_clock;
  std::vector<const std::byte*> inputs;
  std::vector<std::byte*> outputs;
  for (const Bound& bound : inputs_) inputs.push_back(bound.address);
  for (const Bound& bound : outputs_) outputs.push_back(bound.address);
  std::function<bool(size_t)> go_on;
  const double total = static_cast<double>(std::max<size_t>(1, graph_.program.size()));
  Clock::time_point next = Clock::now();
  if (task != nullptr && task->progress != nullptr) {
    go_on = [&](size_t done) {
      if (Clock::now() < next) return true;
      next = Clock::now() + std::chrono::milliseconds(20);
      return task->progress(task->user, static_cast<double>(done) / total, "running") == 0;
    };
  }
  std::byte* scratch = own_scratch_.data();
  std::optional<Turns::Turn> turn;
  if (program_.scratch != nullptr) {
    turn.emplace(program_.scratch->turns, program_.priority, [&] { return !go_on || go_on(0); });
    Require(static_cast<bool>(*turn), "the run was cancelled", NSDK_CANCELLED);
    scratch = program_.scratch->memory.data();
  }
  const ExternalMemory memory{program_.blob.weights.data(), scratch, inputs, outputs};
  if (!device_->Run(graph_.program, memory, go_on)) throw SdkError(NSDK_CANCELLED, "the run was cancelled");
}

void NsdkExecution::Run(const NsdkTask* task) {
  Begin();
  try {
    Execute(task);
  } catch (...) {
    Finish(false);
    throw;
  }
  Finish(true);
}

void NsdkExecution::Start(void (*done)(void* user, NsdkStatus status), void* user) {
  Begin();
  try {
    // The thread of an earlier run only has to end.
    if (thread_.joinable()) thread_.join();
    thread_ = std::thread([this, done, user] {
      Failure failure;
      try {
        Execute(nullptr);
      } catch (...) {
        failure = CurrentFailure();
      }
      const NsdkStatus status = failure.status;
      {
        const std::lock_guard lock(mutex_);
        started_ = std::move(failure);
      }
      // For wait, the run is over only after done has returned.
      if (done != nullptr) done(user, status);
      Finish(status == NSDK_OK);
    });
    const std::lock_guard lock(mutex_);
    ever_started_ = true;
  } catch (...) {
    Finish(false);
    throw;
  }
}

Failure NsdkExecution::Wait() {
  std::unique_lock lock(mutex_);
  Require(ever_started_, "no run was started with run_async");
  over_.wait(lock, [&] { return state_ == State::kIdle; });
  return started_;
}

CycleCounters NsdkExecution::Counters() {
  {
    const std::lock_guard lock(mutex_);
    Require(state_ == State::kIdle, "the execution is running", NSDK_BUSY);
    if (!ever_finished_) return {};
  }
  return program_.CountersOf(index_);
}
