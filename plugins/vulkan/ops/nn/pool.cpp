// MaxPool, AveragePool and LpPool of one to three dimensions, and their global forms; and the kit's QLinearAveragePool.
#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "epiphyte/kit/fuse/operators.hpp"
#include "epiphyte/kit/shape/axes.hpp"
#include "epiphyte/kit/shape/pool.hpp"
#include "plugins/vulkan/ops/nn/spatial.h"
#include "plugins/vulkan/ops/quantized/quantization.h"
#include "plugins/vulkan/ops/recording.h"
#include "plugins/vulkan/ops/reduce/reduction.h"
#include "plugins/vulkan/ops/shader_numbers.h"

namespace epiphyte::vulkan {
namespace {

enum class Pool : uint32_t {
  kMaximum = shader::kPoolMaximum,
  kAverage = shader::kPoolAverage,
  kNorm = shader::kPoolNorm,
};

std::string CheckPool(const NodeCheck& check) { return CheckSpatial(check); }

// Throws if positions don't fit the shader's signed 32-bit integers.
void CheckRange(const kit::Window& window, const Dims& x) {
  constexpr int64_t kMost = 1 << 29;
  for (size_t d = 0; d < window.kernel.size(); ++d) {
    const int64_t reach =
        std::max({x[d + 2], window.kernel[d] * window.dilations[d], window.strides[d], window.pads_begin[d],
                  -window.pads_begin[d], window.pads_end[d], -window.pads_end[d]});
    if (reach > kMost)
      kit::FailWith(EP_STATUS_NOT_IMPLEMENTED, "a window that reaches ", reach, " elements; at most ", kMost,
                    " can be counted by this provider");
  }
}

constexpr std::string_view kQuantized = "pool_quantized";

// Adds output 0 and the dispatch. `numbers` are the words of p[] behind those of the window (shaders/pool.comp).
void AddPool(Recording& r, Pool pool, bool global, std::string shader, std::span<const float> numbers) {
  const ir::Node& node = r.node();
  const Dims x = r.InputDims(0);
  CheckRank(x);
  const auto attributes = kit::PoolAttributes::Read(node, global);
  const kit::Window window = attributes.Resolve(x);
  CheckRange(window, x);
  const Dims dims = window.OutputDims(x[0], x[1]);
  const EpElementType type = r.InputType(0);
  const int32_t y = r.Output(0, type, dims);
  const bool with_indices = r.HasOutput(1);
  const int32_t indices = with_indices ? r.Output(1, EP_TYPE_INT64, dims) : -1;

  Dims end;
  for (size_t d = 0; d < window.kernel.size(); ++d) end.push_back(x[d + 2] + window.pads_end[d]);
  std::vector<uint32_t> words = {Word(x[0] * x[1])};
  const auto add = [&](std::span<const int64_t> numbers, int64_t fallback) {
    for (const int64_t number : Spatial3(numbers, fallback)) words.push_back(Word(number));
  };
  add(std::span<const int64_t>(x).subspan(2), 1);
  add(window.output, 1);
  add(window.kernel, 1);
  add(window.strides, 1);
  add(window.dilations, 1);
  add(window.pads_begin, 0);
  add(end, 1);
  for (const float number : numbers) words.push_back(Word(number));
  // The shader adds bytes eight at a time.
  const auto kernel = Spatial3(window.kernel, 1);
  const int64_t of_row = kQuantized == shader ? kernel[2] / 8 + 7 : kernel[2];
  const auto passes = static_cast<uint64_t>(kernel[0] * (1 + kernel[1] * (1 + of_row)));
  std::vector<Binding> bindings = {r.Read(0), Recording::Write(y)};
  if (with_indices) bindings.push_back(Recording::Write(indices));
  if (with_indices) shader += "_indices";
  r.Add({.shader = Recording::ShaderFor(shader, type),
         .specialization = {static_cast<uint32_t>(pool), attributes.column_major ? 1u : 0u,
                            attributes.include_pad ? 1u : 0u},
         .parameters = std::move(words),
         .bindings = std::move(bindings),
         .groups = r.GroupsFor(dims.Count()),
         .work = static_cast<uint64_t>(dims.Count()) * static_cast<uint64_t>(window.kernel.Count()),
         .passes = passes});
}

// The exponent of an LpPool, which is a float in version 1.
float ExponentOf(const ir::Node& node) {
  return node.since_version < 2 ? node.Float("p", 2) : static_cast<float>(node.Int("p", 2));
}

template <Pool kPool, bool kGlobal>
void RecordPool(Recording& r) {
  AddPool(r, kPool, kGlobal, "pool", std::array{kPool == Pool::kNorm ? ExponentOf(r.node()) : 0.0f});
}

std::string CheckQuantizedAverage(const NodeCheck& check) {
  const std::string why = CheckQuantizedEnds(check.node(), 1);
  return why.empty() ? CheckPool(check) : why;
}

void RecordQuantizedAverage(Recording& r) {
  const QuantizedEnds ends(r.node(), r.InputType(0));
  const MapQuantization &x = ends.quantizations[0], &y = ends.quantizations[1];
  AddPool(r, Pool::kAverage, r.node().Int("global", 0) != 0, std::string(kQuantized),
          std::array{x.scale, y.scale, x.zero, y.zero, static_cast<float>(ends.bounds.low),
                     static_cast<float>(ends.bounds.high)});
}

// Reduces all dimensions behind batch and channels.
template <Reduction::Combine kCombine, Reduction::Finish kFinish>
void RecordGlobalPool(Recording& r) {
  const Dims x = r.InputDims(0);
  if (x.size() < 3) kit::FailArgument("input of rank ", x.size(), "; at least 3 expected");
  std::vector<bool> reduced(x.size(), true);
  reduced[0] = reduced[1] = false;
  const int32_t y = r.Output(0, r.InputType(0), kit::ReducedDims(x, reduced, true));
  AddReduction(r, {.combine = kCombine, .finish = kFinish}, r.InputTensor(0), x, reduced, y);
}

}  // namespace

void Register_pool(OperatorTable& table) {
  using Combine = Reduction::Combine;
  using Finish = Reduction::Finish;
  const auto add = [&](std::string_view op_type, kit::TypeSet types, void (*record)(Recording&)) {
    table.Add({.op_type = op_type, .types = types, .check = CheckPool, .record = record});
  };
  add("MaxPool", kDeviceFloats | kit::Types(EP_TYPE_INT8, EP_TYPE_UINT8), RecordPool<Pool::kMaximum, false>);
  add("AveragePool", kDeviceFloats, RecordPool<Pool::kAverage, false>);
  add("LpPool", kDeviceFloats, RecordPool<Pool::kNorm, false>);
  add("GlobalLpPool", kDeviceFloats, RecordPool<Pool::kNorm, true>);
  table.Add({.op_type = kit::fuse::kQLinearAveragePool,
             .domain = kit::fuse::kDomain,
             .types = kDeviceBytes,
             .check = CheckQuantizedAverage,
             .record = RecordQuantizedAverage});
  table.Add({.op_type = "GlobalMaxPool",
             .types = kDeviceFloats,
             .record = RecordGlobalPool<Combine::kMaximum, Finish::kNothing>});
  table.Add({.op_type = "GlobalAveragePool",
             .types = kDeviceFloats,
             .record = RecordGlobalPool<Combine::kSum, Finish::kMean>});
}

}  // namespace epiphyte::vulkan
