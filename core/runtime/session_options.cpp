#include "core/runtime/session_options.h"

#include <algorithm>
#include <array>

#include "core/base/error.h"
#include "core/base/suggest.h"

namespace epiphyte::core {
namespace {

enum class ValueKind { kFlag, kText, kLevel, kVerify, kIfEmpty, kCount, kBytes };

struct Known {
  OptionInfo info;
  ValueKind kind;
};

// Value of OptionInfo::changes_compilation for an option that affects loading or writing, but not the compiled result.
constexpr bool kRunOnly = false;

constexpr std::array kKnown = {
    Known{{"ep.context_embed_mode", "0", "1: the context's payload goes into the model; 0: into a file beside it",
           kRunOnly},
          ValueKind::kFlag},
    Known{{"ep.context_enable", "0", "1: write a context model when the session is created", kRunOnly},
          ValueKind::kFlag},
    Known{{"ep.context_file_path", "", "The context model to write; when loading from memory, what binaries are beside",
           kRunOnly},
          ValueKind::kText},
    Known{{"ep.context_model_external_initializers_file_name", "",
           "Weights of nodes that were not compiled go to this file", kRunOnly},
          ValueKind::kText},
    Known{{"ep.context_node_name_prefix", "", "Goes before the names of EPContext nodes and partitions"},
          ValueKind::kText},
    Known{{"ep.context_verify", "full",
           "full: contexts are compared with their digests before a plugin sees them; header: only their sizes",
           kRunOnly},
          ValueKind::kVerify},
    Known{{"ep.share_ep_contexts", "0", "1: sessions share weights, compiled into one payload, loaded once", kRunOnly},
          ValueKind::kFlag},
    Known{{"ep.stop_share_ep_contexts", "0",
           "1: the last session of those that compile with ep.share_ep_contexts; it writes what all have compiled",
           kRunOnly},
          ValueKind::kFlag},
    Known{{"epiphyte.context_if_empty", "skip",
           "When no provider has anything to compile: skip: warn and write no context model; error: fail and say why; "
           "plain: write the model with plain nodes alone",
           kRunOnly},
          ValueKind::kIfEmpty},
    Known{{"epiphyte.context_overwrite", "0", "1: replace existing output of ep.context_enable", kRunOnly},
          ValueKind::kFlag},
    Known{{"epiphyte.graph_optimization_level", "2", "0: none, 1: basic, 2: all provider-independent transforms"},
          ValueKind::kLevel},
    Known{{"epiphyte.share_group", "", "Which group ep.share_ep_contexts means, when there are several at once",
           kRunOnly},
          ValueKind::kText},
    Known{{"optimization.disable_specified_optimizers", "", "Names of transforms to leave out, separated by ';'"},
          ValueKind::kText},
    Known{{"session.constant_initializers", "0",
           "1: initializers that are inputs, too, are constants, so that they are compiled in and no run gives them"},
          ValueKind::kFlag},
    Known{{"session.context_cache_dir", "", "Folder where compiled models are kept and found again", kRunOnly},
          ValueKind::kText},
    Known{{"session.context_cache_max_mb", "0",
           "Size that session.context_cache_dir may reach before what was not used for longest goes; 0: no limit",
           kRunOnly},
          ValueKind::kCount},
    Known{{"session.disable_cpu_ep_fallback", "0", "1: fail instead of adding the fallback provider"},
          ValueKind::kFlag},
    Known{{"session.disable_model_compile", "0", "1: fail instead of compiling; only contexts are loaded", kRunOnly},
          ValueKind::kFlag},
    Known{{"session.fail_on_suboptimal_compiled_model", "0",
           "1: a context that its provider would rather compile again is refused instead of used with a warning",
           kRunOnly},
          ValueKind::kFlag},
    Known{{"session.max_device_bytes", "0",
           "What the values of a session may have of the memory of its devices, all together; 0: what the devices have",
           kRunOnly},
          ValueKind::kBytes},
    Known{{"session.max_nodes", "0",
           "How many nodes a model may have; 0: what three quarters of the machine's memory hold", kRunOnly},
          ValueKind::kCount},
    Known{
        {"session.max_run_bytes", "0",
         "What a run may use of memory for values, all together; 0: three quarters of the machine's memory", kRunOnly},
        ValueKind::kBytes},
    Known{{"session.max_value_bytes", "0", "What one value of a run may use of memory; 0: half of the machine's memory",
           kRunOnly},
          ValueKind::kBytes},
    Known{{"session.model_external_initializers_file_folder_path", "", "Where external data of the model is looked for",
           kRunOnly},
          ValueKind::kText},
};

constexpr auto MakeInfos() {
  std::array<OptionInfo, kKnown.size()> infos{};
  for (size_t i = 0; i < kKnown.size(); ++i) infos[i] = kKnown[i].info;
  return infos;
}
constexpr auto kInfos = MakeInfos();

const Known& Find(std::string_view key) {
  for (const Known& known : kKnown) {
    if (known.info.key == key) return known;
  }
  std::array<std::string_view, kKnown.size()> keys;
  std::transform(kKnown.begin(), kKnown.end(), keys.begin(), [](const Known& known) { return known.info.key; });
  std::string_view nearest = Nearest(key, keys);
  if (nearest.empty()) {
    Fail(StatusCode::kInvalidArgument, "session option '{}' is unknown; known are: {}", key, fmt::join(keys, ", "));
  }
  Fail(StatusCode::kInvalidArgument, "session option '{}' is unknown; did you mean '{}'?", key, nearest);
}

}  // namespace

std::span<const OptionInfo> KnownSessionOptions() { return kInfos; }

void SessionOptions::Set(std::string_view key, std::string_view value) {
  const Known& known = Find(key);
  bool fits = true;
  std::string_view expected;
  switch (known.kind) {
    case ValueKind::kFlag:
      fits = value == "0" || value == "1";
      expected = "0 or 1";
      break;
    case ValueKind::kLevel:
      fits = value == "0" || value == "1" || value == "2";
      expected = "0, 1 or 2";
      break;
    case ValueKind::kVerify:
      fits = value == "full" || value == "header";
      expected = "full or header";
      break;
    case ValueKind::kIfEmpty:
      fits = value == "skip" || value == "error" || value == "plain";
      expected = "skip, error or plain";
      break;
    case ValueKind::kCount:
    case ValueKind::kBytes:
      fits = !value.empty() && value.size() <= (known.kind == ValueKind::kBytes ? 18 : 12) &&
             value.find_first_not_of("0123456789") == std::string_view::npos;
      expected = "a whole number";
      break;
    case ValueKind::kText:
      fits = value.size() <= 8192 && value.find('\0') == std::string_view::npos;
      expected = "text of at most 8192 bytes without zero bytes";
      break;
  }
  if (!fits) {
    Fail(StatusCode::kInvalidArgument, "session option '{}' is '{}', expected {}", key, value.substr(0, 64), expected);
  }
  values_.insert_or_assign(std::string(key), std::string(value));
}

std::string SessionOptions::Get(std::string_view key) const {
  auto found = values_.find(key);
  return found != values_.end() ? found->second : std::string(Find(key).info.default_value);
}

}  // namespace epiphyte::core
