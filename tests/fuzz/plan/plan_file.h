// PlanFile: a context of the cpu provider taken apart, so that anything in it can be changed, and put together again.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "epiphyte/kit/container/graph.hpp"

namespace epiphyte::fuzz {

struct PlanFile {
  std::string key;
  std::vector<kit::StoredGraph> plans;
  std::shared_ptr<const std::string> bytes;  // storage of all tensors that are not changed
};

// Nothing when the bytes are no context that can be read.
std::optional<PlanFile> OpenPlanFile(std::string_view bytes);

// The bytes of a context container with these plans. Each tensor that has data must have as many bytes as its type and
// dims say.
std::string BytesOf(const PlanFile& file);

}  // namespace epiphyte::fuzz
