#include "plugins/vulkan/ops/recording.h"

#include <algorithm>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/graph/elements.hpp"
#include "epiphyte/kit/shape/arithmetic.hpp"
#include "plugins/vulkan/ops/program_builder.h"
#include "plugins/vulkan/program/memory_plan.h"

namespace epiphyte::vulkan {

const Capabilities& Recording::capabilities() const { return builder_.capabilities_; }

namespace {

[[noreturn]] void FailLeftOut(size_t i) { kit::FailArgument("input ", i, " is left out"); }

}  // namespace

const Dims& Recording::InputDims(size_t i) const {
  if (!HasInput(i)) FailLeftOut(i);
  return builder_.Made(node().inputs[i]).dims;
}

EpElementType Recording::InputType(size_t i) const {
  if (!HasInput(i)) FailLeftOut(i);
  return builder_.Made(node().inputs[i]).type;
}

const DeviceTensor& Recording::Input(size_t i) { return tensor(InputTensor(i)); }

int32_t Recording::InputTensor(size_t i) {
  if (!HasInput(i)) FailLeftOut(i);
  return builder_.TensorOf(node().inputs[i]);
}

const HostTensor* Recording::Host(size_t i) const { return HasInput(i) ? builder_.HostOf(node().inputs[i]) : nullptr; }

const HostTensor& Recording::RequireHost(size_t i) const {
  if (!HasInput(i)) FailLeftOut(i);
  if (const HostTensor* host = Host(i)) return *host;
  const Dims& dims = InputDims(i);
  if (dims.Count() > kMostHostElements)
    kit::FailArgument("input ", i, " has shape ", kit::ShapeText(dims), "; the host must know its elements, at most ",
                      kMostHostElements);
  kit::FailWith(EP_STATUS_FAIL, "input ", i, " is on the device, but the host must know its elements");
}

int32_t Recording::Packed(std::string_view key, EpElementType type, const Dims& dims) {
  const auto found = builder_.packed_of_node_.find({node_index_, key});
  if (found == builder_.packed_of_node_.end())
    kit::FailWith(EP_STATUS_INVALID_GRAPH, "packed data '", key, "' is not there");
  const kit::PackedData& packed = builder_.packed_[found->second];
  const int32_t added = builder_.AddTensor(type, dims, Place::kConstant, graph_.constants.size() + found->second);
  if (tensor(added).bytes != packed.bytes)
    kit::FailWith(EP_STATUS_INVALID_GRAPH, "packed data '", key, "' has ", packed.bytes, " bytes, ",
                  tensor(added).bytes, " expected");
  return added;
}

bool Recording::HasPacked(std::string_view key) const { return builder_.packed_of_node_.contains({node_index_, key}); }

int32_t Recording::Output(size_t i, EpElementType type, const Dims& dims) {
  const int32_t added = builder_.AddTensor(type, dims, Place::kArena, 0);
  if (!HasOutput(i)) return added;
  const int32_t output = node().outputs[i];
  builder_.CheckMade(output, type, dims);
  builder_.value(output) = {added, nullptr, type, dims};
  builder_.made_[static_cast<size_t>(output)] = true;
  return added;
}

void Recording::OutputAs(size_t i, size_t j, const Dims& dims) {
  if (!HasOutput(i)) return;
  const EpElementType type = InputType(j);
  if (kit::CheckedCount(dims) != InputDims(j).Count())
    kit::FailArgument("shape ", kit::ShapeText(dims), " has other elements than input ", j, " of shape ",
                      kit::ShapeText(InputDims(j)));
  const int32_t output = node().outputs[i];
  builder_.CheckMade(output, type, dims);
  RecordedValue made = {-1, nullptr, type, dims};
  // If the host knows the input, it knows the output, too. The output's device tensor is then made on demand.
  if (const HostTensor* host = Host(j)) {
    HostTensor copy = *host;
    copy.dims = dims;
    made.host = std::make_shared<HostTensor>(std::move(copy));
  }
  const RecordedValue& source = builder_.Made(node().inputs[j]);
  if (made.host == nullptr || source.tensor >= 0) {
    const int32_t of = InputTensor(j);
    DeviceTensor same = tensor(of);
    same.dims = dims;
    same.same_as = of;
    builder_.program_.tensors.push_back(std::move(same));
    made.tensor = static_cast<int32_t>(builder_.program_.tensors.size()) - 1;
  }
  builder_.value(output) = std::move(made);
  builder_.made_[static_cast<size_t>(output)] = true;
}

void Recording::OutputOnHost(size_t i, HostTensor result) {
  if (!HasOutput(i)) return;
  const int32_t output = node().outputs[i];
  builder_.CheckMade(output, result.type, result.dims);
  if (kit::CheckedCount(result.dims) > kMostHostElements)
    kit::FailArgument("a result of shape ", kit::ShapeText(result.dims), " was to be computed on the host; at most ",
                      kMostHostElements, " elements are");
  RecordedValue made = {-1, nullptr, result.type, result.dims};
  made.host = std::make_shared<HostTensor>(std::move(result));
  builder_.value(output) = std::move(made);
  builder_.made_[static_cast<size_t>(output)] = true;
}

int32_t Recording::Scratch(EpElementType type, const Dims& dims) {
  return builder_.AddTensor(type, dims, Place::kArena, 0);
}

int32_t Recording::Literal(EpElementType type, const Dims& dims, const void* data) {
  return builder_.AddLiteral(type, dims, data);
}

std::string Recording::ShaderFor(std::string_view name, EpElementType type) {
  const auto suffix = [&]() -> std::string_view {
    switch (type) {
      case EP_TYPE_FLOAT: return "f32";
      case EP_TYPE_FLOAT16: return "f16";
      case EP_TYPE_INT8: return "i8";
      case EP_TYPE_INT16: return "i16";
      case EP_TYPE_INT32: return "i32";
      case EP_TYPE_INT64: return "i64";
      case EP_TYPE_UINT8: return "u8";
      case EP_TYPE_UINT16: return "u16";
      case EP_TYPE_UINT32: return "u32";
      case EP_TYPE_UINT64: return "u64";
      case EP_TYPE_BOOL: return "bool";
      default: kit::FailWith(EP_STATUS_NOT_IMPLEMENTED, "no shader '", name, "' is for ", kit::TypeName(type));
    }
  };
  return kit::TextOf(name, '.', suffix());
}

std::string Recording::MoverFor(std::string_view name, EpElementType type) {
  const uint64_t bytes = kit::ElementBytes(type, 1);
  if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)
    kit::FailWith(EP_STATUS_NOT_IMPLEMENTED, "no shader '", name, "' moves ", kit::TypeName(type));
  return kit::TextOf(name, ".b", bytes);
}

