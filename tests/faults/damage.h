// Damage: alters one file of a context model set in every way that a table lists, and each time loads and runs the
// model.
//
//   DamageReport report = TryDamage(model, file, EveryTruncation(size), options, expected);
//   EXPECT_EQ(report.failures, {}) ;
//
// The runs are in forked children. A crash or a hang is then one failure among others, and the rest is still tried.
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
  uint8_t mask = 0;  // bits to flip; 0: truncate the file at `at`
  std::string Describe() const;
};

std::vector<Damage> EveryTruncation(uint64_t size);
inline constexpr std::array<uint8_t, 3> kFlipMasks = {0x01, 0x80, 0xff};
// Returns flips of every byte with each of the masks.
std::vector<Damage> EveryFlip(uint64_t size);

// Acceptable outcomes for a model that loads. A refusal is always acceptable.
enum class Tolerance {
  kCorrectOnly,  // only the right numbers
  kAnyNumbers,   // digests are off: any numbers and any status, but no crash and no hang
};

struct DamageReport {
  uint64_t refused = 0;               // INVALID_GRAPH or INVALID_PROTOBUF
  uint64_t harmless = 0;              // number of runs with the right numbers
  uint64_t other = 0;                 // another status or other numbers; always 0 for kCorrectOnly
  std::vector<std::string> failures;  // descriptions of the first failures
  std::string Summary() const;
};

// `file` is `model` or a file beside it. Its content is restored afterwards.
DamageReport TryDamage(const std::filesystem::path& model, const std::filesystem::path& file,
                       const std::vector<Damage>& damages, const SessionOptions& options, const Numbers& expected,
                       Tolerance tolerance = Tolerance::kCorrectOnly);

}  // namespace epiphyte::test
