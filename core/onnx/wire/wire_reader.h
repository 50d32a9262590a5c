// WireReader: walks one protobuf message in place, field by field. Nothing is copied; a length-delimited field is a
// view of the input. Every length is checked against the end of the message before it is used.
//
//   WireReader reader(bytes, "NodeProto");
//   for (WireField field; reader.Next(&field);) {
//     if (field.number == 4) op_type = field.Bytes();
//   }
//
// All errors are INVALID_PROTOBUF and name the message and the position.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace epiphyte::core {

// Maximum depth of nested graphs, and of nested types. Deeper input is refused, because recursion must be bounded; real
// models stay far below.
inline constexpr int kMaxNesting = 64;

enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct WireField {
  uint32_t number = 0;
  WireType type = WireType::kVarint;
  uint64_t scalar = 0;       // varint, fixed64, fixed32
  std::string_view bytes;    // kBytes
  const char* message = "";  // for errors

  // These throw when the field has another wire type.
  std::string_view Bytes() const;
  uint64_t Varint() const;
  int64_t Int64() const { return static_cast<int64_t>(Varint()); }
  int32_t Int32() const { return static_cast<int32_t>(Varint()); }
  float Float() const;

  // Repeated numbers come packed or one by one; both forms append here.
  void AppendInts(std::vector<int64_t>* out) const;
  void AppendFloats(std::vector<float>* out) const;

  // The number of numbers in this field, in packed or single form.
  uint64_t CountVarints() const;
  uint64_t CountFixed(uint32_t width) const;
};

class WireReader {
 public:
  // `message` names the message in errors and must outlive the reader.
  WireReader(std::string_view bytes, const char* message)
      : begin_(bytes.data()), next_(bytes.data()), end_(bytes.data() + bytes.size()), message_(message) {}

  // The next field; false at the end of the message.
  bool Next(WireField* field);
  // Number of bytes read. After Next it is the end of the field.
  uint64_t Offset() const { return static_cast<uint64_t>(next_ - begin_); }

 private:
  friend struct WireField;
  uint64_t ReadVarint();
  uint64_t ReadFixed(uint32_t width);

  const char* begin_;
  const char* next_;
  const char* end_;
  const char* message_;
};

}  // namespace epiphyte::core
