// The schemas of libonnx, each made when it is first asked for. Its own registry makes all of them, some 400 with their
// documentation, when the first one is: most of what the session of a small model took.
//
//   const onnx::OpSchema* add = FindLibonnxSchema("", "Add", 17);  // of version 14
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace onnx {
class OpSchema;
}

namespace epiphyte::core {

// The version of the operator that holds at this opset of its domain, "" for ai.onnx; 0 when libonnx has none.
int64_t LibonnxSinceVersion(std::string_view domain, std::string_view op_type, int64_t opset);
// Its schema, which lives as long as the process; null when libonnx has none. Thread-safe.
const onnx::OpSchema* FindLibonnxSchema(std::string_view domain, std::string_view op_type, int64_t opset);
// The names of a domain's operators, sorted, each once.
std::vector<std::string_view> LibonnxOperators(std::string_view domain);

}  // namespace epiphyte::core
