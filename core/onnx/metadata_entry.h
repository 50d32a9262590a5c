// One entry of a model's metadata by itself, as bytes behind a written model: protobuf takes what follows as part of
// it.
//
//   sink(MetadataEntry("author", "somebody"));
//   if (auto last = LastMetadataEntry(bytes, "author", 8)) … last->value …
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace epiphyte::core {

std::string MetadataEntry(std::string_view key, std::string_view value);

struct TrailingEntry {
  size_t offset = 0;  // where the model without it ends
  std::string_view value;
};
// The entry of that key with a value of that many bytes, if it is the last thing in `model`.
std::optional<TrailingEntry> LastMetadataEntry(std::string_view model, std::string_view key, size_t value_size);

}  // namespace epiphyte::core
