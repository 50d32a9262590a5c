// Imports the kit's sets of element types under the names that kernels use.
#pragma once

#include "epiphyte/kit/signature/type_set.hpp"
#include "plugins/cpu/kernel/tensor.h"

namespace epiphyte::cpu {

using kit::Contains;
using kit::kAnyType;
using kit::kFloats;
using kit::kIntegers;
using kit::kNumbers;
using kit::kSigned;
using kit::kUnsigned;
using kit::TypeBit;
using kit::TypeNames;
using kit::Types;
using kit::TypeSet;

}  // namespace epiphyte::cpu
