// Parameter inputs: an axis, a bound, a scale, a flag, a zero point. They come from files and from runs, so type and
// number of elements are checked before an element is read.
//
//     const int64_t k = IntegerParameter(context, 1, "K");
//     const float ratio = FloatParameter(context, 1, "ratio");
//     const Tensor& scale = ParameterPerItem(context, 4, "w_scale", filters, "filter", kFloats);
//
// Errors name the input by index and name, what was found and what is expected.
#pragma once

#include <cstdint>
#include <string_view>

#include "plugins/cpu/kernel/kernel.h"

namespace epiphyte::cpu {

// Types that ONNX uses for axes, positions and sizes.
inline constexpr TypeSet kIndexTypes = Types(EP_TYPE_INT32, EP_TYPE_INT64);
inline constexpr TypeSet kByteTypes = Types(EP_TYPE_INT8, EP_TYPE_UINT8);

// Returns input i, which must have exactly one element, any shape, and one of `types`.
const Tensor& Parameter(OpContext& context, size_t i, std::string_view name, TypeSet types);
// Like Parameter, but returns null when the input is left out.
const Tensor* OptionalParameter(OpContext& context, size_t i, std::string_view name, TypeSet types);
// Returns input i with one element for all, or one for each of `count` items. `item`: "filter", "row".
const Tensor& ParameterPerItem(OpContext& context, size_t i, std::string_view name, int64_t count,
                               std::string_view item, TypeSet types);

// The parameter's value. Unsigned values above INT64_MAX become INT64_MAX.
int64_t IntegerParameter(OpContext& context, size_t i, std::string_view name, TypeSet types = kIndexTypes);
double RealParameter(OpContext& context, size_t i, std::string_view name, TypeSet types = kFloats);
float FloatParameter(OpContext& context, size_t i, std::string_view name, TypeSet types = kFloats);
bool FlagParameter(OpContext& context, size_t i, std::string_view name);

// The value of a tensor that Parameter has checked.
int64_t IntegerIn(const Tensor& one);
double RealIn(const Tensor& one);

}  // namespace epiphyte::cpu
