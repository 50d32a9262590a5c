// Hazards: which commands must wait for earlier ones because they touch the same memory.
//
//     Hazards hazards;
//     for (const Command& command : commands) {
//       const std::optional<Hazards::Stages> before = hazards.Add(touches, Hazards::kShader);
//       if (before) RecordBarrier(*before → kShader | kTransfer);
//     }
//
// A barrier covers all memory and all later commands. After it no command waits for anything before it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace epiphyte::vulkan {

// An access to `size` bytes from `begin` on, in the memory that `memory` identifies.
struct Touch {
  uint64_t memory = 0;
  uint64_t begin = 0;
  uint64_t size = 0;
  bool read = false;
  bool write = false;
};

class Hazards {
 public:
  using Stages = uint32_t;
  static constexpr Stages kShader = 1;
  static constexpr Stages kTransfer = 2;

  // Adds a command that makes all these accesses in one stage. Returns the stages that the command must wait for, or
  // nothing if it needs no barrier.
  std::optional<Stages> Add(std::span<const Touch> touches, Stages stage);

 private:
  bool Meets(const Touch& touch) const;

  std::map<uint64_t, std::vector<Touch>> since_;  // touches since the last barrier, by memory
  Stages stages_ = 0;                             // stages of these touches
};

}  // namespace epiphyte::vulkan
