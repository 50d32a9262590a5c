#include "core/base/suggest.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <vector>

namespace epiphyte::core {
namespace {

// Longer names are no typing errors, and the edit distance costs time proportional to the product of the lengths.
constexpr size_t kMaxLength = 128;

bool SameLetter(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

// Counts insertions, deletions, substitutions and swaps of neighbours, ignoring case.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before_previous(b.size() + 1);
  std::vector<size_t> previous(b.size() + 1);
  std::vector<size_t> current(b.size() + 1);
  std::iota(previous.begin(), previous.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substitution = previous[j - 1] + (SameLetter(a[i - 1], b[j - 1]) ? 0 : 1);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, substitution});
      const bool swapped = i > 1 && j > 1 && SameLetter(a[i - 1], b[j - 2]) && SameLetter(a[i - 2], b[j - 1]);
      if (swapped) current[j] = std::min(current[j], before_previous[j - 2] + 1);
    }
    std::swap(before_previous, previous);
    std::swap(previous, current);
  }
  return previous[b.size()];
}

}  // namespace

std::string_view Nearest(std::string_view name, std::span<const std::string_view> candidates) {
  if (name.empty() || name.size() > kMaxLength) return {};
  std::string_view nearest;
  size_t smallest = std::max<size_t>(1, name.size() / 3) + 1;
  for (const std::string_view candidate : candidates) {
    if (candidate.size() > kMaxLength) continue;
    const size_t distance = EditDistance(name, candidate);
    // A distance as long as the candidate means that the names have nothing in common.
    if (distance < smallest && distance < candidate.size()) {
      smallest = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

}  // namespace epiphyte::core
