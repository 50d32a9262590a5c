#include "core/context/seal.h"

#include <optional>

#include "core/base/error.h"
#include "core/onnx/write/metadata_entry.h"

namespace epiphyte::core {
namespace {

constexpr size_t kDigits = 32;  // hex digits of an XXH3-128
constexpr std::string_view kSealValue = "xxh128";

std::string SealPrefix() { return fmt::format("{}.", kSealKey); }

struct FoundSeal {
  size_t offset = 0;
  std::string_view digest;
};

std::optional<FoundSeal> FindSeal(const void* data, uint64_t size) {
  const std::string_view model(static_cast<const char*>(data), size);
  if (const auto seal = LastMetadataEntry(model, SealPrefix(), kDigits, kSealValue)) {
    return FoundSeal{seal->offset, seal->key_end};
  }
  if (const auto seal = LastMetadataEntry(model, kSealKey, kDigits)) return FoundSeal{seal->offset, seal->value};
  return std::nullopt;
}

}  // namespace

void SealWriter::Write(const void* data, uint64_t size) {
  digest_.Update(data, size);
  sink_(data, size);
}

void SealWriter::Finish() {
  const std::string entry = MetadataEntry(SealPrefix() + digest_.Finish(), kSealValue);
  sink_(entry.data(), entry.size());
}

uint64_t SizeWithoutSeal(const void* data, uint64_t size) {
  const auto seal = FindSeal(data, size);
  return seal ? seal->offset : size;
}

SealState CheckSeal(const void* data, uint64_t size, const ProgressCallback& on_progress) {
  const auto seal = FindSeal(data, size);
  if (!seal) return SealState::kNone;
  return seal->digest == Xxh128OfMapping(data, seal->offset, nullptr, on_progress) ? SealState::kIntact
                                                                                   : SealState::kBroken;
}

void RequireSeal(const void* data, uint64_t size, const Metadata& metadata, std::string_view what,
                 const ProgressCallback& on_progress) {
  switch (CheckSeal(data, size, on_progress)) {
    case SealState::kIntact: return;
    case SealState::kBroken:
      FailHinting(Hint::kReseal, StatusCode::kInvalidGraph,
                  "{} was changed after it was written: its seal doesn't fit its bytes; {}", what, kChangeAdvice);
    case SealState::kNone: break;
  }
  // A model that lost the version entry may still have other entries of this host.
  const auto version = metadata.find(std::string(kContextVersionKey));
  const bool before_seals = version != metadata.end() && version->second == "1";
  if (HasRecords(metadata) && !before_seals) {
    FailHinting(
        Hint::kReseal, StatusCode::kInvalidGraph,
        "{} has no seal at its end, where context models of version 2 and later have one: it was changed or cut off; "
        "{}",
        what, kChangeAdvice);
  }
}

}  // namespace epiphyte::core
