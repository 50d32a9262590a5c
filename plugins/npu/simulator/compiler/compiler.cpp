#include "plugins/npu/simulator/compiler/compiler.h"

#include <algorithm>

#include "plugins/npu/simulator/compiler/lower.h"
#include "plugins/npu/simulator/compiler/plan.h"
#include "plugins/npu/simulator/isa/encoding.h"
#include "plugins/npu/simulator/isa/footprint.h"

namespace epiphyte::npusim {
namespace {

std::vector<BlobIo> IosOf(const Graph& graph, const std::vector<uint32_t>& tensors) {
  std::vector<BlobIo> ios;
  for (const uint32_t index : tensors) {
    const Tensor& tensor = graph.tensors[index];
    CheckSize(tensor);
    if (tensor.scales.size() > 1) {
      throw Unsupported("\"" + tensor.name + "\" has a scale for each channel, inputs and outputs have one");
    }
    ios.push_back({tensor.name, tensor.type, tensor.dims, tensor.scales.empty() ? 0 : tensor.Scale(),
                   tensor.ZeroPoint(), static_cast<uint64_t>(tensor.Elements()) * ElementSize(tensor.type)});
  }
  return ios;
}

uint32_t PeakOf(const std::vector<Command>& program, const std::function<void()>& tick) {
  int64_t peak = 0;
  for (size_t i = 0; i < program.size(); ++i) {
    if (i % 4096 == 0) tick();
    ForEachAccess(program[i].work, [&](const Access& access) {
      if (access.space == Space::kScratchpad) peak = std::max(peak, static_cast<int64_t>(access.End()));
    });
  }
  return static_cast<uint32_t>(peak);
}

}  // namespace

CompiledGraph Compile(const NsdkGraph& nsdk_graph, const CompileOptions& options) {
  CheckConfig(options.config);
  double least = 0;
  const auto tick = [&](double done, const char* text) {
    least = std::max(least, done);
    if (options.progress && !options.progress(least, text)) throw Cancelled();
  };
  const auto reading = [&] { tick(0, "reading the graph"); };
  const auto writing = [&] { tick(0.8, "writing the program"); };
  const Graph graph = CopyGraph(nsdk_graph, /*with_data=*/true, reading);
  CompiledGraph compiled;
  compiled.name = graph.name;
  compiled.inputs = IosOf(graph, graph.inputs);
  compiled.outputs = IosOf(graph, graph.outputs);
  for (const Op& op : graph.ops) compiled.op_names.push_back(op.name);
  if (compiled.op_names.empty()) compiled.op_names.push_back("copy");

  Lowered lowered = Lower(graph, options.config, options.fusion, reading);
  const Plan plan = MakePlan(lowered, options.config, options.effort, options.fusion,
                             [&](double done) { tick(0.8 * done, "looking for the fastest program"); });
  compiled.program = EmitPlan(lowered, plan, options.config, &lowered.weights, writing);
  compiled.scratch_size = plan.scratch_size;
  compiled.scratchpad_peak = PeakOf(compiled.program, writing);
  compiled.weights = lowered.weights.Make([&](uint64_t done, uint64_t of) {
    tick(0.8 + 0.15 * static_cast<double>(done) / static_cast<double>(of), "packing weights");
  });

  // The output must pass the reader's checks.
  RegionSizes regions{.weights = lowered.weights.size(), .scratch = compiled.scratch_size};
  for (const BlobIo& io : compiled.inputs) regions.inputs.push_back(io.size);
  for (const BlobIo& io : compiled.outputs) regions.outputs.push_back(io.size);
  Verify(compiled.program, options.config, regions, [&] { tick(0.95, "verifying the program"); });
  tick(1, "done");
  return compiled;
}

void CheckOp(const NsdkGraph& nsdk_graph, uint32_t op, const Config& config) {
  const Graph graph = CopyOp(nsdk_graph, op);
  CheckFits(Lower(graph, config, false), config);
}

}  // namespace epiphyte::npusim
