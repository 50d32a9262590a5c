// ModelFile: a float model and the folder that its external tensors are read from.
//
//   ModelFile file = ReadModelFile("models/llama_decode.onnx");
//   std::vector<float> weights = file.Floats(*initializer);
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace epiphyte::test {

struct ModelFile {
  onnx::ModelProto model;
  std::filesystem::path folder;

  int64_t Opset() const;  // opset of ai.onnx
  void SetOpset(int64_t version);
  // The elements of a FLOAT tensor. Throws std::runtime_error when they aren't there.
  std::vector<float> Floats(const onnx::TensorProto& tensor) const;
  // The bytes of any tensor but a string one, wherever they are.
  std::string Bytes(const onnx::TensorProto& tensor) const;
};

// Throws std::runtime_error when the file is no model.
ModelFile ReadModelFile(const std::filesystem::path& path);

// A scalar or tensor of one FLOAT element, read from the model itself.
bool IsOneFloat(const onnx::TensorProto& tensor);
int64_t ElementCount(const onnx::TensorProto& tensor);

const onnx::AttributeProto* FindAttribute(const onnx::NodeProto& node, const std::string& name);
int64_t IntAttribute(const onnx::NodeProto& node, const std::string& name, int64_t fallback);
float FloatAttribute(const onnx::NodeProto& node, const std::string& name, float fallback);

}  // namespace epiphyte::test
