// Softmax, LogSoftmax and Hardmax. Since opset 13 a row is one axis; before that it has all dimensions from the axis
// on.
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
  // A scalar is viewed as a vector of one element. Before opset 13 the axis may be the rank; then each element is a
  // row.
  Dims viewed = dims;
  if (dims.empty() || (flattens && axis == static_cast<int64_t>(dims.size()))) viewed.push_back(1);
  kit::AxisView view(viewed, kit::NormalizeAxis(axis, viewed.size()));
  if (flattens) {
    view.size *= view.inner;
    view.inner = 1;
  }
  const int32_t y = r.Output(0, type, dims);
  const int64_t rows = view.outer * view.inner;
  // If the elements of a row are strided, neighbouring rows are contiguous. With one invocation a row, neighbouring
  // invocations then read contiguous memory.
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
