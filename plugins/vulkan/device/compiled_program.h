// CompiledProgram: dispatches, and copies from and to the host around them, recorded once and replayed.
//
//     CommandList list;
//     list.commands.push_back({.shader = "copy.f32", .parameters = {n}, .bindings = {{x, Access::kRead}, {y, Access::kWrite}}, …});
//     list.inputs = {x};
//     list.outputs = {y};
//     CompiledProgram program(device, list);
//     program.Run(inputs, outputs);                       // as often as wanted; makes no Vulkan object
//
// Everything is a range of a buffer. Ranges may overlap: a command waits for an earlier one when they touch the same bytes
// and one of them writes, and for nothing else. Ranges of no bytes are allowed.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "plugins/vulkan/device/access.h"
#include "plugins/vulkan/device/device.h"

namespace epiphyte::vulkan {

// One run of a shader. Bindings are storage buffers 1, 2, …; buffer 0 holds `parameters`.
struct Command {
  struct Binding {
    BufferRange range;
    Access access = Access::kRead;
  };
  std::string shader;
  std::vector<uint32_t> specialization;  // constants 0, 1, …
  std::vector<uint32_t> parameters;
  std::vector<Binding> bindings;
  std::array<uint32_t, 3> groups = {1, 1, 1};
  uint64_t work = 0;  // multiply-adds or elements: a run is divided into submissions of about as much work
};

struct CommandList {
  std::vector<Command> commands;
  std::vector<BufferRange> inputs;   // where Run puts what the host gives, before the commands
  std::vector<BufferRange> outputs;  // what Run gives the host, after them
};

struct CompileOptions {
  bool profile = false;           // take timestamps of each command
  uint64_t submission_work = 0;   // of one submission; 0: by the kind of device
  // Calls body(0), …, body(count - 1), on several threads if it likes: to compile pipelines. Empty: one after the other.
  std::function<void(size_t count, const std::function<void(size_t)>& body)> parallel_for;
};

struct CommandTime {
  uint64_t start_ns = 0;  // since the first command's start
  uint64_t duration_ns = 0;
};

struct RunOptions {
  // Asked between submissions: whether to give up. Run then throws CANCELED, once nothing is under way any more.
  std::function<bool()> cancelled;
  // Filled with one time per command, in order, when the program was compiled with `profile`.
  std::vector<CommandTime>* times = nullptr;
};

struct ProgramRecords;

// Its memory is one: of several runs at once each waits for its turn. For more, compile several with buffers of their own.
// [any thread]
class CompiledProgram {
 public:
  CompiledProgram(std::shared_ptr<Device> device, const CommandList& list, const CompileOptions& options = {});
  ~CompiledProgram();
  CompiledProgram(const CompiledProgram&) = delete;
  CompiledProgram& operator=(const CompiledProgram&) = delete;

  // One piece of memory for each of the list's inputs and outputs, of exactly its size; inputs are only read. An output
  // whose pointer is null isn't copied. Returns when all is done; sleeps while it waits.
  void Run(std::span<const void* const> inputs, std::span<void* const> outputs, const RunOptions& options = {});

  size_t submission_count() const;
  size_t barrier_count() const;  // recorded, for tests and reports
  const std::shared_ptr<Device>& device() const { return device_; }

 private:
  std::shared_ptr<Device> device_;
  std::unique_ptr<ProgramRecords> records_;
  std::mutex mutex_;
};

}  // namespace epiphyte::vulkan
