// ValueShapes holds the shapes of a graph's values, as far as ONNX's inference knows them.
//
//   const ValueShapes shapes(&model);
//   const int64_t channels = shapes.Of("x")[1];
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace epiphyte::test {

class ValueShapes {
 public:
  explicit ValueShapes(onnx::ModelProto* model);

  // Returns null if not even the rank is known. An open dimension is -1.
  const std::vector<int64_t>* Find(const std::string& value) const;
  // Returns the shape, or throws std::invalid_argument if it is unknown.
  const std::vector<int64_t>& Of(const std::string& value) const;

 private:
  std::map<std::string, std::vector<int64_t>> shapes_;
};

}  // namespace epiphyte::test
