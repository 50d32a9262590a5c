// Operators: a plugin describes the operators that it brings, so that nodes are checked and what is behind them has
// types. See epiphyte/ep_schema.h.
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

// One node, and where the types of its outputs go.
class Inference {
 public:
  Inference(const EpHostInfo& host, const EpInferenceApi& api, const EpNode* node, EpInference* inference)
      : host_(host), api_(api), node_(host, node), inference_(inference) {}

  const NodeView& node() const { return node_; }
  // The elements of an integer input, when they are known before the run.
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
  // -1 where a size isn't known.
  void SetTensor(size_t output, EpElementType element, std::span<const int64_t> dims) const {
    SetOutput(output, {sizeof(EpTypeInfo), EP_KIND_TENSOR, element, static_cast<int32_t>(dims.size()), dims.data(),
                       nullptr, nullptr});
  }
  void SetTensorOfUnknownRank(size_t output, EpElementType element) const {
    SetOutput(output, {sizeof(EpTypeInfo), EP_KIND_TENSOR, element, -1, nullptr, nullptr, nullptr});
  }
  // The type of an input, its symbols too; nothing when that isn't known.
  void SetLike(size_t output, size_t input) const {
    const ValueView value = node_.input(input);
    if (value && value.info().type->kind != EP_KIND_UNKNOWN) SetOutput(output, *value.info().type);
  }
  // The shape of a tensor input, with another element type.
  void SetLike(size_t output, size_t input, EpElementType element) const {
    const ValueView value = node_.input(input);
    if (!value.IsTensor()) return SetTensorOfUnknownRank(output, element);
    EpTypeInfo type = *value.info().type;
    type.struct_size = sizeof(type);
    type.element_type = element;
    SetOutput(output, type);
  }
  // The model is wrong; reading it ends.
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
  // Null: the outputs have the types that the model declares, if it does.
  void (*infer)(const Inference& node) = nullptr;
};

}  // namespace epiphyte::kit
