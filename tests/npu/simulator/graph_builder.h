// Builds graphs for nsdk.h in tests. The builder owns all memory that the graph points to.
//
//   GraphBuilder b("net");
//   uint32_t x = b.Input("x", NSDK_INT8, {1, 3, 8, 8}, {0.1f, 0});
//   uint32_t w = b.RandomConstant(NSDK_INT8, {16, 3, 3, 3}, {0.01f, 0});
//   uint32_t y = b.Value(NSDK_INT8, {1, 16, 8, 8}, {0.2f, -128});
//   b.Op(NSDK_CONV, {x, w}, {y}, {{NSDK_PADS, {1, 1, 1, 1}}});
//   b.Output(y, "y");
//   api.compile(context, b.Graph(), ...);
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "nsdk.h"

namespace epiphyte::npusim {

struct Quantisation {
  float scale = 0;  // 0 for a tensor that isn't quantized
  int32_t zero_point = 0;
};

struct OpParam {
  uint32_t key = 0;
  std::vector<int64_t> ints;
  std::vector<float> floats = {};
};

class GraphBuilder {
 public:
  explicit GraphBuilder(std::string name, uint32_t seed = 1) : name_(std::move(name)), random_(seed) {}
  GraphBuilder(const GraphBuilder&) = delete;
  GraphBuilder& operator=(const GraphBuilder&) = delete;

  uint32_t Value(uint32_t type, std::vector<int64_t> dims, Quantisation q = {}) {
    TensorData& t = data_.emplace_back();
    t.dims = std::move(dims);
    if (q.scale != 0) {
      t.scales = {q.scale};
      t.zero_points = {q.zero_point};
    }
    tensors_.push_back({.struct_size = sizeof(NsdkTensor), .type = type});
    return static_cast<uint32_t>(tensors_.size() - 1);
  }
  uint32_t Input(const std::string& name, uint32_t type, std::vector<int64_t> dims, Quantisation q = {}) {
    const uint32_t index = Value(type, std::move(dims), q);
    data_[index].name = name;
    inputs_.push_back(index);
    return index;
  }
  void Output(uint32_t index, const std::string& name) {
    data_[index].name = name;
    outputs_.push_back(index);
  }
  uint32_t Constant(uint32_t type, std::vector<int64_t> dims, Quantisation q, std::vector<uint8_t> bytes) {
    const uint32_t index = Value(type, std::move(dims), q);
    data_[index].bytes = std::move(bytes);
    return index;
  }
  uint32_t RandomConstant(uint32_t type, std::vector<int64_t> dims, Quantisation q) {
    size_t bytes = type == NSDK_INT32 || type == NSDK_FLOAT32 ? 4 : type == NSDK_INT8 || type == NSDK_UINT8 ? 1 : 2;
    for (const int64_t dim : dims) bytes *= static_cast<size_t>(dim);
    std::vector<uint8_t> data(bytes);
    for (uint8_t& b : data) b = static_cast<uint8_t>(random_() >> 11);
    if (type == NSDK_INT32) {  // biases of 18 bits
      for (size_t i = 0; i < bytes; i += 4) {
        const int32_t value = static_cast<int32_t>(random_()) >> 14;
        std::memcpy(data.data() + i, &value, 4);
      }
    }
    if (type == NSDK_FLOAT32) {
      for (size_t i = 0; i < bytes; i += 4) {
        const float value = static_cast<float>(random_() % 2000) / 1000 - 1;
        std::memcpy(data.data() + i, &value, 4);
      }
    }
    return Constant(type, std::move(dims), q, std::move(data));
  }
  // Sets scales (and zero points) along an axis.
  void PerChannel(uint32_t index, uint32_t axis, std::vector<float> scales, std::vector<int32_t> zero_points = {}) {
    data_[index].scales = std::move(scales);
    data_[index].zero_points = std::move(zero_points);
    tensors_[index].axis = axis;
  }
  void Op(uint32_t kind, std::vector<uint32_t> inputs, std::vector<uint32_t> outputs, std::vector<OpParam> params = {},
          const std::string& name = "") {
    OpData& op = op_data_.emplace_back();
    op.inputs = std::move(inputs);
    op.outputs = std::move(outputs);
    op.params = std::move(params);
    op.name = name;
    for (const OpParam& p : op.params) {
      op.flat.push_back({.struct_size = sizeof(NsdkParam),
                         .key = p.key,
                         .int_count = static_cast<uint32_t>(p.ints.size()),
                         .float_count = static_cast<uint32_t>(p.floats.size()),
                         .ints = p.ints.data(),
                         .floats = p.floats.data()});
    }
    ops_.push_back({.struct_size = sizeof(NsdkOp),
                    .kind = kind,
                    .name = op.name.c_str(),
                    .input_count = static_cast<uint32_t>(op.inputs.size()),
                    .output_count = static_cast<uint32_t>(op.outputs.size()),
                    .inputs = op.inputs.data(),
                    .outputs = op.outputs.data(),
                    .param_count = static_cast<uint32_t>(op.flat.size()),
                    .reserved = 0,
                    .params = op.flat.data()});
  }

  const std::vector<int64_t>& Dims(uint32_t index) const { return data_[index].dims; }
  Quantisation QuantisationOf(uint32_t index) const {
    return data_[index].scales.empty() ? Quantisation{} : Quantisation{data_[index].scales[0], ZeroPoint(index)};
  }
  int32_t ZeroPoint(uint32_t index) const { return data_[index].zero_points.empty() ? 0 : data_[index].zero_points[0]; }

  // Returns the graph. It is valid until the builder changes.
  const NsdkGraph* Graph() {
    for (size_t i = 0; i < tensors_.size(); ++i) {
      NsdkTensor& t = tensors_[i];
      const TensorData& d = data_[i];
      t.name = d.name.empty() ? nullptr : d.name.c_str();
      t.rank = static_cast<uint32_t>(d.dims.size());
      t.dims = d.dims.data();
      t.scale_count = static_cast<uint32_t>(d.scales.size());
      t.scales = d.scales.data();
      t.zero_points = d.zero_points.empty() ? nullptr : d.zero_points.data();
      t.data = d.bytes.empty() ? nullptr : d.bytes.data();
      t.data_size = d.bytes.size();
    }
    graph_ = {.struct_size = sizeof(NsdkGraph),
              .tensor_count = static_cast<uint32_t>(tensors_.size()),
              .name = name_.c_str(),
              .tensors = tensors_.data(),
              .ops = ops_.data(),
              .op_count = static_cast<uint32_t>(ops_.size()),
              .input_count = static_cast<uint32_t>(inputs_.size()),
              .inputs = inputs_.data(),
              .outputs = outputs_.data(),
              .output_count = static_cast<uint32_t>(outputs_.size()),
              .reserved = 0};
    return &graph_;
  }

 private:
  struct TensorData {
    std::string name;
    std::vector<int64_t> dims;
    std::vector<float> scales;
    std::vector<int32_t> zero_points;
    std::vector<uint8_t> bytes;
  };
  struct OpData {
    std::string name;
    std::vector<uint32_t> inputs, outputs;
    std::vector<OpParam> params;
    std::vector<NsdkParam> flat;
  };

  std::string name_;
  std::mt19937 random_;
  std::deque<TensorData> data_;
  std::deque<OpData> op_data_;
  std::vector<NsdkTensor> tensors_;
  std::vector<NsdkOp> ops_;
  std::vector<uint32_t> inputs_, outputs_;
  NsdkGraph graph_{};
};

}  // namespace epiphyte::npusim
