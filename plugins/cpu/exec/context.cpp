#include "plugins/cpu/exec/context.h"

#include <utility>

#include "plugins/cpu/onednn/compat.h"

namespace epiphyte::cpu {
namespace {

std::string_view MachineOf(std::string_view isa) { return isa.substr(0, isa.find('/')); }
std::string_view InstructionsOf(std::string_view isa) {
  return isa.find('/') == std::string_view::npos ? std::string_view() : isa.substr(isa.find('/') + 1);
}

void AddOneDnn(const std::string& version, kit::CompatibilityKey* key) { key->Require("onednn", version, "oneDNN {}"); }
void AddIsa(std::string_view isa, kit::CompatibilityKey* key) {
  key->Require("machine", MachineOf(isa), "machine {}")
      .Prefer("isa", InstructionsOf(isa), "{}",
              "weights are converted at every load; compile the model again to avoid that");
}

// Requirements that hold for every session on this machine.
kit::CompatibilityKey KeyOfMachine(const ContextKey& here) {
  kit::CompatibilityKey key;
  key.Require("format", std::to_string(kContextFormat.version), "format {}");
  AddOneDnn(here.onednn, &key);
  key.Prefer("plugin", here.plugin, "version {} of the cpu provider",
             "it works, but compiling the model again may give better code");
  AddIsa(here.isa, &key);
  return key;
}

kit::CompatibilityKey WithPrecision(kit::CompatibilityKey key, const ContextKey& here) {
  return key.Prefer("precision", here.precision, "precision {}",
                    "it computes in the precision that it was compiled with; set the provider's option `precision` to "
                    "that, or compile the model again");
}

kit::CompatibilityKey WholeKey(const ContextKey& here) {
  return WithPrecision(KeyOfMachine(here), here).Prefer("threads", std::to_string(here.threads), "{} threads");
}

// Value of the provider's option `precision` in the session that asks; null when the host gives none.
const char* PrecisionOf(const EpContextHeader& header) {
  for (uint32_t i = 0; i < header.option_count; ++i) {
    if (std::string_view(header.options[i].key) == "precision") return header.options[i].value;
  }
  return nullptr;
}

std::string_view View(const char* text) { return text == nullptr ? std::string_view() : std::string_view(text); }

// Verdict by the context node's own attributes.
kit::ContextVerdict CheckAttributes(std::string_view sdk_version, std::string_view hardware, const ContextKey& here) {
  constexpr std::string_view kSdk = "oneDNN ";
  kit::ContextVerdict found;
  if (sdk_version.starts_with(kSdk)) {
    kit::CompatibilityKey made, key;
    AddOneDnn(std::string(sdk_version.substr(kSdk.size())), &made);
    AddOneDnn(here.onednn, &key);
    found.Worsen(key.Compare(made.ToText()));
  } else if (!sdk_version.empty()) {
    found.Worsen(kit::ContextVerdict::Unsupported(FormatText(
        "its ep_sdk_version is '{}', a version of oneDNN is expected; compile the model again", sdk_version)));
  }
  if (!hardware.empty()) {
    kit::CompatibilityKey made, key;
    AddIsa(hardware, &made);
    AddIsa(here.isa, &key);
    found.Worsen(key.Compare(made.ToText()));
  }
  return found;
}

kit::ContextVerdict CheckPayload(std::span<const std::byte> payload, const kit::CompatibilityKey& key,
                                 const KernelRegistry& registry) {
  try {
    const kit::ContextContainer container(payload, kContextFormat, kit::ContainerDigests::kAll);
    kit::ContextVerdict found = key.Compare(container.key());
    for (const std::string_view name : kit::GraphNames(container)) {
      const kit::StoredGraph stored = kit::ReadGraph(container, name, kit::GraphCheck::kLater);
      VerifyPlan(stored.graph, stored.packed, registry, PlanOrigin::kContext);
    }
    return found;
  } catch (const kit::Error& error) {
    return kit::ContextVerdict::Unsupported(error.what());
  }
}

}  // namespace

std::string Architecture() {
#if defined(__x86_64__) || defined(_M_X64)
  return "x86_64";
#elif defined(__aarch64__)
  return "aarch64";
#else
  return "unknown";
#endif
}

ContextKey ContextKey::Here(uint32_t threads, std::string precision) {
  return {OneDnnVersion(), Architecture() + "/" + EffectiveIsa(), threads, std::move(precision), EPIPHYTE_CPU_VERSION};
}

std::string ContextKey::ToText() const { return WholeKey(*this).ToText(); }

kit::ContextVerdict ContextKey::Compare(std::string_view made) const { return WholeKey(*this).Compare(made); }

void WriteContext(const ContextKey& key, std::span<const Plan* const> plans,
                  const std::function<void(const void* data, uint64_t size)>& write) {
  kit::ContextContainerBuilder builder(kContextFormat, key.ToText());
  for (const Plan* plan : plans) kit::AddGraph(builder, plan->def(), plan->packed());
  builder.Write(write);
}

std::shared_ptr<const kit::ContextContainer> OpenContext(const void* data, uint64_t size) {
  return std::make_shared<const kit::ContextContainer>(
      std::span(static_cast<const std::byte*>(data), static_cast<size_t>(size)), kContextFormat);
}

kit::ContextVerdict CheckContextHeader(const EpContextHeader& header, std::string_view source,
                                       const KernelRegistry& registry) {
  if (!View(header.source).empty() && header.source != source)
    return kit::ContextVerdict::NotApplicable(
        FormatText("its source is '{}', the cpu provider's is '{}'", header.source, source));
  const char* precision = PrecisionOf(header);
  const ContextKey here = ContextKey::Here(1, precision == nullptr ? "" : precision);
  const kit::CompatibilityKey key = precision == nullptr ? KeyOfMachine(here) : WithPrecision(KeyOfMachine(here), here);
  auto found =
      kit::ContextVerdict::NotApplicable("nothing is said about how it was made; check it together with its binary");
  if (const std::string_view info = View(header.compatibility_info); !info.empty()) found.Worsen(key.Compare(info));
  // The node's own attributes hold less, but they remain when the metadata is lost, as in a merged model.
  const std::string_view sdk_version = View(header.ep_sdk_version);
  const std::string_view hardware = View(header.hardware_architecture);
  if (!sdk_version.empty() || !hardware.empty()) found.Worsen(CheckAttributes(sdk_version, hardware, here));
  if (header.blob != nullptr) {
    const std::span payload(static_cast<const std::byte*>(header.blob), static_cast<size_t>(header.blob_size));
    found.Worsen(CheckPayload(payload, key, registry));
  }
  return found;
}

}  // namespace epiphyte::cpu
