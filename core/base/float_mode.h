// Float mode: how this thread rounds, what it does with denormals, and which floating-point exceptions end it.
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
  // Some cycles: it is asked twice in each call of a plugin.
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
  // Leaves the flags of exceptions that have been raised as they are.
  void Restore() const;
  // For messages: "rounding up, denormals are zero".
  std::string ToText() const;

  bool operator==(const FloatMode&) const = default;

 private:
  // Of MXCSR: all but the six flags.
  static constexpr uint32_t kVectorControl = 0xFFC0;

  uint64_t bits_ = 0;
};

}  // namespace epiphyte::core
