// CompiledProgram: dispatches and copies on a device, recorded once and replayed.
//
//     CommandList list;
//     list.slots = {bytes_of_x};                   // ranges that are given at each Submit
//     list.commands.push_back({.shader = "copy.f32", .parameters = {n},
//                              .bindings = {{.access = Access::kRead, .slot = 0}, {y, Access::kWrite}}, …});
//     CompiledProgram program(device, list);
//     program.Submit(stream, {{x}});               // as often as wanted; makes no Vulkan object
//
// Everything is a range of a buffer. Ranges may overlap: a command waits for an earlier one when they touch the same
// bytes and one of them writes, and for nothing else. Ranges of no bytes are allowed.
//
// A recording contains the memory that its commands use, so there is one for each recent combination of ranges in the
// slots. A new combination is recorded in place of the one that was used longest ago.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "plugins/vulkan/device/commands.h"
#include "plugins/vulkan/device/stream.h"

namespace epiphyte::vulkan {

struct CompileOptions {
  bool profile = false;           // take timestamps of each command
  uint64_t submission_work = 0;   // work of one submission; 0: the kind of device decides
  std::shared_ptr<MemoryLimit> limit;  // limit for the program's memory; null: none
  // Calls body(0), …, body(count - 1), possibly on several threads, to compile pipelines. Empty: they are compiled one
  // after the other.
  std::function<void(size_t count, const std::function<void(size_t)>& body)> parallel_for;
};

struct SubmitOptions {
  // Asked between submissions whether to give up. If so, Submit throws CANCELED; what it has submitted goes on.
  std::function<bool()> cancelled;
};

struct ProgramParts;  // vk_recording.h
class Recording;

// A command list recorded for one device. It has a single memory, so Submit waits until the previous submission is
// done. [any thread]
class CompiledProgram {
 public:
  CompiledProgram(std::shared_ptr<Device> device, const CommandList& list, const CompileOptions& options = {});
  // Waits until nothing that it submitted is under way.
  ~CompiledProgram();
  CompiledProgram(const CompiledProgram&) = delete;
  CompiledProgram& operator=(const CompiledProgram&) = delete;

  // Submits the program. `slots` have the sizes that the list gives, and begin where bindings can. Only few submissions
  // are under way at a time, and Submit waits for earlier ones, so that a long run can be cancelled. Throws what the
  // stream throws.
  void Submit(Stream& stream, std::span<const BufferRange> slots = {}, const SubmitOptions& options = {});
  // Times of the last Submit, which must be done: one per command, in order; empty without `profile`. Do not call it
  // while another thread submits.
  std::vector<CommandTime> Times() const;

  size_t submission_count() const;
  size_t barrier_count() const;    // barriers of the last recording, for tests and reports
  size_t recording_count() const;  // number of recordings that are kept
  const std::shared_ptr<Device>& device() const { return device_; }

 private:
  Recording& RecordingFor(std::span<const BufferRange> slots);
  void CheckSlots(std::span<const BufferRange> slots) const;

  const std::shared_ptr<Device> device_;
  const std::unique_ptr<ProgramParts> parts_;
  mutable std::mutex mutex_;                            // guards the members below
  std::vector<std::unique_ptr<Recording>> recordings_;  // most recently used first
  std::vector<uint64_t> key_;                           // kept, so that a steady run allocates nothing
};

}  // namespace epiphyte::vulkan
