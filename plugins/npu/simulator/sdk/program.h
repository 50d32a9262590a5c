// Loading: a blob becomes a program of a context.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "plugins/npu/simulator/sdk/objects.h"

namespace epiphyte::npusim {

std::unique_ptr<NsdkProgram> LoadProgram(NsdkContext& context, std::span<const std::byte> bytes,
                                         const NsdkLoadOptions& options);

}  // namespace epiphyte::npusim
