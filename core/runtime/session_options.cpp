#include "core/runtime/session_options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "core/base/error.h"
#include "core/base/suggest.h"

namespace epiphyte::core {
namespace {

constexpr uint64_t kBytesPerMegabyte = uint64_t{1} << 20;

// How the text of an option becomes a value. `set` returns whether the text fits; it changes nothing when it doesn't.
struct OptionParser {
  std::string_view expected;  // for the message: "0 or 1"
  bool (*set)(std::string_view text, SessionValues& values);
};

// The field that a path of pointers to members leads to.
template <typename Values, typename Member, typename... Rest>
auto& FieldOf(Values& values, Member Values::*first, Rest... rest) {
  if constexpr (sizeof...(rest) == 0) {
    return values.*first;
  } else {
    return FieldOf(values.*first, rest...);
  }
}

// In all of these `kField` is the path from SessionValues to the option's field.
template <auto... kField>
bool SetFlag(std::string_view text, SessionValues& values) {
  if (text != "0" && text != "1") return false;
  FieldOf(values, kField...) = text == "1";
  return true;
}
template <auto... kField>
constexpr OptionParser kFlag = {"0 or 1", SetFlag<kField...>};

bool IsText(std::string_view text) { return text.size() <= 8192 && text.find('\0') == std::string_view::npos; }

template <auto... kField>
bool SetText(std::string_view text, SessionValues& values) {
  if (!IsText(text)) return false;
  FieldOf(values, kField...) = std::string(text);
  return true;
}
constexpr std::string_view kTextExpected = "text of at most 8192 bytes without zero bytes";
template <auto... kField>
constexpr OptionParser kText = {kTextExpected, SetText<kField...>};

template <auto... kField>
bool SetNames(std::string_view text, SessionValues& values) {
  if (!IsText(text)) return false;
  std::vector<std::string>& names = FieldOf(values, kField...);
  names.clear();
  while (!text.empty()) {
    const std::string_view name = text.substr(0, text.find(';'));
    if (!name.empty()) names.emplace_back(name);
    text.remove_prefix(std::min(text.size(), name.size() + 1));
  }
  return true;
}
template <auto... kField>
constexpr OptionParser kNameList = {kTextExpected, SetNames<kField...>};

// Takes whole numbers of at most `kMostDigits` digits, and stores them times `kUnit`.
template <size_t kMostDigits, uint64_t kUnit, auto... kField>
bool SetNumber(std::string_view text, SessionValues& values) {
  if (text.empty() || text.size() > kMostDigits || text.find_first_not_of("0123456789") != std::string_view::npos)
    return false;
  uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  FieldOf(values, kField...) = number * kUnit;
  return true;
}
template <auto... kField>
constexpr OptionParser kCount = {"a whole number", SetNumber<12, 1, kField...>};
template <auto... kField>
constexpr OptionParser kMegabytes = {"a whole number", SetNumber<12, kBytesPerMegabyte, kField...>};
template <auto... kField>
constexpr OptionParser kByteCount = {"a whole number", SetNumber<18, 1, kField...>};

bool SetLevel(std::string_view text, SessionValues& values) {
  if (text != "0" && text != "1" && text != "2") return false;
  values.optimization_level = text[0] - '0';
  return true;
}

bool SetVerify(std::string_view text, SessionValues& values) {
  if (text != "full" && text != "header") return false;
  values.context.verify_digests = text == "full";
  return true;
}

bool SetIfEmpty(std::string_view text, SessionValues& values) {
  using IfEmpty = SessionValues::Context::IfEmpty;
  constexpr std::array<std::pair<std::string_view, IfEmpty>, 3> kChoices = {
      {{"skip", IfEmpty::kSkip}, {"error", IfEmpty::kError}, {"plain", IfEmpty::kPlain}}};
  for (const auto& [name, choice] : kChoices) {
    if (text != name) continue;
    values.context.if_empty = choice;
    return true;
  }
  return false;
}

struct Known {
  OptionInfo info;
  OptionParser parser;
};

constexpr OptionAffects kRunOnly = OptionAffects::kRunOnly;
constexpr auto kContext = &SessionValues::context;
constexpr auto kShare = &SessionValues::share;
constexpr auto kCache = &SessionValues::cache;

constexpr std::array kKnown = {
    Known{{"ep.context_embed_mode", "0", "1: the context's payload goes into the model; 0: into a file beside it",
           kRunOnly},
          kFlag<kContext, &SessionValues::Context::embed>},
    Known{{"ep.context_enable", "0", "1: write a context model when the session is created", kRunOnly},
          kFlag<kContext, &SessionValues::Context::enable>},
    Known{{"ep.context_file_path", "", "The context model to write; when loading from memory, what binaries are beside",
           kRunOnly},
          kText<kContext, &SessionValues::Context::file_path>},
    Known{{"ep.context_model_external_initializers_file_name", "",
           "Weights of nodes that were not compiled go to this file", kRunOnly},
          kText<kContext, &SessionValues::Context::external_initializers>},
    Known{{"ep.context_node_name_prefix", "", "Goes before the names of EPContext nodes and partitions"},
          kText<kContext, &SessionValues::Context::node_name_prefix>},
    Known{{"ep.context_verify", "full",
           "full: contexts are compared with their digests before a plugin sees them; header: only their sizes",
           kRunOnly},
          OptionParser{"full or header", SetVerify}},
    Known{{"ep.share_ep_contexts", "0", "1: sessions share weights, compiled into one payload, loaded once", kRunOnly},
          kFlag<kShare, &SessionValues::Share::enable>},
    Known{{"ep.stop_share_ep_contexts", "0",
           "1: the last session of those that compile with ep.share_ep_contexts; it writes what all have compiled",
           kRunOnly},
          kFlag<kShare, &SessionValues::Share::stop>},
    Known{{"epiphyte.context_if_empty", "skip",
           "When no provider has anything to compile: skip: warn and write no context model; error: fail and say why; "
           "plain: write the model with plain nodes alone",
           kRunOnly},
          OptionParser{"skip, error or plain", SetIfEmpty}},
    Known{{"epiphyte.context_overwrite", "0", "1: replace existing output of ep.context_enable", kRunOnly},
          kFlag<kContext, &SessionValues::Context::overwrite>},
    Known{{"epiphyte.graph_optimization_level", "2", "0: none, 1: basic, 2: all provider-independent transforms"},
          OptionParser{"0, 1 or 2", SetLevel}},
    Known{{"epiphyte.share_group", "", "Which group ep.share_ep_contexts means, when there are several at once",
           kRunOnly},
          kText<kShare, &SessionValues::Share::group>},
    Known{{"optimization.disable_specified_optimizers", "", "Names of transforms to leave out, separated by ';'"},
          kNameList<&SessionValues::disabled_optimizers>},
    Known{{"session.constant_initializers", "0",
           "1: initializers that are inputs, too, are constants, so that they are compiled in and no run gives them"},
          kFlag<&SessionValues::constant_initializers>},
    Known{{"session.context_cache_dir", "", "Folder where compiled models are kept and found again", kRunOnly},
          kText<kCache, &SessionValues::Cache::folder>},
    Known{{"session.context_cache_max_mb", "0",
           "Size that session.context_cache_dir may reach before what was not used for longest goes; 0: no limit",
           kRunOnly},
          kMegabytes<kCache, &SessionValues::Cache::max_bytes>},
    Known{{"session.disable_cpu_ep_fallback", "0", "1: fail instead of adding the fallback provider"},
          kFlag<&SessionValues::disable_fallback>},
    Known{{"session.disable_model_compile", "0", "1: fail instead of compiling; only contexts are loaded", kRunOnly},
          kFlag<&SessionValues::disable_compile>},
    Known{{"session.fail_on_suboptimal_compiled_model", "0",
           "1: a context that its provider would rather compile again is refused instead of used with a warning",
           kRunOnly},
          kFlag<kContext, &SessionValues::Context::refuse_suboptimal>},
    Known{{"session.max_device_bytes", "0",
           "What the values of a session may have of the memory of its devices, all together; 0: what the devices have",
           kRunOnly},
          kByteCount<&SessionValues::max_device_bytes>},
    Known{{"session.max_nodes", "0",
           "How many nodes a model may have; 0: what three quarters of the machine's memory hold", kRunOnly},
          kCount<&SessionValues::max_nodes>},
    Known{
        {"session.max_run_bytes", "0",
         "What a run may use of memory for values, all together; 0: three quarters of the machine's memory", kRunOnly},
        kByteCount<&SessionValues::max_run_bytes>},
    Known{{"session.max_value_bytes", "0", "What one value of a run may use of memory; 0: half of the machine's memory",
           kRunOnly},
          kByteCount<&SessionValues::max_value_bytes>},
    Known{{"session.model_external_initializers_file_folder_path", "", "Where external data of the model is looked for",
           kRunOnly},
          kText<&SessionValues::external_data_folder>},
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

SessionOptions::SessionOptions() {
  for (const Known& known : kKnown) {
    if (known.info.affects == OptionAffects::kCompilation)
      compiling_options.emplace_back(known.info.key, known.info.default_value);
  }
}

void SessionOptions::Set(std::string_view key, std::string_view value) {
  const Known& known = Find(key);
  if (!known.parser.set(value, *this)) {
    Fail(StatusCode::kInvalidArgument, "session option '{}' is '{}', expected {}", key, value.substr(0, 64),
         known.parser.expected);
  }
  texts_.insert_or_assign(std::string(key), std::string(value));
  for (auto& [compiling, text] : compiling_options) {
    if (compiling == key) text = value;
  }
}

std::string SessionOptions::Get(std::string_view key) const {
  const auto found = texts_.find(key);
  return found != texts_.end() ? found->second : std::string(Find(key).info.default_value);
}

}  // namespace epiphyte::core
