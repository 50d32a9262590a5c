#include "core/onnx/metadata_entry.h"

#include <utility>

#include "core/onnx/proto_fields.h"
#include "core/onnx/wire_writer.h"

namespace epiphyte::core {

std::string MetadataEntry(std::string_view key, std::string_view value) {
  const auto emit = [&](WireWriter& out) {
    out.Message(proto::model::kMetadata, [&] {
      out.Bytes(proto::entry::kKey, key);
      out.Bytes(proto::entry::kValue, value);
    });
  };
  WireWriter counter;
  emit(counter);
  std::string bytes;
  const ByteSink sink = [&](const void* data, uint64_t size) { bytes.append(static_cast<const char*>(data), size); };
  WireWriter writer(std::move(counter), sink);
  emit(writer);
  writer.Flush();
  return bytes;
}

std::optional<TrailingEntry> LastMetadataEntry(std::string_view model, std::string_view key, size_t value_size) {
  // The value comes last in it.
  const std::string entry = MetadataEntry(key, std::string(value_size, '\0'));
  if (model.size() < entry.size()) return std::nullopt;
  const size_t offset = model.size() - entry.size();
  const std::string_view before_value = std::string_view(entry).substr(0, entry.size() - value_size);
  if (model.substr(offset, before_value.size()) != before_value) return std::nullopt;
  return TrailingEntry{offset, model.substr(model.size() - value_size)};
}

}  // namespace epiphyte::core
