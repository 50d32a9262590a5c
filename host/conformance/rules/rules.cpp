#include "host/conformance/rules/rules.h"

#include <algorithm>
#include <iterator>

namespace epiphyte::conformance {
namespace {

constexpr RuleText kRules[] = {
#define EPIPHYTE_RULE(name, number, header, text, advice) {Rule::name, header, text, advice},
#include "host/conformance/rules/rules.inc"
#undef EPIPHYTE_RULE
};
static_assert(std::is_sorted(std::begin(kRules), std::end(kRules),
                             [](const RuleText& a, const RuleText& b) { return a.rule < b.rule; }));

}  // namespace

std::span<const RuleText> AllRules() { return kRules; }

const RuleText& TextOf(Rule rule) {
  return *std::lower_bound(std::begin(kRules), std::end(kRules), rule,
                           [](const RuleText& text, Rule wanted) { return text.rule < wanted; });
}

}  // namespace epiphyte::conformance
