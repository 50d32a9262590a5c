// The headers state rule numbers beside the declarations. Each rule must be in the header that its table names, and
// each number must have a rule.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "host/conformance/rules/rules.h"

namespace epiphyte::conformance {
namespace {

// Returns, for each header, the rule numbers that it has in brackets ("[R206 R319]").
std::map<std::string, std::set<int>> NumbersInHeaders() {
  std::map<std::string, std::set<int>> numbers;
  const std::filesystem::path folder = std::filesystem::path(EPIPHYTE_SOURCE_DIR) / "plugin_api/include/epiphyte";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".h") continue;
    std::ifstream stream(entry.path());
    std::string text(std::istreambuf_iterator<char>(stream), {});
    // A bracket may continue on the next line.
    text = std::regex_replace(text, std::regex("\n *\\*? *"), " ");
    const std::regex brackets("\\[(R[0-9]+( R[0-9]+)*)\\]");
    const std::regex number("[0-9]+");
    for (std::sregex_iterator at(text.begin(), text.end(), brackets), end; at != end; ++at) {
      const std::string inside = (*at)[1];
      for (std::sregex_iterator one(inside.begin(), inside.end(), number); one != std::sregex_iterator(); ++one) {
        numbers[entry.path().filename().string()].insert(std::stoi(one->str()));
      }
    }
  }
  return numbers;
}

// Rules about whole models have no sentence of their own.
bool HasASentence(Rule rule) { return static_cast<int>(rule) / 100 != 11; }

TEST(RulesInHeaders, EveryRuleStandsInItsHeader) {
  std::map<std::string, std::set<int>> numbers = NumbersInHeaders();
  size_t rules = 0;
  for (const RuleText& text : AllRules()) {
    ++rules;
    if (!HasASentence(text.rule)) continue;
    EXPECT_THAT(numbers[text.header], testing::Contains(static_cast<int>(text.rule)))
        << text.header << ": " << text.text;
  }
  EXPECT_GE(rules, 80u);
}

TEST(RulesInHeaders, EveryNumberInAHeaderIsARule) {
  std::set<int> known;
  for (const RuleText& text : AllRules()) known.insert(static_cast<int>(text.rule));
  for (const auto& [header, numbers] : NumbersInHeaders()) {
    for (const int number : numbers) EXPECT_THAT(known, testing::Contains(number)) << header;
  }
}

TEST(Rules, SayWhatToDo) {
  for (const RuleText& text : AllRules()) {
    EXPECT_STRNE(text.text, "");
    EXPECT_STRNE(text.advice, "");
  }
}

}  // namespace
}  // namespace epiphyte::conformance
