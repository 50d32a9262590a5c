// nsdk.h has the number of each rule behind the sentence that states the rule, and no number without a rule.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include "rules.h"

namespace epiphyte::nsdk_conformance {
namespace {

// Returns the rule numbers in brackets, such as "[N182 N183]". A bracket may continue on the next line.
std::set<int> NumbersInHeader() {
  std::ifstream stream(EPIPHYTE_NSDK_HEADER);
  std::string text(std::istreambuf_iterator<char>(stream), {});
  text = std::regex_replace(text, std::regex("\n *\\*? *"), " ");
  const std::regex brackets("\\[(N[0-9]+( N[0-9]+)*)\\]"), number("[0-9]+");
  std::set<int> numbers;
  for (std::sregex_iterator at(text.begin(), text.end(), brackets), end; at != end; ++at) {
    const std::string inside = (*at)[1];
    for (std::sregex_iterator one(inside.begin(), inside.end(), number); one != std::sregex_iterator(); ++one) {
      numbers.insert(std::stoi(one->str()));
    }
  }
  return numbers;
}

TEST(RulesInHeader, EveryRuleStandsInTheHeader) {
  const std::set<int> numbers = NumbersInHeader();
  for (const Rule& rule : AllRules()) EXPECT_THAT(numbers, testing::Contains(rule.number)) << rule.text;
}

TEST(RulesInHeader, EveryNumberInTheHeaderIsARule) {
  std::set<int> known;
  for (const Rule& rule : AllRules()) known.insert(rule.number);
  for (const int number : NumbersInHeader()) EXPECT_THAT(known, testing::Contains(number));
}

TEST(Rules, AreInTheOrderOfTheirNumbersAndSayWhatToDo) {
  int last = 0;
  for (const Rule& rule : AllRules()) {
    EXPECT_GT(rule.number, last);
    last = rule.number;
    EXPECT_STRNE(rule.text, "");
    EXPECT_STRNE(rule.advice, "");
  }
}

}  // namespace
}  // namespace epiphyte::nsdk_conformance
