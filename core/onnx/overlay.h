// Overlay: what the core knows of operators beyond the installed libonnx (whose newest opset is 17).
//
// Four tables: the versions that operators got in opsets 18 to 26; signatures and inference of new and changed
// operators; their attributes; fast inference for the elementwise operators, which make up most of large graphs. An
// operator whose newer version only admits more element types has an entry in the first table alone and is inferred as
// libonnx's version.
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
// Versions of operators of ai.onnx in opsets after kMaxOnnxOpset, as far as they are published: in a model of such an
// opset these are not what the core knows them as.
std::span<const OverlayVersion> VersionsToCome();
// The operator's newest overlay version up to `opset`; 0 when it has none.
int64_t OverlaySinceVersion(std::string_view domain, std::string_view op_type, int64_t opset);

// All attributes of a version from 18 on (attribute_list.h); nullopt: they are those of libonnx's newest version.
std::optional<std::string_view> OverlayAttributes(std::string_view domain, std::string_view op_type,
                                                  int64_t since_version);

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
