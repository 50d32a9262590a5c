// One metadata entry of a model as separate bytes, which can be appended to a written model: protobuf reads them as
// part of the model.
//
//   sink(MetadataEntry("author", "Ada"));
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
  size_t offset = 0;  // size of the model without the entry
  std::string_view key_end;
  std::string_view value;
};
// The entry with this key and a value of `value_size` bytes, if it is the last field in `model`.
std::optional<TrailingEntry> LastMetadataEntry(std::string_view model, std::string_view key, size_t value_size);
// The entry with this value and a key of `key_begin` plus `key_end_size` bytes, if it is the last field in `model`.
std::optional<TrailingEntry> LastMetadataEntry(std::string_view model, std::string_view key_begin, size_t key_end_size,
                                               std::string_view value);

// The bytes of a model as a list of pieces, without the metadata entries for which `is_dropped` returns true. Throws
// INVALID_PROTOBUF.
std::vector<std::string_view> WithoutMetadata(std::string_view model,
                                              const std::function<bool(std::string_view key)>& is_dropped);

}  // namespace epiphyte::core
