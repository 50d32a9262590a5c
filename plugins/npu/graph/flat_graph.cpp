#include "plugins/npu/graph/flat_graph.h"

namespace epiphyte::npu {

FlatGraph::Op& FlatGraph::Op::Ints(NsdkParamKey key, std::vector<int64_t> ints) {
  params.push_back({static_cast<uint32_t>(key), std::move(ints), {}});
  return *this;
}

FlatGraph::Op& FlatGraph::Op::Floats(NsdkParamKey key, std::vector<float> floats) {
  params.push_back({static_cast<uint32_t>(key), {}, std::move(floats)});
  return *this;
}

uint32_t FlatGraph::AddTensor(std::string name, uint32_t type, std::span<const int64_t> dims, Scaling scaling) {
  Tensor& tensor = tensors_.emplace_back();
  tensor.name = std::move(name);
  tensor.dims.assign(dims.begin(), dims.end());
  tensor.scaling = std::move(scaling);
  tensor.flat.struct_size = sizeof(NsdkTensor);
  tensor.flat.type = type;
  tensor.flat.name = tensor.name.c_str();
  tensor.flat.rank = static_cast<uint32_t>(tensor.dims.size());
  tensor.flat.dims = tensor.dims.data();
  tensor.flat.scale_count = static_cast<uint32_t>(tensor.scaling.scales.size());
  tensor.flat.scales = tensor.scaling.scales.empty() ? nullptr : tensor.scaling.scales.data();
  tensor.flat.zero_points = tensor.scaling.zero_points.empty() ? nullptr : tensor.scaling.zero_points.data();
  tensor.flat.axis = tensor.scaling.axis;
  return static_cast<uint32_t>(tensors_.size() - 1);
}

uint32_t FlatGraph::AddConstant(std::string name, uint32_t type, std::span<const int64_t> dims, Scaling scaling,
                                const void* data, uint64_t bytes, std::shared_ptr<const void> owner) {
  const uint32_t added = AddTensor(std::move(name), type, dims, std::move(scaling));
  Tensor& tensor = tensors_.back();
  tensor.owner = std::move(owner);
  tensor.flat.data = data;
  tensor.flat.data_size = bytes;
  return added;
}

FlatGraph::Op& FlatGraph::AddOp(NsdkOpKind kind, std::string name, std::vector<uint32_t> inputs,
                                std::vector<uint32_t> outputs) {
  Op& op = ops_.emplace_back();
  op.kind = kind;
  op.name = std::move(name);
  op.inputs = std::move(inputs);
  op.outputs = std::move(outputs);
  return op;
}

void FlatGraph::SetPorts(std::vector<uint32_t> inputs, std::vector<uint32_t> outputs) {
  inputs_ = std::move(inputs);
  outputs_ = std::move(outputs);
}

void FlatGraph::SetPortsOfOps() {
  std::vector<bool> written(tensors_.size(), false), read(tensors_.size(), false);
  for (const Op& op : ops_) {
    for (const uint32_t tensor : op.outputs) written[tensor] = true;
    for (const uint32_t tensor : op.inputs)
      if (tensor != NSDK_NONE) read[tensor] = true;
  }
  inputs_.clear();
  outputs_.clear();
  for (uint32_t i = 0; i < tensors_.size(); ++i) {
    if (written[i] && !read[i]) outputs_.push_back(i);
    if (!written[i] && read[i] && tensors_[i].flat.data_size == 0) inputs_.push_back(i);
  }
}

const NsdkGraph& FlatGraph::Get() {
  flat_tensors_.clear();
  for (const Tensor& tensor : tensors_) flat_tensors_.push_back(tensor.flat);
  flat_ops_.clear();
  for (Op& op : ops_) {
    op.flat.clear();
    for (const Op::Param& param : op.params) {
      NsdkParam flat = {};
      flat.struct_size = sizeof(flat);
      flat.key = param.key;
      flat.int_count = static_cast<uint32_t>(param.ints.size());
      flat.float_count = static_cast<uint32_t>(param.floats.size());
      flat.ints = param.ints.empty() ? nullptr : param.ints.data();
      flat.floats = param.floats.empty() ? nullptr : param.floats.data();
      op.flat.push_back(flat);
    }
    NsdkOp flat = {};
    flat.struct_size = sizeof(flat);
    flat.kind = op.kind;
    flat.name = op.name.c_str();
    flat.input_count = static_cast<uint32_t>(op.inputs.size());
    flat.output_count = static_cast<uint32_t>(op.outputs.size());
    flat.inputs = op.inputs.data();
    flat.outputs = op.outputs.data();
    flat.param_count = static_cast<uint32_t>(op.flat.size());
    flat.params = op.flat.empty() ? nullptr : op.flat.data();
    flat_ops_.push_back(flat);
  }
  flat_ = {};
  flat_.struct_size = sizeof(flat_);
  flat_.name = name_.c_str();
  flat_.tensor_count = static_cast<uint32_t>(flat_tensors_.size());
  flat_.tensors = flat_tensors_.data();
  flat_.op_count = op_count();
  flat_.ops = flat_ops_.data();
  flat_.input_count = static_cast<uint32_t>(inputs_.size());
  flat_.inputs = inputs_.data();
  flat_.output_count = static_cast<uint32_t>(outputs_.size());
  flat_.outputs = outputs_.data();
  return flat_;
}

}  // namespace epiphyte::npu
