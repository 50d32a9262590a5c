#include "core/runtime/session_config.h"

#include <charconv>
#include <sstream>
#include <string_view>

namespace epiphyte::core {
namespace {

constexpr uint64_t kMegabyte = uint64_t{1} << 20;

uint64_t Number(const std::string& text) {
  uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::vector<std::string> SplitNames(const std::string& list) {
  std::vector<std::string> names;
  std::istringstream stream(list);
  for (std::string name; std::getline(stream, name, ';');) {
    if (!name.empty()) names.push_back(name);
  }
  return names;
}

}  // namespace

SessionConfig::SessionConfig(const SessionOptions& options) : SessionSettings(options) {
  const auto text = [&](std::string_view key) { return options.Get(key); };
  const auto flag = [&](std::string_view key) { return options.Get(key) == "1"; };
  const auto number = [&](std::string_view key) { return Number(options.Get(key)); };

  context.enable = flag("ep.context_enable");
  context.embed = flag("ep.context_embed_mode");
  context.overwrite = flag("epiphyte.context_overwrite");
  const std::string if_empty = text("epiphyte.context_if_empty");
  if (if_empty == "error") context.if_empty = Context::IfEmpty::kError;
  if (if_empty == "plain") context.if_empty = Context::IfEmpty::kPlain;
  context.file_path = text("ep.context_file_path");
  context.external_initializers = text("ep.context_model_external_initializers_file_name");
  context.node_name_prefix = text("ep.context_node_name_prefix");
  context.verify_digests = text("ep.context_verify") == "full";
  context.refuse_suboptimal = flag("session.fail_on_suboptimal_compiled_model");

  share.enable = flag("ep.share_ep_contexts");
  share.stop = flag("ep.stop_share_ep_contexts");
  share.group = text("epiphyte.share_group");

  cache.folder = text("session.context_cache_dir");
  cache.max_bytes = number("session.context_cache_max_mb") * kMegabyte;

  optimization_level = static_cast<int>(number("epiphyte.graph_optimization_level"));
  disabled_optimizers = SplitNames(text("optimization.disable_specified_optimizers"));
  external_data_folder = text("session.model_external_initializers_file_folder_path");
  constant_initializers = flag("session.constant_initializers");
  disable_fallback = flag("session.disable_cpu_ep_fallback");
  disable_compile = flag("session.disable_model_compile");
  max_device_bytes = number("session.max_device_bytes");
  max_nodes = number("session.max_nodes");
  max_run_bytes = number("session.max_run_bytes");
  max_value_bytes = number("session.max_value_bytes");

  for (const OptionInfo& option : KnownSessionOptions()) {
    if (option.changes_compilation) compiling_options.emplace_back(option.key, options.Get(option.key));
  }
}

MemoryLimits SessionConfig::LimitsOfRuns(uint64_t memory) const {
  return {.value_bytes = max_value_bytes != 0 ? max_value_bytes : memory / 2,
          .run_bytes = max_run_bytes != 0 ? max_run_bytes : memory / 4 * 3};
}

}  // namespace epiphyte::core
