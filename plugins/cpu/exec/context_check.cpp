// CheckContext: what can be said of a context without a session. Threads are a session's affair, so they are not
// compared here.
#include <algorithm>

#include "plugins/cpu/exec/context.h"

namespace epiphyte::cpu {
namespace {

std::string_view View(const char* text) { return text == nullptr ? std::string_view() : std::string_view(text); }

// Keeps the worse verdict.
struct Finding {
  EpContextVerdict verdict = EP_CONTEXT_NOT_APPLICABLE;
  std::string reason;

  void Add(EpContextVerdict other, std::string why) {
    if (other <= verdict) return;
    verdict = other;
    reason = std::move(why);
  }
  void Compare(const ContextKey& made) {
    std::string why;
    const EpContextVerdict other = cpu::Compare(made, ContextKey::Here(made.threads, made.precision == "bf16"), &why);
    Add(other, std::move(why));
  }
};

}  // namespace

EpContextVerdict CheckContextHeader(const EpContextHeader& header, std::string_view source,
                                    const KernelRegistry& registry, std::string* reason) {
  Finding finding;
  if (!View(header.source).empty() && header.source != source) {
    *reason = fmt::format("its source is '{}', the cpu provider's is '{}'", header.source, source);
    return EP_CONTEXT_NOT_APPLICABLE;
  }
  if (!View(header.compatibility_info).empty()) {
    ContextKey made;
    if (ContextKey::FromText(header.compatibility_info, &made)) {
      finding.Compare(made);
    } else {
      finding.Add(EP_CONTEXT_UNSUPPORTED,
                  "its ep_compatibility_info.cpu was not written by a version of the cpu provider that this one "
                  "understands; compile the model again");
    }
  }
  // The node's own attributes say less, but they are there when the metadata was lost, in a merged model say.
  ContextKey node = ContextKey::Here(1, false);
  constexpr std::string_view kSdk = "oneDNN ";
  const bool has_sdk = !View(header.ep_sdk_version).empty();
  const bool has_hardware = !View(header.hardware_architecture).empty();
  if (has_sdk) {
    if (View(header.ep_sdk_version).starts_with(kSdk)) {
      node.onednn = View(header.ep_sdk_version).substr(kSdk.size());
    } else {
      finding.Add(EP_CONTEXT_UNSUPPORTED, fmt::format("its ep_sdk_version is '{}', a version of oneDNN is expected; "
                                                      "compile the model again",
                                                      header.ep_sdk_version));
    }
  }
  if (has_hardware) node.isa = header.hardware_architecture;
  if (has_sdk || has_hardware) finding.Compare(node);
  if (header.blob != nullptr) {
    try {
      const LoadedContext context = LoadedContext::Parse(header.blob, header.blob_size, ContextDigests::kAll);
      finding.Compare(context.key);
      for (const LoadedPlan& plan : context.plans) VerifyPlan(plan.def, plan.packed, registry, PlanOrigin::kContext);
    } catch (const OpError& error) {
      finding.Add(EP_CONTEXT_UNSUPPORTED, error.what());
    }
  }
  if (finding.verdict == EP_CONTEXT_NOT_APPLICABLE)
    finding.reason = "nothing is said about how it was made; check it together with its binary";
  *reason = std::move(finding.reason);
  return finding.verdict;
}

}  // namespace epiphyte::cpu
