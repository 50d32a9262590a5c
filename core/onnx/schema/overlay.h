// Overlay: operators and versions beyond the installed libonnx (its newest opset is 17).
//
// There are four tables: versions of operators in opsets 18 to 26; signatures and inference of new and changed
// operators; their attributes; and fast inference for elementwise operators, which are most nodes of large graphs. An
// operator with a newer version that only allows more element types appears in the first table alone. It is inferred
// with libonnx's version.
#pragma once

#include <cstdint>
#include <optional>
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
// Published versions of ai.onnx operators in opsets after kMaxOnnxOpset. In a model of such an opset the core does not
// know these operators.
std::span<const OverlayVersion> VersionsToCome();
// The newest overlay version of the operator up to `opset`; 0 when there is none.
int64_t OverlaySinceVersion(std::string_view domain, std::string_view op_type, int64_t opset);

// All attributes of a version from 18 on (attribute_list.h). nullopt: the attributes are those of libonnx's newest
// version.
std::optional<std::string_view> OverlayAttributes(std::string_view domain, std::string_view op_type,
                                                  int64_t since_version);

inline constexpr int kAsBefore = -1;  // arity of libonnx's newest version
inline constexpr int kAnyNumber = INT32_MAX;

struct OverlayOperator {
  std::string_view op_type;
  int32_t from_version;  // applies from this version on, until the next entry of the operator
  InferFunction infer;   // null: libonnx's inference of operator `inference_of`
  int min_inputs = kAsBefore;
  int max_inputs = kAsBefore;
  int min_outputs = kAsBefore;
  int max_outputs = kAsBefore;
  std::string_view inference_of = "";
  std::string_view domain = "";
};
// Null: the overlay has no entry; libonnx's schema applies.
const OverlayOperator* FindOverlayOperator(std::string_view domain, std::string_view op_type, int64_t since_version);

}  // namespace epiphyte::core
