// Operators: a plugin describes the operators that it brings. The host then checks their nodes and infers the types
// of their results. See epiphyte/ep_schema.h.
//
//   class MyProvider : public kit::Provider {
//    public:
//     static std::span<const kit::Operator> Operators() {
//       static constexpr kit::Operator kOperators[] = {
//           {.domain = "acme", .name = "Count", .infer = [](const kit::Inference& node) {
//              node.SetLike(0, 0, EP_TYPE_INT64);
//            }},
//       };
//       return kOperators;
//     }
//     …
//   };
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "epiphyte/ep_schema.h"
#include "epiphyte/kit/abi/error.hpp"
#include "epiphyte/kit/abi/graph_view.hpp"

namespace epiphyte::kit {

// One node, and a way to set the types of its outputs.
class Inference {
 public:
  Inference(const EpHostInfo& host, const EpInferenceApi& api, const EpNode* node, EpInference* inference)
      : host_(host), api_(api), node_(host, node), inference_(inference) {}

  const NodeView& node() const { return node_; }
  // The elements of an integer input if they are known before the run; nothing otherwise.
  std::optional<std::span<const int64_t>> Ints(size_t input) const {
    const int64_t* values = nullptr;
    uint64_t count = 0;
    ThrowIfFailed(host_, api_.GetInts(inference_, input, &values, &count));
    if (values == nullptr) return std::nullopt;
    return std::span(values, static_cast<size_t>(count));
  }

  void SetOutput(size_t output, const EpTypeInfo& type) const {
    ThrowIfFailed(host_, api_.SetOutput(inference_, output, &type));
  }
  // A size that is not known is -1.
  void SetTensor(size_t output, EpElementType element, std::span<const int64_t> dims) const {
    SetOutput(output, {sizeof(EpTypeInfo), EP_KIND_TENSOR, element, static_cast<int32_t>(dims.size()), dims.data(),
                       nullptr, nullptr});
  }
  void SetTensorOfUnknownRank(size_t output, EpElementType element) const {
    SetOutput(output, {sizeof(EpTypeInfo), EP_KIND_TENSOR, element, -1, nullptr, nullptr, nullptr});
  }
  // Gives the output the input's type, with its symbolic dimensions. Sets nothing when the input's type is not known.
  void SetLike(size_t output, size_t input) const {
    const ValueView value = node_.input(input);
    if (value && value.info().type->kind != EP_KIND_UNKNOWN) SetOutput(output, *value.info().type);
  }
  // Gives the output the shape of a tensor input, with another element type.
  void SetLike(size_t output, size_t input, EpElementType element) const {
    const ValueView value = node_.input(input);
    if (!value.IsTensor()) return SetTensorOfUnknownRank(output, element);
    EpTypeInfo type = *value.info().type;
    type.struct_size = sizeof(type);
    type.element_type = element;
    SetOutput(output, type);
  }
  // Rejects the model for `reason`: reading it ends with INVALID_GRAPH.
  [[noreturn]] void Reject(const std::string& reason) const { throw Error(EP_STATUS_INVALID_GRAPH, reason); }

 private:
  const EpHostInfo& host_;
  const EpInferenceApi& api_;
  NodeView node_;
  EpInference* inference_;
};

struct OperatorAttribute {
  const char* name;
  EpAttributeType type;
  bool required = false;
};

struct Operator {
  const char* domain;
  const char* name;
  int64_t since_version = 1;
  uint32_t min_inputs = 1;
  uint32_t max_inputs = 1;
  uint32_t min_outputs = 1;
  uint32_t max_outputs = 1;
  std::span<const OperatorAttribute> attributes = {};
  // Null: the outputs keep the types that the model declares, if any.
  void (*infer)(const Inference& node) = nullptr;
};

}  // namespace epiphyte::kit
