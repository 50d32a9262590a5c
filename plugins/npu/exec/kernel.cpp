#include "plugins/npu/exec/kernel.h"

#include <algorithm>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/abi/profile.hpp"
#include "epiphyte/kit/shape/dims.hpp"
#include "epiphyte/kit/shape/element_type.hpp"

namespace epiphyte::npu {
namespace {

void CheckInput(const EpTensorView& given, const Port& expected) {
  const std::span<const int64_t> dims(given.dims, given.rank);
  if (given.element_type == expected.type && std::ranges::equal(dims, expected.dims)) return;
  kit::FailArgument("input '", expected.name, "' is ", kit::TypeName(given.element_type), kit::ShapeText(dims),
                    ", and the NPU was compiled for ", kit::TypeName(expected.type), kit::ShapeText(expected.dims));
}

// Example: "main_0: 123456 cycles, 71 % of them multiply, 2048 beats read, 128 written".
std::string Summary(const std::string& name, const NsdkCounters& counters) {
  const uint64_t total = std::max<uint64_t>(counters.npu_total_cycles, 1);
  const double busy = 100.0 * static_cast<double>(counters.mac_active_cycles) / static_cast<double>(total);
  return kit::TextOf(name, ": ", counters.npu_total_cycles, " cycles, ", static_cast<int64_t>(busy),
                     " % of them multiply, ", counters.axi_read_beats, " beats read, ", counters.axi_write_beats,
                     " written");
}

}  // namespace

const LoadedGraph& LazyGraph::Get() {
  const std::lock_guard lock(mutex_);
  if (!loaded_) {
    loaded_ = load_();
    load_ = nullptr;
  }
  return *loaded_;
}

NpuKernel::NpuKernel(std::string name, std::vector<Port> inputs, std::vector<Port> outputs,
                     std::shared_ptr<LazyGraph> graph, bool is_exclusive)
    : name_(std::move(name)),
      inputs_(std::move(inputs)),
      outputs_(std::move(outputs)),
      graph_(std::move(graph)),
      is_exclusive_(is_exclusive) {}

void NpuKernel::Execute(const kit::Run& run, RunState& state) {
  const LoadedGraph& loaded = graph_->Get();
  // A blob may ask for any amount of scratch memory, which counts as memory of the run that uses it.
  kit::RunLimits(run.host()).Take(run, loaded.program->info().graphs[loaded.graph].scratch_bytes);
  if (state.execution == nullptr) {
    state.execution = std::make_unique<Execution>(loaded.program, loaded.graph);
  }
  Execution& execution = *state.execution;
  const uint64_t stable = run.info().binding;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const EpTensorView& input = run.input(i);
    CheckInput(input, inputs_[i]);
    // The device only reads inputs.
    execution.Bind(NSDK_INPUT, static_cast<uint32_t>(i), {const_cast<void*>(input.data), inputs_[i].bytes, stable});
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    void* const data = run.Output<void>(static_cast<uint32_t>(i), outputs_[i].type, outputs_[i].dims);
    execution.Bind(NSDK_OUTPUT, static_cast<uint32_t>(i), {data, outputs_[i].bytes, stable});
  }
  const kit::Profile profile(run.host(), run.handle());
  const int64_t began = profile.Now();
  execution.Run([&run] { return run.IsCancelled(); });
  if (!profile) return;
  const std::optional<NsdkCounters> counters = execution.Counters();
  profile.Add((counters ? Summary(name_, *counters) : name_).c_str(), began, profile.Now(), "npu");
}

}  // namespace epiphyte::npu
