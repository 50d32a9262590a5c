// Float mode: a thread's rounding mode, its treatment of denormals, and its unmasked floating-point exceptions.
//
//   const FloatMode before = FloatMode::Current();
//   …
//   if (FloatMode::Current() != before) before.Restore();
#pragma once

#include <cstdint>
#include <string>

#if !defined(__x86_64__) && !defined(__aarch64__)
#include <cfenv>
#endif

namespace epiphyte::core {

class FloatMode {
 public:
  // Takes a few cycles, because it is called twice in each call of a plugin.
  static FloatMode Current() {
    FloatMode mode;
#if defined(__x86_64__)
    uint32_t vectors = 0;
    uint16_t x87 = 0;
    asm volatile("stmxcsr %0" : "=m"(vectors));
    asm volatile("fnstcw %0" : "=m"(x87));
    mode.bits_ = (vectors & kVectorControl) | (uint64_t{x87} << 32);
#elif defined(__aarch64__)
    asm volatile("mrs %0, fpcr" : "=r"(mode.bits_));
#else
    mode.bits_ = static_cast<uint64_t>(std::fegetround());
#endif
    return mode;
  }
  // The flags of exceptions that have been raised stay as they are.
  void Restore() const;
  // For messages: "rounding up, denormals are zero".
  std::string ToText() const;

  bool operator==(const FloatMode&) const = default;

 private:
  // All bits of MXCSR except the six exception flags.
  static constexpr uint32_t kVectorControl = 0xFFC0;

  uint64_t bits_ = 0;
};

}  // namespace epiphyte::core
