// HostProgram: a compiled program for tests. Its inputs come from host memory and its outputs go there.
//
//     HostList list;
//     list.commands = {…};
//     list.inputs = {a};
//     list.outputs = {b};
//     HostProgram program(device, list);
//     program.Run(inputs, outputs);
#pragma once

#include <functional>
#include <mutex>
#include <span>
#include <vector>

#include "plugins/vulkan/device/compiled_program.h"

namespace epiphyte::vulkan {

struct HostList : CommandList {
  std::vector<BufferRange> inputs;
  std::vector<BufferRange> outputs;
};

struct RunOptions {
  std::function<bool()> cancelled;
  std::vector<CommandTime>* times = nullptr;
};

class HostProgram {
 public:
  HostProgram(const std::shared_ptr<Device>& device, const HostList& list, const CompileOptions& options = {})
      : inputs_(list.inputs), outputs_(list.outputs), stream_(device), program_(device, list, options) {}

  size_t submission_count() const { return program_.submission_count(); }
  size_t barrier_count() const { return program_.barrier_count(); }
  CompiledProgram& program() { return program_; }
  Stream& stream() { return stream_; }

  // Runs the program and returns when the outputs are in host memory.
  void Run(std::span<const void* const> inputs, std::span<void* const> outputs, const RunOptions& options = {}) {
    const std::lock_guard lock(mutex_);
    std::vector<StreamCopy> in, out;
    for (size_t i = 0; i < inputs.size(); ++i)
      if (inputs_[i].size > 0)
        in.push_back({{nullptr, 0, const_cast<void*>(inputs[i])},
                      {inputs_[i].buffer.get(), inputs_[i].offset},
                      inputs_[i].size});
    for (size_t i = 0; i < outputs.size(); ++i)
      if (outputs_[i].size > 0)
        out.push_back({{outputs_[i].buffer.get(), outputs_[i].offset}, {nullptr, 0, outputs[i]}, outputs_[i].size});
    stream_.Copy(in);
    program_.Submit(stream_, {}, {.cancelled = options.cancelled});
    stream_.Copy(out);
    stream_.Synchronize(stream_.Signal());
    if (options.times != nullptr) *options.times = program_.Times();
  }

 private:
  const std::vector<BufferRange> inputs_;
  const std::vector<BufferRange> outputs_;
  Stream stream_;
  CompiledProgram program_;
  std::mutex mutex_;
};

}  // namespace epiphyte::vulkan