bool Recording::HasShader(std::string_view shader) const { return builder_.has_shader_(shader); }

std::array<uint32_t, 3> Recording::GroupsFor(int64_t count, int64_t each) const {
  const int64_t per_group = kLinearGroup * each;
  const int64_t groups = (count + per_group - 1) / per_group;
  const int64_t most = capabilities().max_workgroup_count[0];
  if (groups <= most) return {static_cast<uint32_t>(groups), 1, 1};
  const int64_t rows = (groups + most - 1) / most;
  return {static_cast<uint32_t>((groups + rows - 1) / rows), static_cast<uint32_t>(rows), 1};
}

bool Recording::Binds(size_t buffers) {
  if (buffers > capabilities().max_bindings) return false;
  allowed_bindings_ = std::max(allowed_bindings_, buffers);
  return true;
}

void Recording::Add(Dispatch dispatch) {
  if (!HasShader(dispatch.shader))
    kit::FailWith(EP_STATUS_NOT_IMPLEMENTED, "there is no shader '", dispatch.shader, "'");
  for (const uint32_t groups : dispatch.groups)
    if (groups == 0) return;
  for (size_t i = 0; i < dispatch.groups.size(); ++i)
    if (dispatch.groups[i] > capabilities().max_workgroup_count[i])
      kit::FailWith(EP_STATUS_NOT_IMPLEMENTED, "shader '", dispatch.shader, "' needs ", dispatch.groups[i],
                    " workgroups in dimension ", i, ", the device takes ", capabilities().max_workgroup_count[i]);
  if (dispatch.passes > capabilities().max_passes)
    kit::FailWith(EP_STATUS_NOT_IMPLEMENTED, "shader '", dispatch.shader, "' would make ", dispatch.passes,
                  " passes of loops for a result, the device makes ", capabilities().max_passes,
                  "; run the node on another provider");
  const size_t said = builder_.operators_[static_cast<size_t>(node_index_)]->bindings;
  if (dispatch.bindings.size() > std::max(said, allowed_bindings_))
    kit::FailWith(EP_STATUS_FAIL, "shader '", dispatch.shader, "' binds ", dispatch.bindings.size(),
                  " buffers, its operator says ", said, " (Operator::bindings)");
  uint64_t written = 0;
  for (const Binding& binding : dispatch.bindings) {
    if (binding.tensor < 0 || static_cast<size_t>(binding.tensor) >= builder_.program_.tensors.size())
      kit::FailWith(EP_STATUS_FAIL, "shader '", dispatch.shader, "' is bound to tensor ", binding.tensor);
    if (binding.access == Access::kRead) continue;
    const DeviceTensor& target = tensor(binding.tensor);
    if (builder_.program_.tensors[static_cast<size_t>(RootOf(builder_.program_, binding.tensor))].place !=
        Place::kArena)
      kit::FailWith(EP_STATUS_FAIL, "shader '", dispatch.shader, "' would write to what can only be read");
    if (target.bytes == 0) return;
    written += static_cast<uint64_t>(target.dims.Count());
  }
  dispatch.node = node_index_;
  dispatch.work = std::max(dispatch.work, written);
  builder_.program_.dispatches.push_back(std::move(dispatch));
}

void Recording::Note(std::string text) { builder_.program_.notes.emplace_back(node_index_, std::move(text)); }

const DeviceTensor& Recording::tensor(int32_t tensor) const {
  return builder_.program_.tensors[static_cast<size_t>(tensor)];
}

const ir::Tensor* Packing::Constant(size_t i) const {
  return node_.HasInput(i) ? ir::ElementsOf(graph_, node_.inputs[i]) : nullptr;
}

const ir::Value* Packing::Info(size_t i) const {
  return node_.HasInput(i) ? &graph_.values[static_cast<size_t>(node_.inputs[i])] : nullptr;
}

}  // namespace epiphyte::vulkan
