// WireWriter: emits protobuf messages in two passes over the same code. The first pass computes the size of every
// nested message. The second writes to a sink: each length is known before its message begins, so no message is
// buffered. Linear time at any nesting depth.
//
//   WireWriter counter;
//   Emit(counter);
//   WireWriter writer(std::move(counter), sink);
//   Emit(writer);
//   writer.Flush();
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/onnx/wire/write_options.h"

namespace epiphyte::core {

class WireWriter {
 public:
  // Makes a writer for the first pass.
  WireWriter() = default;
  // Makes a writer for the second pass, with the sizes from `counter`.
  WireWriter(WireWriter counter, const ByteSink& sink);

  bool IsCounting() const { return sink_ == nullptr; }
  uint64_t size() const { return size_; }

  void Int(uint32_t field, int64_t value);
  void Float(uint32_t field, float value);
  void Bytes(uint32_t field, std::string_view bytes);
  // Writes a length-delimited field without copying a large payload.
  void Bytes(uint32_t field, const void* data, uint64_t size);
  // Like Bytes, with the payload at a multiple of 64 bytes from the start of the output, so that a reader can view it
  // in place. Fields with number `padding_field`, which readers ignore, fill the gap. Their total size is always the
  // same.
  void AlignedBytes(uint32_t field, uint32_t padding_field, const void* data, uint64_t size);
  void PackedInts(uint32_t field, const std::vector<int64_t>& values);
  void PackedFloats(uint32_t field, const std::vector<float>& values);

  template <typename Emit>
  void Message(uint32_t field, Emit emit) {
    const size_t slot = Begin(field);
    emit();
    End(slot);
  }

  void Flush();

 private:
  size_t Begin(uint32_t field);
  void End(size_t slot);
  void Tag(uint32_t field, uint32_t wire_type);
  void Varint(uint64_t value);
  void Raw(const void* data, uint64_t size);
  void Padding(uint32_t field, uint64_t size);

  static constexpr size_t kBufferSize = 64 * 1024;
  static constexpr uint64_t kAlignment = 64;
  const ByteSink* sink_ = nullptr;
  uint64_t size_ = 0;
  std::vector<uint64_t> message_sizes_;  // counting pass: start of each message, then its size; in order of Begin
  size_t next_message_ = 0;
  std::string buffer_;
};

}  // namespace epiphyte::core
