#include "core/base/float_mode.h"

#include <array>
#include <string_view>

namespace epiphyte::core {
namespace {

#if defined(__x86_64__)

constexpr std::array<std::string_view, 4> kRounding = {"rounding to nearest", "rounding down", "rounding up",
                                                       "rounding toward zero"};
constexpr uint32_t kDenormalsAreZero = 1u << 6;
constexpr uint32_t kFlushToZero = 1u << 15;
constexpr uint32_t kVectorMasks = 0x3Fu << 7;
constexpr uint16_t kX87Masks = 0x3F;
constexpr uint16_t kX87FullPrecision = 3u << 8;

#endif

}  // namespace

void FloatMode::Restore() const {
#if defined(__x86_64__)
  uint32_t vectors = 0;
  asm volatile("stmxcsr %0" : "=m"(vectors));
  vectors = (vectors & ~kVectorControl) | static_cast<uint32_t>(bits_);
  asm volatile("ldmxcsr %0" : : "m"(vectors));
  const auto x87 = static_cast<uint16_t>(bits_ >> 32);
  asm volatile("fldcw %0" : : "m"(x87));
#elif defined(__aarch64__)
  asm volatile("msr fpcr, %0" : : "r"(bits_));
#else
  std::fesetround(static_cast<int>(bits_));
#endif
}

std::string FloatMode::ToText() const {
#if defined(__x86_64__)
  const auto vectors = static_cast<uint32_t>(bits_);
  const auto x87 = static_cast<uint16_t>(bits_ >> 32);
  std::string text(kRounding[(vectors >> 13) & 3]);
  if ((vectors & kDenormalsAreZero) != 0) text += ", denormals are zero";
  if ((vectors & kFlushToZero) != 0) text += ", tiny results become zero";
  if ((vectors & kVectorMasks) != kVectorMasks) text += ", exceptions are trapped";
  if (((x87 >> 10) & 3) != ((vectors >> 13) & 3)) text += ", x87 " + std::string(kRounding[(x87 >> 10) & 3]);
  if ((x87 & kX87FullPrecision) != kX87FullPrecision) text += ", x87 with less precision";
  if ((x87 & kX87Masks) != kX87Masks) text += ", x87 exceptions are trapped";
  return text;
#else
  return "mode " + std::to_string(bits_);
#endif
}

}  // namespace epiphyte::core
