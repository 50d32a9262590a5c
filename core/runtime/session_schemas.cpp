#include "core/runtime/session_schemas.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/suggest.h"
#include "core/onnx/microsoft/microsoft_functions.h"

namespace epiphyte::core {

void SessionSchemas::Load() const {
  if (loaded_) return;
  for (const ChosenProvider& chosen : providers_.Get()) {
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
  std::vector<std::string_view> known;
  std::string bringer;
  for (const auto& plugin : plugins_) {
    const std::vector<std::string_view> operators = plugin->OperatorsOf(domain);
    if (operators.empty()) continue;
    if (std::find(operators.begin(), operators.end(), op_type) != operators.end()) {
      return fmt::format("plugin '{}' brings {}.{}, but not for version {} of the domain, which the model imports",
                         plugin->plugin_name(), domain, op_type, opset);
    }
    known.insert(known.end(), operators.begin(), operators.end());
    if (bringer.empty()) bringer = plugin->plugin_name();
  }
  // The core knows operators of this domain, too.
  const bool is_microsoft = domain == kMicrosoftDomain;
  const std::string nearest_of_core = is_microsoft ? NearestMicrosoftOperator(op_type) : "";
  if (!nearest_of_core.empty()) known.push_back(nearest_of_core);
  const std::string_view nearest = Nearest(op_type, known);
  const std::string advice = nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest);
  if (is_microsoft && !known.empty())
    return fmt::format("no operator of that name is known in the domain '{}'{}", domain, advice);
  if (!bringer.empty())
    return fmt::format("plugin '{}' brings the domain '{}', but no operator of that name{}", bringer, domain, advice);
  if (!has_list_) {
    return fmt::format("no installed plugin knows the domain '{}'; install the one that brings it", domain);
  }
  return fmt::format(
      "none of the session's plugins knows the domain '{}'; install the one that brings it, or add it to "
      "the session's list",
      domain);
}

}  // namespace epiphyte::core
