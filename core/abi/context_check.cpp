#include "core/abi/context_check.h"

#include <vector>

#include "core/abi/handles.h"
#include "core/base/reason.h"
#include "core/base/text.h"
#include "core/base/watched_call.h"

namespace epiphyte::core {
namespace {

constexpr size_t kReasonCapacity = 1024;

ContextCheck NoAnswer(const LoadedPlugin& plugin, std::string_view what) {
  return {ContextVerdict::kNotApplicable, fmt::format("provider '{}': CheckContext {}", plugin.name, what)};
}

}  // namespace

ContextCheck CheckContext(const LoadedPlugin& plugin, const ContextHeader& header, const ContextPlace& place) {
  if (plugin.descriptor->CheckContext == nullptr) {
    return {ContextVerdict::kNotApplicable, fmt::format("provider '{}' doesn't check contexts", plugin.name)};
  }
  const std::vector<EpKeyValue> options = KeyValues(place.options);
  const std::vector<EpKeyValue> extras = KeyValues(header.extras);
  EpContextHeader abi_header = {};
  abi_header.struct_size = sizeof(abi_header);
  abi_header.source = header.source.c_str();
  abi_header.ep_sdk_version = header.ep_sdk_version.c_str();
  abi_header.hardware_architecture = header.hardware_architecture.c_str();
  abi_header.notes = header.notes.c_str();
  abi_header.compatibility_info = header.compatibility_info.c_str();
  abi_header.devices = place.devices.data();
  abi_header.device_count = static_cast<uint32_t>(place.devices.size());
  abi_header.options = options.data();
  abi_header.option_count = static_cast<uint32_t>(options.size());
  abi_header.attributes = extras.data();
  abi_header.attribute_count = static_cast<uint32_t>(extras.size());
  abi_header.blob = header.blob.data;
  abi_header.blob_size = header.blob.data == nullptr ? 0 : header.blob.size;

  EpContextVerdict verdict = EP_CONTEXT_NOT_APPLICABLE;
  // One byte more than the plugin was promised: writing the terminating zero past the end is the most common mistake
  // with such a buffer.
  std::vector<char> reason(kReasonCapacity + 1, '\0');
  try {
    plugin.RequireUsableHere();
    const WatchedCall watched(plugin.name, "CheckContext", WatchedCall::kFolder);
    ThrowIfFailed(plugin.descriptor->CheckContext(plugin.plugin, &abi_header, &verdict, reason.data(), kReasonCapacity),
                  "failed");
  } catch (const Error& error) {
    return NoAnswer(plugin, error.what());
  } catch (const std::exception& error) {
    return NoAnswer(plugin, fmt::format("let an exception escape ({}); report this to the plugin's vendor",
                                        PrintableLine(ReasonOf(error), 512)));
  } catch (...) {
    return NoAnswer(plugin, "let an exception escape; report this to the plugin's vendor");
  }
  if (verdict > EP_CONTEXT_UNSUPPORTED) {
    return NoAnswer(plugin, fmt::format("gave verdict {}, expected 0 to {}; report this to the plugin's vendor",
                                        verdict, EP_CONTEXT_UNSUPPORTED));
  }
  ContextCheck check{static_cast<ContextVerdict>(verdict), CleanText(reason.data(), kReasonCapacity)};
  if (check.reason.empty() && check.verdict != ContextVerdict::kOptimal) {
    check.reason = fmt::format("provider '{}' gave no reason", plugin.name);
  }
  return check;
}

const char* ContextVerdictName(ContextVerdict verdict) {
  switch (verdict) {
    case ContextVerdict::kNotApplicable: return "not applicable";
    case ContextVerdict::kOptimal: return "optimal";
    case ContextVerdict::kPreferRecompilation: return "prefer recompilation";
    case ContextVerdict::kUnsupported: return "unsupported";
  }
  return "not applicable";
}

}  // namespace epiphyte::core
