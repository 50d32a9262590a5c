// PlanFile: a context of the cpu provider taken apart, so that anything in it can be changed, and sealed again: digests
// and sizes fit, whatever it says.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan_mutable_generated.h"

namespace epiphyte::fuzz {

struct PlanFile {
  fb::ContextT context;               // its sections are filled in by Seal
  std::vector<std::string> sections;  // the bytes of each

  uint32_t AddSection(std::string bytes) {
    sections.push_back(std::move(bytes));
    return static_cast<uint32_t>(sections.size() - 1);
  }
};

// Nothing when the bytes are no context whose table can be read.
std::optional<PlanFile> OpenPlanFile(std::string_view bytes);
std::string Seal(PlanFile file);

}  // namespace epiphyte::fuzz
