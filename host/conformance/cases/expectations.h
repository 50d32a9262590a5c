// Expectations: the cases that are known to fail, one name a line, `#` begins a comment. The list can't rot: a case
// that fails without being listed is a surprise, and so is one that is listed and passes or doesn't exist.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace epiphyte::conformance {

std::set<std::string> ReadExpectations(const std::filesystem::path& file);

struct CaseResult {
  std::string name;
  std::string failure;  // empty: passed
};

// One line for each surprise.
std::vector<std::string> FindSurprises(const std::set<std::string>& expected_failures,
                                       const std::vector<CaseResult>& results);

}  // namespace epiphyte::conformance
