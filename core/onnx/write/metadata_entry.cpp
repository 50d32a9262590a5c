#include "core/onnx/write/metadata_entry.h"

#include <utility>

#include "core/onnx/wire/proto_fields.h"
#include "core/onnx/wire/wire_reader.h"
#include "core/onnx/wire/wire_writer.h"

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

namespace {

// Whether `model` ends with `entry`, ignoring `count` bytes of it from offset `at` on.
bool EndsWith(std::string_view model, std::string_view entry, size_t at, size_t count) {
  if (model.size() < entry.size()) return false;
  const std::string_view end = model.substr(model.size() - entry.size());
  return end.substr(0, at) == entry.substr(0, at) && end.substr(at + count) == entry.substr(at + count);
}

std::string_view KeyOf(std::string_view entry) {
  std::string_view key;
  WireReader reader(entry, "StringStringEntryProto");
  for (WireField field; reader.Next(&field);) {
    if (field.number == proto::entry::kKey) key = field.Bytes();
  }
  return key;
}

}  // namespace

std::optional<TrailingEntry> LastMetadataEntry(std::string_view model, std::string_view key, size_t value_size) {
  // The value is the last part of the entry.
  const std::string entry = MetadataEntry(key, std::string(value_size, '\0'));
  if (!EndsWith(model, entry, entry.size() - value_size, value_size)) return std::nullopt;
  return TrailingEntry{model.size() - entry.size(), {}, model.substr(model.size() - value_size)};
}

std::optional<TrailingEntry> LastMetadataEntry(std::string_view model, std::string_view key_begin, size_t key_end_size,
                                               std::string_view value) {
  const std::string entry = MetadataEntry(std::string(key_begin) + std::string(key_end_size, '\0'), value);
  const size_t at = entry.find(key_begin) + key_begin.size();
  if (!EndsWith(model, entry, at, key_end_size)) return std::nullopt;
  const size_t offset = model.size() - entry.size();
  return TrailingEntry{offset, model.substr(offset + at, key_end_size), model.substr(model.size() - value.size())};
}

std::vector<std::string_view> WithoutMetadata(std::string_view model,
                                              const std::function<bool(std::string_view key)>& is_dropped) {
  std::vector<std::string_view> pieces;
  size_t begin = 0;  // start of the next piece
  WireReader reader(model, "ModelProto");
  for (size_t field_begin = 0;;) {
    WireField field;
    if (!reader.Next(&field)) break;
    const auto field_end = static_cast<size_t>(reader.Offset());
    if (field.number == proto::model::kMetadata && is_dropped(KeyOf(field.Bytes()))) {
      if (field_begin != begin) pieces.push_back(model.substr(begin, field_begin - begin));
      begin = field_end;
    }
    field_begin = field_end;
  }
  if (begin != model.size()) pieces.push_back(model.substr(begin));
  return pieces;
}

}  // namespace epiphyte::core
