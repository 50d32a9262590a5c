// Overlay: what the core knows of operators beyond the installed libonnx (whose newest opset is 17).
//
// Three tables: the versions that operators got in opsets 18 to 25; signatures and inference of new and changed
// operators; fast inference for the elementwise operators, which make up most of large graphs. An operator whose newer
// version only admits more element types has an entry in the first table alone and is inferred as libonnx's version.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace epiphyte::core {

class NodeInference;
using InferFunction = void (*)(NodeInference& node);

struct OverlayVersion {
  std::string_view op_type;
  int32_t since_version;
  std::string_view domain = "";
};
// Sorted by operator, then by version.
std::span<const OverlayVersion> OverlayVersions();
// The operator's newest overlay version up to `opset`; 0 when it has none.
int64_t OverlaySinceVersion(std::string_view domain, std::string_view op_type, int64_t opset);

inline constexpr int kAsBefore = -1;  // arity of libonnx's newest version
inline constexpr int kAnyNumber = INT32_MAX;

struct OverlayOperator {
  std::string_view op_type;
  int32_t from_version;  // applies from this version on, until the next entry of the operator
  InferFunction infer;   // null: libonnx's inference of `inference_of`
  int min_inputs = kAsBefore;
  int max_inputs = kAsBefore;
  int min_outputs = kAsBefore;
  int max_outputs = kAsBefore;
  std::string_view inference_of = "";
  std::string_view domain = "";
};
// Null: nothing of our own, libonnx's schema says it all.
const OverlayOperator* FindOverlayOperator(std::string_view domain, std::string_view op_type, int64_t since_version);

}  // namespace epiphyte::core
