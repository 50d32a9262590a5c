// OperatorTable: a plugin's operators as the C ABI wants them. For the kit's own use.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "epiphyte/ep_schema.h"
#include "epiphyte/kit/plugin/schema.hpp"

namespace epiphyte::kit {

// The table lives as long as the plugin.
class OperatorTable {
 public:
  OperatorTable() = default;
  explicit OperatorTable(std::span<const Operator> operators) : operators_(operators) {
    for (const Operator& op : operators) {
      for (const OperatorAttribute& attribute : op.attributes) {
        attributes_.push_back({sizeof(EpOperatorAttribute), attribute.required ? EP_ATTRIBUTE_REQUIRED : 0,
                               attribute.name, attribute.type, 0});
      }
    }
    for (const EpOperatorAttribute& attribute : attributes_) attribute_pointers_.push_back(&attribute);
    size_t next = 0;
    for (const Operator& op : operators) {
      infos_.push_back({sizeof(EpOperatorInfo), 0, op.domain, op.name, op.since_version, op.min_inputs, op.max_inputs,
                        op.min_outputs, op.max_outputs, attribute_pointers_.data() + next, op.attributes.size()});
      next += op.attributes.size();
    }
  }

  OperatorTable(OperatorTable&&) = default;  // the vectors' elements keep their addresses
  OperatorTable& operator=(OperatorTable&&) = default;

  bool empty() const { return infos_.empty(); }
  void Get(const EpOperatorInfo** operators, uint32_t capacity, uint32_t* count) const {
    *count = static_cast<uint32_t>(infos_.size());
    for (size_t i = 0; i < infos_.size() && i < capacity; ++i) operators[i] = &infos_[i];
  }
  void Infer(const EpHostInfo& host, const EpInferenceApi* api, const EpOperatorInfo* info, const EpNode* node,
             EpInference* inference) const {
    const Operator& op = operators_[static_cast<size_t>(info - infos_.data())];
    if (op.infer != nullptr && api != nullptr) op.infer(Inference(host, *api, node, inference));
  }

 private:
  std::span<const Operator> operators_;
  std::vector<EpOperatorAttribute> attributes_;
  std::vector<const EpOperatorAttribute*> attribute_pointers_;
  std::vector<EpOperatorInfo> infos_;
};

}  // namespace epiphyte::kit
