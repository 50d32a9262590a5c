#include "core/context/seal.h"

#include "core/base/error.h"
#include "core/onnx/metadata_entry.h"

namespace epiphyte::core {
namespace {

constexpr size_t kDigits = 32;  // of an XXH3-128

}  // namespace

void SealWriter::Write(const void* data, uint64_t size) {
  digest_.Update(data, size);
  sink_(data, size);
}

void SealWriter::Finish() {
  const std::string entry = MetadataEntry(kSealKey, digest_.Finish());
  sink_(entry.data(), entry.size());
}

uint64_t SizeWithoutSeal(const void* data, uint64_t size) {
  const auto seal = LastMetadataEntry({static_cast<const char*>(data), size}, kSealKey, kDigits);
  return seal ? seal->offset : size;
}

SealState CheckSeal(const void* data, uint64_t size, const Pulse& pulse) {
  const auto seal = LastMetadataEntry({static_cast<const char*>(data), size}, kSealKey, kDigits);
  if (!seal) return SealState::kNone;
  return seal->value == Xxh128OfMapping(data, seal->offset, nullptr, pulse) ? SealState::kIntact : SealState::kBroken;
}

void RequireSeal(const void* data, uint64_t size, const Metadata& metadata, std::string_view what, const Pulse& pulse) {
  constexpr std::string_view kAdvice =
      "restore the file or compile the model again; if you changed it on purpose, renew the seal with ResealContext";
  switch (CheckSeal(data, size, pulse)) {
    case SealState::kIntact: return;
    case SealState::kBroken:
      FailHinting(Hint::kReseal, StatusCode::kInvalidGraph,
                  "{} was changed after it was written: its seal doesn't fit its bytes; {}", what, kAdvice);
    case SealState::kNone: break;
  }
  // A model that lost the entry with the version has other entries of ours.
  const auto version = metadata.find(std::string(kContextVersionKey));
  const bool before_seals = version != metadata.end() && version->second == "1";
  if (HasRecords(metadata) && !before_seals) {
    FailHinting(
        Hint::kReseal, StatusCode::kInvalidGraph,
        "{} has no seal at its end, where context models of version 2 and later have one: it was changed or cut off; "
        "{}",
        what, kAdvice);
  }
}

}  // namespace epiphyte::core
