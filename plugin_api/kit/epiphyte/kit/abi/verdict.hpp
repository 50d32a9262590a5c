// ContextVerdict: whether a context can be used here, and why not.
//
//   if (made.isa != here.isa)
//     return kit::ContextVerdict::Unsupported("made for " + made.isa + "; compile the model again");
//   return kit::ContextVerdict::Optimal();
//
//   verdict.Worsen(CompareDrivers(header));   // keeps the worse of two
//   best.Improve(JudgeFor(device, header));   // keeps the better of two
#pragma once

#include <string>
#include <utility>

#include "epiphyte/ep_context.h"
#include "epiphyte/kit/abi/error.hpp"

namespace epiphyte::kit {

struct ContextVerdict {
  EpContextVerdict verdict = EP_CONTEXT_OPTIMAL;
  std::string reason;  // one line; "" for OPTIMAL

  static ContextVerdict Optimal() { return {EP_CONTEXT_OPTIMAL, {}}; }
  // The context works, but compiling again would be better.
  static ContextVerdict PreferRecompilation(std::string reason) {
    return {EP_CONTEXT_PREFER_RECOMPILATION, std::move(reason)};
  }
  static ContextVerdict Unsupported(std::string reason) { return {EP_CONTEXT_UNSUPPORTED, std::move(reason)}; }
  // The context belongs to another plugin, or the plugin can't judge it.
  static ContextVerdict NotApplicable(std::string reason) { return {EP_CONTEXT_NOT_APPLICABLE, std::move(reason)}; }

  // Takes the other verdict when it is worse. From best to worst: NOT_APPLICABLE, OPTIMAL, PREFER_RECOMPILATION,
  // UNSUPPORTED.
  void Worsen(ContextVerdict other) {
    if (other.verdict > verdict) *this = std::move(other);
  }
  // Takes the other verdict when it is better. From worst to best: UNSUPPORTED, NOT_APPLICABLE, PREFER_RECOMPILATION,
  // OPTIMAL. For a plugin that judges a context for each of its devices: without a session, the verdict of the best
  // device counts.
  void Improve(ContextVerdict other) {
    if (Quality(other.verdict) > Quality(verdict)) *this = std::move(other);
  }
  // Throws INVALID_GRAPH for UNSUPPORTED, as loading a context must do.
  void ThrowIfUnsupported() const {
    if (verdict == EP_CONTEXT_UNSUPPORTED) throw Error(EP_STATUS_INVALID_GRAPH, reason);
  }

 private:
  static int Quality(EpContextVerdict verdict) {
    switch (verdict) {
      case EP_CONTEXT_OPTIMAL: return 3;
      case EP_CONTEXT_PREFER_RECOMPILATION: return 2;
      case EP_CONTEXT_NOT_APPLICABLE: return 1;
      default: return 0;
    }
  }
};

}  // namespace epiphyte::kit
