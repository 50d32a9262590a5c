#include "core/onnx/infer/attribute_guard.h"

#include <algorithm>
#include <array>

#include "core/onnx/infer/node_inference.h"

namespace epiphyte::core {
namespace {

// Far above realistic values, and low enough that products and sums of a few values don't overflow.
constexpr int64_t kLargest = int64_t{1} << 31;

struct AllowedRange {
  std::string_view attribute;
  int64_t least;
};

constexpr auto kRanges = std::to_array<AllowedRange>({
    {"strides", 1},
    {"dilations", 1},
    {"kernel_shape", 1},
    {"output_shape", 0},
    {"pads", -kLargest},
    {"output_padding", 0},
    {"blocksize", 1},
    {"block_size", 1},
    {"group", 1},
    {"hidden_size", 1},
    {"axis", -kLargest},
    {"axes", -kLargest},
    {"perm", 0},
    {"split", 0},
    {"starts", INT64_MIN},
    {"ends", INT64_MIN},
});

void CheckPermutation(const NodeInference& node, const Attribute& perm) {
  const Shape* input = node.shape(0);
  if (input == nullptr) return;
  std::vector<bool> seen(input->size(), false);
  bool valid = perm.ints().size() == input->size();
  for (const int64_t axis : perm.ints()) {
    if (!valid || axis >= static_cast<int64_t>(seen.size()) || seen[static_cast<size_t>(axis)]) {
      node.Reject("attribute 'perm' is no permutation of {} axes", input->size());
    }
    seen[static_cast<size_t>(axis)] = true;
  }
}

}  // namespace

void CheckAttributeValues(const NodeInference& node) {
  const auto inputs = static_cast<int64_t>(node.node().inputs().size());
  if (node.node().FindAttribute("num_scan_inputs") != nullptr) {
    const int64_t scanned = node.node().IntAttribute("num_scan_inputs", 0);
    if (scanned < 1 || scanned > inputs)
      node.Reject("attribute 'num_scan_inputs' has the value {}, 1 to {} expected", scanned, inputs);
  }
  for (const auto& attribute : node.node().attributes()) {
    if (attribute->ints().empty()) continue;
    const auto range = std::ranges::find(kRanges, attribute->name(), &AllowedRange::attribute);
    if (range == kRanges.end()) continue;
    const int64_t most = range->least == INT64_MIN ? INT64_MAX : kLargest;
    for (const int64_t value : attribute->ints()) {
      if (value >= range->least && value <= most) continue;
      node.Reject("attribute '{}' has the value {}, {} to {} expected", attribute->name(), value, range->least, most);
    }
    if (attribute->name() == "perm") CheckPermutation(node, *attribute);
  }
}

}  // namespace epiphyte::core
