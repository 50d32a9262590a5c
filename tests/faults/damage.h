// Damage: one file of a context model set, altered in every way that a table says, and each time loaded and run.
//
//   DamageReport report = TryDamage(model, file, EveryTruncation(size), options, expected);
//   EXPECT_EQ(report.failures, {}) ;
//
// Runs in forked children, so that a crash or a hang is one failure among others and the rest is still tried.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/faults/contexts.h"

namespace epiphyte::test {

struct Damage {
  uint64_t at = 0;
  uint8_t mask = 0;  // bits to flip; 0: the file ends at `at`
  std::string Describe() const;
};

std::vector<Damage> EveryTruncation(uint64_t size);
inline constexpr std::array<uint8_t, 3> kFlipMasks = {0x01, 0x80, 0xff};
// Every byte with each of the masks.
std::vector<Damage> EveryFlip(uint64_t size);

// Results that are acceptable for a loaded model, besides refusal.
enum class Tolerance {
  kCorrectOnly,  // only the right numbers
  kAnyNumbers,   // digests are off: any numbers and any status, but no crash and no hang
};

struct DamageReport {
  uint64_t refused = 0;               // INVALID_GRAPH or INVALID_PROTOBUF
  uint64_t harmless = 0;              // right numbers
  uint64_t other = 0;                 // another status or other numbers; none for kCorrectOnly
  std::vector<std::string> failures;  // the first ones
  std::string Summary() const;
};

// `file` is `model` or a file beside it; it is as before afterwards.
DamageReport TryDamage(const std::filesystem::path& model, const std::filesystem::path& file,
                       const std::vector<Damage>& damages, const SessionOptions& options, const Numbers& expected,
                       Tolerance tolerance = Tolerance::kCorrectOnly);

}  // namespace epiphyte::test
