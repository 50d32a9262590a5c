// ModelFile is a float model and the folder from which its external tensors are read.
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
  // Returns the elements of a FLOAT tensor. Throws std::runtime_error if they are missing.
  std::vector<float> Floats(const onnx::TensorProto& tensor) const;
  // Returns the bytes of any tensor but a string tensor, from the model or from an external file.
  std::string Bytes(const onnx::TensorProto& tensor) const;
};

// Throws std::runtime_error if the file is no model.
ModelFile ReadModelFile(const std::filesystem::path& path);

// True for a scalar or tensor of one FLOAT element that is stored inside the model.
bool IsOneFloat(const onnx::TensorProto& tensor);
int64_t ElementCount(const onnx::TensorProto& tensor);

const onnx::AttributeProto* FindAttribute(const onnx::NodeProto& node, const std::string& name);
int64_t IntAttribute(const onnx::NodeProto& node, const std::string& name, int64_t fallback);
float FloatAttribute(const onnx::NodeProto& node, const std::string& name, float fallback);

}  // namespace epiphyte::test
