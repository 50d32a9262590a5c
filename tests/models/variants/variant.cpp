#include "tests/models/variants/variant.h"

namespace epiphyte::test {

VariantName SplitVariant(std::string_view name) {
  static constexpr Variant kVariants[] = {
      {"_f16", ToFloat16, MakeFloat16, "_f16"},   {"_int8", ToDynamicInt8, nullptr, "_int8"},
      {"_int4", ToMatMulNBits, nullptr, "_int4"}, {"_int4_dq", ToBlockDequantized, nullptr, "_int4"},
      {"_opset9", ToOpset9, nullptr, ""},         {"_tf", ToTensorFlow, MakeChannelsLast, ""}};
  for (const Variant& variant : kVariants) {
    if (!name.ends_with(variant.suffix)) continue;
    name.remove_suffix(variant.suffix.size());
    return {name, &variant};
  }
  return {name, nullptr};
}

}  // namespace epiphyte::test
