// SessionSchemas: the operators that the providers of a session describe, in the session's order.
//
// The plugins are chosen and asked at the first operator that isn't ONNX's. A model without one opens no library for
// it. Not thread-safe.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/abi/plugin_schemas.h"
#include "core/onnx/schema/operator_schemas.h"
#include "core/runtime/provider_list.h"

namespace epiphyte::core {

class SessionSchemas : public OperatorSchemas {
 public:
  // `providers` must outlive this object. `has_list`: the session has a list of providers.
  SessionSchemas(const ChosenProviders& providers, bool has_list) : providers_(providers), has_list_(has_list) {}

  // Throws as ChosenProviders::Get does.
  const CustomOperator* Find(std::string_view domain, std::string_view op_type, int64_t opset) const override;
  // Describes what the session's plugins know of an operator that no provider runs; "" when it is ONNX's or described.
  std::string WhyUnknown(std::string_view domain, std::string_view op_type, int64_t opset) const;

 private:
  void Load() const;

  const ChosenProviders& providers_;
  const bool has_list_;
  mutable bool loaded_ = false;
  mutable std::vector<std::unique_ptr<PluginSchemas>> plugins_;
};

}  // namespace epiphyte::core
