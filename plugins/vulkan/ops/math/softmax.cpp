// Softmax, LogSoftmax and Hardmax. Since opset 13 along one axis; before that over everything from the axis on.
#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/shape/axes.hpp"
#include "plugins/vulkan/ops/row_work.h"

namespace epiphyte::vulkan {
namespace {

void RecordSoftmax(Recording& r) {
  const std::string& name = r.node().op_type;
  const uint32_t mode = name == "Softmax" ? 0 : name == "LogSoftmax" ? 1 : 2;
  const EpElementType type = r.InputType(0);
  const Dims dims = r.InputDims(0);
  const bool flattens = r.node().since_version < 13;
  const int64_t axis = r.node().Int("axis", flattens ? 1 : -1);
  // A scalar is a vector of one element; before opset 13 the axis may be the rank: then every element is alone.
  Dims viewed = dims;
  if (dims.empty() || (flattens && axis == static_cast<int64_t>(dims.size()))) viewed.push_back(1);
  kit::AxisView view(viewed, kit::NormalizeAxis(axis, viewed.size()));
  if (flattens) {
    view.size *= view.inner;
    view.inner = 1;
  }
  const int32_t y = r.Output(0, type, dims);
  const int64_t rows = view.outer * view.inner;
  // Neighbouring rows are contiguous when the elements of a row are strided. One invocation per row then reads
  // contiguous memory.
  const RowWork work(r.capabilities(), {.count = rows,
                                        .length = view.size,
                                        .passes = 3,
                                        .shared = true,
                                        .needless = view.inner == 1 ? "" : "the elements of a row lie apart"});
  Dispatch dispatch{.shader = Recording::ShaderFor(kit::TextOf("softmax", work.suffix()), type),
                    .specialization = {mode},
                    .parameters = {Word(rows), Word(view.size), Word(view.inner)},
                    .bindings = {r.Read(0), Recording::Write(y)},
                    .work = static_cast<uint64_t>(rows * view.size)};
  work.Complete(r, &dispatch);
  r.Note(work.Explain("softmax"));
  r.Add(std::move(dispatch));
}

}  // namespace

void Register_softmax(OperatorTable& table) {
  for (const char* name : {"Softmax", "LogSoftmax", "Hardmax"}) table.Add({.op_type = name, .record = RecordSoftmax});
}

}  // namespace epiphyte::vulkan
