// One entry of a model's metadata by itself, as bytes behind a written model: protobuf takes what follows as part of
// it.
//
//   sink(MetadataEntry("author", "somebody"));
//   if (auto last = LastMetadataEntry(bytes, "author", 8)) … last->value …
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace epiphyte::core {

std::string MetadataEntry(std::string_view key, std::string_view value);

struct TrailingEntry {
  size_t offset = 0;  // where the model without it ends
  std::string_view key_end;
  std::string_view value;
};
// The entry of that key with a value of that many bytes, if it is the last thing in `model`.
std::optional<TrailingEntry> LastMetadataEntry(std::string_view model, std::string_view key, size_t value_size);
// The entry of that value with a key of `key_begin` and as many bytes more, likewise.
std::optional<TrailingEntry> LastMetadataEntry(std::string_view model, std::string_view key_begin, size_t key_end_size,
                                               std::string_view value);

// The bytes of a model in pieces, without the entries of its metadata whose keys `is_dropped` names. Throws
// INVALID_PROTOBUF.
std::vector<std::string_view> WithoutMetadata(std::string_view model,
                                              const std::function<bool(std::string_view key)>& is_dropped);

}  // namespace epiphyte::core
