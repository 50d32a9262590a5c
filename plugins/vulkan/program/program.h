// Program: the work of a device for inputs of given shapes, as plain data: tensors, and the dispatches that compute
// them. Operators write it (ops/recording.h), the planner gives its tensors places (memory_plan.h), exec/ records it
// into a command buffer. Nothing here knows Vulkan, so programs can be inspected, compared and tested without a device.
//
//     for (const Dispatch& dispatch : program.dispatches)
//       for (const Binding& binding : dispatch.bindings) program.tensors[binding.tensor]…
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "epiphyte/kit/shape/dims.hpp"
#include "epiphyte/kit/shape/element_type.hpp"
#include "plugins/vulkan/device/access.h"

namespace epiphyte::vulkan {

using kit::Dims;

// Location of a tensor's bytes.
enum class Place : uint8_t {
  kArena,     // memory of the program, shared with tensors that are needed at other times
  kInput,     // input `index` of the partition
  kConstant,  // constant or packed data `index` of the compiled graph, in the device's memory
  kLiteral,   // Program::literals from byte `index` on: values that are known when the program is made
  kOutput,    // output `index` of the partition, in the run's memory; set by BindOutputs (memory_plan.h)
};

// A tensor of a program. Its elements lie row-major and dense, in the format of ONNX and the host (bool one byte, int64
// eight).
struct DeviceTensor {
  EpElementType type = EP_TYPE_UNDEFINED;
  Dims dims;
  uint64_t bytes = 0;
  Place place = Place::kArena;
  uint64_t index = 0;
  int32_t same_as = -1;  // tensor that shares its memory with this one (Reshape: other dimensions); -1: none
};

struct Binding {
  int32_t tensor = -1;
  Access access = Access::kRead;
};

// One run of a shader. Its bindings are storage buffers 1, 2, …; buffer 0 holds `parameters`.
struct Dispatch {
  std::string shader;                    // name in the kernel set: "elementwise.f32"
  std::vector<uint32_t> specialization;  // specialization constants 0, 1, …
  std::vector<uint32_t> parameters;      // words that shaders/common.glsl calls p[]
  std::vector<Binding> bindings;
  std::array<uint32_t, 3> groups = {1, 1, 1};
  int32_t node = -1;           // node of the compiled graph, for profiles and reports
  uint64_t work = 0;           // multiply-adds or elements, whichever is more; long runs are divided by it
  uint64_t passes = 0;         // total loop passes of one invocation, if shapes determine them
  bool copies = false;         // copies binding 0 to binding 1 unchanged; left out if both are the same memory
  bool full_subgroups = false;  // its workgroups consist of full subgroups if the device can guarantee them
};

struct Program {
  std::vector<DeviceTensor> tensors;
  std::vector<Dispatch> dispatches;
  std::vector<std::byte> literals;  // each begins at a multiple of 256

  struct Output {
    int32_t tensor = -1;               // tensor on the device; -1: the host knows the elements
    std::vector<std::byte> host_data;  // elements that the host knows, of the type and dims below
    EpElementType type = EP_TYPE_UNDEFINED;
    Dims dims;
  };
  std::vector<Output> outputs;  // outputs of the partition, in order
  // Why a faster kernel was not chosen, by node: "matmul: shared_memory is turned off by option 'disable'".
  std::vector<std::pair<int32_t, std::string>> notes;
};

}  // namespace epiphyte::vulkan
