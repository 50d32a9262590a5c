// PluginSchemas: the operators that a plugin describes (ep_schema.h), with every answer checked.
//
// Unusable descriptions are left out with a warning in the log: an operator without a name, with a version below 1, or
// one of ONNX's. If a plugin fails to infer, its outputs have unknown types; only INVALID_GRAPH ends reading the model.
//
//   PluginSchemas acme(plugin);
//   const CustomOperator* op = acme.Find("acme", "Count", 2);
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/onnx/schema/operator_schemas.h"
#include "core/registry/catalog.h"
#include "epiphyte/ep_schema.h"

namespace epiphyte::core {

class PluginSchemas : public OperatorSchemas {
 public:
  // Asks the plugin once. A plugin without the extension describes nothing.
  explicit PluginSchemas(const LoadedPlugin& plugin);
  ~PluginSchemas() override;

  const CustomOperator* Find(std::string_view domain, std::string_view op_type, int64_t opset) const override;
  const std::string& plugin_name() const { return plugin_.name; }
  // The operators of a domain, each once; empty when the plugin knows none.
  std::vector<std::string_view> OperatorsOf(std::string_view domain) const;

 private:
  class Operator;
  using Key = std::pair<std::string, std::string>;  // domain and operator

  std::vector<const EpOperatorInfo*> Ask() const;
  void Add(const EpOperatorInfo* info);

  const LoadedPlugin& plugin_;
  const EpSchemaApi* api_ = nullptr;  // null: the plugin describes nothing
  std::map<Key, std::map<int64_t, std::unique_ptr<Operator>>> operators_;
};

}  // namespace epiphyte::core
