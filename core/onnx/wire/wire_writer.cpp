#include "core/onnx/wire/wire_writer.h"

#include <utility>

namespace epiphyte::core {
namespace {

uint64_t VarintSize(uint64_t value) {
  uint64_t size = 1;
  while (value >= 0x80) {
    value >>= 7;
    ++size;
  }
  return size;
}

}  // namespace

WireWriter::WireWriter(WireWriter counter, const ByteSink& sink)
    : sink_(&sink), message_sizes_(std::move(counter.message_sizes_)) {
  buffer_.reserve(kBufferSize);
}

void WireWriter::Raw(const void* data, uint64_t size) {
  size_ += size;
  if (IsCounting() || size == 0) return;
  if (buffer_.size() + size > kBufferSize) Flush();
  if (size > kBufferSize) {
    (*sink_)(data, size);
  } else {
    buffer_.append(static_cast<const char*>(data), size);
  }
}

void WireWriter::Flush() {
  if (!buffer_.empty()) (*sink_)(buffer_.data(), buffer_.size());
  buffer_.clear();
}

void WireWriter::Varint(uint64_t value) {
  char bytes[10];
  size_t count = 0;
  while (value >= 0x80) {
    bytes[count++] = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  bytes[count++] = static_cast<char>(value);
  Raw(bytes, count);
}

void WireWriter::Tag(uint32_t field, uint32_t wire_type) { Varint(uint64_t{field} << 3 | wire_type); }

void WireWriter::Int(uint32_t field, int64_t value) {
  Tag(field, 0);
  Varint(static_cast<uint64_t>(value));
}

void WireWriter::Float(uint32_t field, float value) {
  Tag(field, 5);
  Raw(&value, sizeof value);
}

void WireWriter::Bytes(uint32_t field, std::string_view bytes) { Bytes(field, bytes.data(), bytes.size()); }

void WireWriter::Bytes(uint32_t field, const void* data, uint64_t size) {
  Tag(field, 2);
  Varint(size);
  Raw(data, size);
}

void WireWriter::Padding(uint32_t field, uint64_t size) {
  static constexpr char kZeros[kAlignment] = {};
  Bytes(field, kZeros, size);
}

void WireWriter::AlignedBytes(uint32_t field, uint32_t padding_field, const void* data, uint64_t size) {
  const uint64_t tag_size = VarintSize(uint64_t{padding_field} << 3);
  const uint64_t unpadded = size_ + tag_size + 1 + VarintSize(uint64_t{field} << 3) + VarintSize(size);
  const uint64_t before = (kAlignment - unpadded % kAlignment) % kAlignment;
  Padding(padding_field, before);
  Bytes(field, data, size);
  Padding(padding_field, kAlignment - 1 - before);
}

void WireWriter::PackedInts(uint32_t field, const std::vector<int64_t>& values) {
  if (values.empty()) return;
  uint64_t size = 0;
  for (const int64_t value : values) size += VarintSize(static_cast<uint64_t>(value));
  Tag(field, 2);
  Varint(size);
  for (const int64_t value : values) Varint(static_cast<uint64_t>(value));
}

void WireWriter::PackedFloats(uint32_t field, const std::vector<float>& values) {
  if (!values.empty()) Bytes(field, values.data(), values.size() * sizeof(float));
}

size_t WireWriter::Begin(uint32_t field) {
  Tag(field, 2);
  if (!IsCounting()) {
    Varint(message_sizes_[next_message_]);
    return next_message_++;
  }
  message_sizes_.push_back(size_);
  return message_sizes_.size() - 1;
}

void WireWriter::End(size_t slot) {
  if (!IsCounting()) return;
  message_sizes_[slot] = size_ - message_sizes_[slot];
  size_ += VarintSize(message_sizes_[slot]);
}

}  // namespace epiphyte::core
