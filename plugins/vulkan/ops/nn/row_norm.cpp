#include "plugins/vulkan/ops/nn/row_norm.h"

#include "epiphyte/kit/abi/fail.hpp"
#include "plugins/vulkan/ops/nn/normalize.h"
#include "plugins/vulkan/ops/reduce/reduction.h"
#include "plugins/vulkan/ops/row_work.h"

namespace epiphyte::vulkan {
namespace {

// Whether there are few rows, and each has enough elements for several invocations.
bool AreFewAndLong(const RowNorm& norm) { return norm.rows < 512 && norm.size >= 4096; }

// Computes the statistics in dispatches of their own, for which many invocations can share a row, and then normalises.
void AddInPasses(Recording& r, const RowNorm& norm, const RowNormTensors& tensors) {
  const Dims dims = {norm.rows, norm.size};
  const std::vector<bool> reduced = {false, true};
  const int32_t deviation = r.Scratch(EP_TYPE_FLOAT, {norm.rows});
  int32_t mean = deviation;
  if (norm.centred) {
    mean = r.Scratch(EP_TYPE_FLOAT, {norm.rows});
    AddReduction(r, {.finish = Reduction::Finish::kMean}, tensors.x, dims, reduced, mean);
    AddReduction(r, {.load = Reduction::Load::kSquareShifted, .finish = Reduction::Finish::kRootMean}, tensors.x, dims,
                 reduced, deviation, mean);
  } else {
    AddReduction(r, {.load = Reduction::Load::kSquare, .finish = Reduction::Finish::kRootMean}, tensors.x, dims,
                 reduced, deviation);
  }
  AddNormalize(
      r, NormalizeForm::kRows, norm,
      {.x = tensors.x, .a = mean, .b = deviation, .scale = tensors.scale, .bias = tensors.bias, .y = tensors.y}, dims,
      {true, false});
}

}  // namespace

void AddRowNorm(Recording& r, const RowNorm& norm, const RowNormTensors& tensors) {
  const bool skips = tensors.skip >= 0;
  const bool statistics = tensors.mean >= 0;
  const bool in_passes = !skips && !statistics && AreFewAndLong(norm);
  const RowWork work(r.capabilities(), {.count = norm.rows,
                                        .length = norm.size,
                                        .passes = 3,
                                        .alone = in_passes ? 0 : -1,  // in passes, no invocation has a whole row
                                        .shared = true});
  const std::string_view name = skips ? "row_norm_skip" : statistics ? "row_norm_stats" : "row_norm";
  r.Note(work.Explain(name));
  if (work.alone() && in_passes) return AddInPasses(r, norm, tensors);

  const EpElementType type = r.tensor(tensors.x).type;
  Dispatch dispatch;
  dispatch.shader = Recording::ShaderFor(kit::TextOf(name, work.suffix()), type);
  dispatch.specialization = {norm.centred ? 1u : 0u, tensors.bias >= 0 ? 1u : 0u};
  dispatch.parameters = norm.Words();
  dispatch.bindings = {Recording::ReadTensor(tensors.x), Recording::ReadTensor(tensors.scale),
                       Recording::ReadTensor(tensors.bias >= 0 ? tensors.bias : tensors.scale),
                       Recording::Write(tensors.y)};
  if (skips) {
    dispatch.specialization.push_back(tensors.sum >= 0 ? 1 : 0);
    dispatch.bindings.push_back(Recording::ReadTensor(tensors.skip));
    dispatch.bindings.push_back(Recording::Write(tensors.sum >= 0 ? tensors.sum : tensors.y));
  } else if (statistics) {
    dispatch.bindings.push_back(Recording::Write(tensors.mean));
    dispatch.bindings.push_back(Recording::Write(tensors.inverse));
  }
  work.Complete(r, &dispatch);
  dispatch.work = static_cast<uint64_t>(norm.rows) * static_cast<uint64_t>(norm.size);
  r.Add(std::move(dispatch));
}

}  // namespace epiphyte::vulkan
