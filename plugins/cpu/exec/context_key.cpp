#include <charconv>

#include "plugins/cpu/exec/context.h"
#include "plugins/cpu/exec/context_format.h"
#include "plugins/cpu/onednn/compat.h"

namespace epiphyte::cpu {

std::string Architecture() {
#if defined(__x86_64__) || defined(_M_X64)
  return "x86_64";
#elif defined(__aarch64__)
  return "aarch64";
#else
  return "unknown";
#endif
}

ContextKey ContextKey::Here(uint32_t threads, bool bfloat16) {
  return {OneDnnVersion(), Architecture() + "/" + EffectiveIsa(), threads, bfloat16 ? "bf16" : "f32",
          EPIPHYTE_CPU_VERSION};
}

std::string ContextKey::ToText() const {
  return fmt::format("format={};plugin={};onednn={};isa={};threads={};precision={}", kContextFormat, plugin, onednn,
                     isa, threads, precision);
}

bool ContextKey::FromText(std::string_view text, ContextKey* key) {
  *key = ContextKey();
  bool format_fits = false;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(';'));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const size_t equals = item.find('=');
    if (equals == std::string_view::npos) return false;
    const std::string_view name = item.substr(0, equals);
    const std::string_view value = item.substr(equals + 1);
    if (name == "format") format_fits = value == std::to_string(kContextFormat);
    if (name == "onednn") key->onednn = value;
    if (name == "isa") key->isa = value;
    if (name == "threads") std::from_chars(value.data(), value.data() + value.size(), key->threads);
    if (name == "precision") key->precision = value;
    if (name == "plugin") key->plugin = value;
  }
  return format_fits && !key->onednn.empty() && !key->isa.empty();
}

EpContextVerdict Compare(const ContextKey& made, const ContextKey& here, std::string* reason) {
  const auto machine = [](const ContextKey& key) { return key.isa.substr(0, key.isa.find('/')); };
  if (made.onednn != here.onednn) {
    *reason = fmt::format("made with oneDNN {}, this is oneDNN {}; compile the model again", made.onednn, here.onednn);
    return EP_CONTEXT_UNSUPPORTED;
  }
  if (machine(made) != machine(here)) {
    *reason = fmt::format("made for {}, this is {}; compile the model again", made.isa, here.isa);
    return EP_CONTEXT_UNSUPPORTED;
  }
  if (made.plugin != here.plugin) {
    *reason = fmt::format(
        "made by version {} of the cpu provider, this is {}; it works, but compiling the model again "
        "may give better code",
        made.plugin, here.plugin);
    return EP_CONTEXT_PREFER_RECOMPILATION;
  }
  if (made.isa != here.isa) {
    *reason = fmt::format(
        "made for {}, this is {}: weights are converted at every load; compile the model again to "
        "avoid that",
        made.isa, here.isa);
    return EP_CONTEXT_PREFER_RECOMPILATION;
  }
  if (made.precision != here.precision) {
    *reason = fmt::format("made for precision {}, {} is set; compile the model again", made.precision, here.precision);
    return EP_CONTEXT_PREFER_RECOMPILATION;
  }
  if (made.threads != here.threads) {
    *reason = fmt::format("made for {} threads, {} are used; compile the model again for the best speed", made.threads,
                          here.threads);
    return EP_CONTEXT_PREFER_RECOMPILATION;
  }
  reason->clear();
  return EP_CONTEXT_OPTIMAL;
}

}  // namespace epiphyte::cpu
