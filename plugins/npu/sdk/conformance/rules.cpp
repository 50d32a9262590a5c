#include "rules.h"

namespace epiphyte::nsdk_conformance {

std::span<const Rule> AllRules() {
  static constexpr Rule kRules[] = {
#define NSDK_RULE(number, check, text, advice) {number, text, advice, check},
#include "rules.inc"
#undef NSDK_RULE
  };
  return kRules;
}

}  // namespace epiphyte::nsdk_conformance
