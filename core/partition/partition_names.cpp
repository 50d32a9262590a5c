#include "core/partition/partition_names.h"

namespace epiphyte::core {
namespace {

// Bound on the length of a part: a name goes into the context model for each partition, so a hostile graph name must
// not multiply.
constexpr size_t kLongestPart = 96;

std::string Sanitized(std::string_view text) {
  std::string name(text.substr(0, kLongestPart));
  for (char& c : name) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
    if (!plain) c = '_';
  }
  return name;
}

}  // namespace

std::string PartitionNames::Next(std::string_view prefix, std::string_view graph, std::string_view provider) {
  const std::string stem =
      std::string(prefix) + Sanitized(graph.empty() ? "graph" : graph) + '_' + Sanitized(provider) + '_';
  uint64_t& number = next_[stem];
  for (;;) {
    std::string name = stem + std::to_string(number++);
    if (taken_.insert(name).second) return name;
  }
}

}  // namespace epiphyte::core
