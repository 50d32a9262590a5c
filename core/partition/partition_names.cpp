#include "core/partition/partition_names.h"

namespace epiphyte::core {
namespace {

// Names go into context models once for each partition; a hostile graph name must not multiply.
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

std::string PartitionNames::Next(std::string_view graph, std::string_view provider) {
  std::string stem = prefix_ + Sanitized(graph.empty() ? "graph" : graph) + '_' + Sanitized(provider) + '_';
  const uint64_t number = used_[stem]++;
  return stem + std::to_string(number);
}

}  // namespace epiphyte::core
