#include "host/conformance/cases/expectations.h"

#include <algorithm>
#include <fstream>
#include <stdexcept>

namespace epiphyte::conformance {

std::set<std::string> ReadExpectations(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream) throw std::runtime_error("can't read " + file.string());
  std::set<std::string> names;
  for (std::string line; std::getline(stream, line);) {
    line.resize(std::min(line.find('#'), line.size()));
    const size_t end = line.find_last_not_of(" \t\r");
    if (end != std::string::npos) names.insert(line.substr(0, end + 1));
  }
  return names;
}

std::vector<std::string> FindSurprises(const std::set<std::string>& expected_failures,
                                       const std::vector<CaseResult>& results) {
  std::vector<std::string> surprises;
  std::set<std::string> unseen = expected_failures;
  for (const CaseResult& result : results) {
    const bool expected = unseen.erase(result.name) > 0;
    if (expected && result.failure.empty()) {
      surprises.push_back(result.name + " passes but is listed; take it off the list");
    } else if (!expected && !result.failure.empty()) {
      surprises.push_back(result.name + " fails and is not listed");
    }
  }
  for (const std::string& name : unseen) surprises.push_back(name + " is listed but there is no such case");
  return surprises;
}

}  // namespace epiphyte::conformance
