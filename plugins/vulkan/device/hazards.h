// Hazards: which commands must wait for earlier ones because they touch the same memory.
//
//     Hazards hazards;
//     for (const Command& command : commands) {
//       const std::optional<Hazards::Stages> before = hazards.Add(touches, Hazards::kShader);
//       if (before) RecordBarrier(*before → kShader | kTransfer);
//     }
//
// A barrier is one for all memory and all that comes later: after it nothing earlier is waited for any more.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace epiphyte::vulkan {

// `size` bytes from `begin` of a piece of memory, which `memory` names.
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

  // A command that touches all of these at once, in one stage. Gives the stages that it must wait for; nothing when it
  // needs no barrier.
  std::optional<Stages> Add(std::span<const Touch> touches, Stages stage);

 private:
  bool Meets(const Touch& touch) const;

  std::map<uint64_t, std::vector<Touch>> since_;  // touches since the last barrier, by memory
  Stages stages_ = 0;                             // stages of these touches
};

}  // namespace epiphyte::vulkan
