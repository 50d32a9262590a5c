// Schemas of libonnx, each created at its first use. libonnx's own registry creates all of them, some 400 with
// documentation, at the first use of any; that took most of the time of a small model's session.
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

// The operator's since-version at this opset of its domain ("" for ai.onnx); 0 when libonnx has none.
int64_t LibonnxSinceVersion(std::string_view domain, std::string_view op_type, int64_t opset);
// The schema of that version. It lives as long as the process; null when libonnx has none. Thread-safe.
const onnx::OpSchema* FindLibonnxSchema(std::string_view domain, std::string_view op_type, int64_t opset);
// Names of a domain's operators, sorted, without duplicates.
std::vector<std::string_view> LibonnxOperators(std::string_view domain);

}  // namespace epiphyte::core
