// Expectations: the cases that are known to fail, one name per line; `#` begins a comment. The list stays current: it
// is an error if an unlisted case fails, or if a listed case passes or doesn't exist.
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

// Returns one line for each case that contradicts the list.
std::vector<std::string> FindSurprises(const std::set<std::string>& expected_failures,
                                       const std::vector<CaseResult>& results);

}  // namespace epiphyte::conformance
