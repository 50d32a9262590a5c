// QdqWriter writes the quantized graph.
//
//   onnx::GraphProto graph = QdqWriter(file, index, placement, ranges, options).Write();
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "tests/models/quantizer/ranges.h"

namespace epiphyte::test {

class QdqWriter {
 public:
  // The object keeps references to all arguments.
  QdqWriter(const ModelFile& file, const GraphIndex& index, const QuantizedPlacement& placement,
            const QuantizedRanges& ranges, const QuantizeOptions& options);
  onnx::GraphProto Write();

 private:
  // Initializers that a DequantizeLinear reads, or the result of a QuantizeLinear with its parameters.
  struct Stored {
    std::string numbers, scale, zero_point;
    int64_t axis = -1;  // -1 for one scale
    std::vector<float> scales;
  };

  std::string Fresh(const std::string& name);  // returns a name that is not in use yet
  template <typename T>
  std::string AddTensor(const std::string& name, onnx::TensorProto::DataType type, const std::vector<int64_t>& dims,
                        const std::vector<T>& values);
  std::string AddParameter(const std::string& name, const Linear& linear, bool is_scale);

  void WriteUnit(int n);
  void WriteInputs(int n, onnx::NodeProto* node);
  void WriteBias(int n, onnx::NodeProto* node, const Stored& weights);

  bool IsReadInFloat(const std::string& value) const;
  bool IsQuantizedRead(int reader, const std::string& value) const;
  // Returns the 8-bit form of an activation, and writes it if it isn't there yet.
  const Stored& Quantize(const std::string& value, const std::string& real);
  std::string Dequantize(const std::string& value, const Stored& stored);
  void AddDequantize(const std::string& name, const Stored& stored, const std::string& output);
  Stored QuantizeNumbers(const onnx::TensorProto& constant);
  Stored QuantizeWeightsOf(int n, int input, float input_scale);
  bool IsIdle(int clamp, const Linear& linear) const;
  void KeepUsedInitializers();

  const ModelFile& file_;
  const GraphIndex& index_;
  const QuantizedPlacement& placement_;
  const QuantizedRanges& ranges_;
  const QuantizeOptions& options_;
  onnx::GraphProto graph_;
  std::set<std::string> names_;
  std::map<std::string, Stored> activations_;                                         // key: name of the float value
  std::map<std::tuple<std::string, int64_t, std::vector<float>>, Stored> constants_;  // key: name, axis, least scales
  std::map<std::string, std::string> shared_dequantize_;                              // key: name of the 8-bit value
  std::map<std::string, std::string> parameters_;  // scales and zero points; key: name
};

}  // namespace epiphyte::test
