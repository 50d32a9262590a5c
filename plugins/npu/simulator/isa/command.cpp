#include "plugins/npu/simulator/isa/command.h"

namespace epiphyte::npusim {

const char* CommandName(const QuantizedOp& work) {
  static constexpr const char* kNames[] = {"LOAD", "STORE",  "FILL",    "CONV",      "POST",  "ELEMENTWISE",
                                           "POOL", "LOOKUP", "SOFTMAX", "LAYERNORM", "RESIZE"};
  static_assert(std::size(kNames) == std::variant_size_v<QuantizedOp>);
  return kNames[work.index()];
}

}  // namespace epiphyte::npusim
