// Commands: what a program does on a device, as plain data.
//
//     list.commands.push_back({.shader = "add.f32", .parameters = {n}, .bindings = {{x, Access::kRead}, …}});
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "plugins/vulkan/device/access.h"
#include "plugins/vulkan/device/device.h"

namespace epiphyte::vulkan {

// A dispatch or a copy. A dispatch binds `parameters` as buffer 0 and its bindings as storage buffers 1, 2, …. Without
// a shader the command copies its first binding to its second, which has the same size.
struct Command {
  struct Binding {
    BufferRange range;  // used if there is no slot
    Access access = Access::kRead;
    int32_t slot = -1;  // index in CommandList::slots; -1: none
  };
  std::string shader;
  std::vector<uint32_t> specialization;  // specialization constants 0, 1, …
  std::vector<uint32_t> parameters;
  std::vector<Binding> bindings;
  std::array<uint32_t, 3> groups = {1, 1, 1};
  uint64_t work = 0;    // multiply-adds or elements: a run is divided into submissions of about as much work
  bool copies = false;  // copies the first binding to the second; left out if both are the same range
  // Subgroups have the device's full size if it guarantees that; workgroups are a multiple of them.
  bool full_subgroups = false;
};

struct CommandList {
  std::vector<Command> commands;
  std::vector<uint64_t> slots;  // bytes of each slot
};

struct CommandTime {
  uint64_t start_ns = 0;  // since the first command's start
  uint64_t duration_ns = 0;
};

}  // namespace epiphyte::vulkan
