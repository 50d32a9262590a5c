#include "core/runtime/session_schemas.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/suggest.h"
#include "core/onnx/microsoft_functions.h"
#include "core/runtime/provider_list.h"

namespace epiphyte::core {

void SessionSchemas::Load() const {
  if (loaded_) return;
  for (const ChosenProvider& chosen : ChooseProviders(catalog_, config_)) {
    plugins_.push_back(std::make_unique<PluginSchemas>(*chosen.plugin));
  }
  loaded_ = true;
}

const CustomOperator* SessionSchemas::Find(std::string_view domain, std::string_view op_type, int64_t opset) const {
  Load();
  for (const auto& plugin : plugins_) {
    if (const CustomOperator* found = plugin->Find(domain, op_type, opset)) return found;
  }
  return nullptr;
}

std::string SessionSchemas::WhyUnknown(std::string_view domain, std::string_view op_type, int64_t opset) const {
  if (!IsCustomOperator(domain, op_type) || Find(domain, op_type, opset) != nullptr) return {};
  for (const auto& plugin : plugins_) {
    const std::vector<std::string_view> operators = plugin->OperatorsOf(domain);
    if (operators.empty()) continue;
    if (std::find(operators.begin(), operators.end(), op_type) != operators.end()) {
      return fmt::format("plugin '{}' brings {}.{}, but not for version {} of the domain, which the model imports",
                         plugin->plugin_name(), domain, op_type, opset);
    }
    const std::string_view nearest = Nearest(op_type, operators);
    return fmt::format("plugin '{}' brings the domain '{}', but no operator of that name{}", plugin->plugin_name(),
                       domain, nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest));
  }
  if (const std::string nearest = NearestMicrosoftOperator(op_type); domain == kMicrosoftDomain && !nearest.empty())
    return fmt::format("no operator of that name is known in the domain '{}'; did you mean {}?", domain, nearest);
  if (config_.providers.empty()) {
    return fmt::format("no installed plugin knows the domain '{}'; install the one that brings it", domain);
  }
  return fmt::format(
      "none of the session's plugins knows the domain '{}'; install the one that brings it, or add it to "
      "the session's list",
      domain);
}

}  // namespace epiphyte::core
