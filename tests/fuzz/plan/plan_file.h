// PlanFile: the parts of a context of the cpu provider. Any part can be changed before the file is written again.
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
  std::shared_ptr<const std::string> bytes;  // storage of all unchanged tensors
};

// Returns nothing when the bytes are not a readable context.
std::optional<PlanFile> OpenPlanFile(std::string_view bytes);

// Returns a context container with these plans. Each tensor that has data must have as many bytes as its type and dims
// require.
std::string BytesOf(const PlanFile& file);

}  // namespace epiphyte::fuzz
