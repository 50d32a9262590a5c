#include "core/onnx/wire/wire_reader.h"

#include <limits>

#include "core/base/error.h"

namespace epiphyte::core {
namespace {

[[noreturn]] void WrongWireType(const WireField& field, std::string_view expected) {
  Fail(StatusCode::kInvalidProtobuf,
       "field {} of {} has wire type {}, {} expected; the file is damaged or no ONNX model", field.number,
       field.message, static_cast<int>(field.type), expected);
}

}  // namespace

uint64_t WireReader::ReadVarint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    if (next_ == end_) {
      Fail(StatusCode::kInvalidProtobuf, "{} ends inside a number at byte {}; the file is truncated or damaged",
           message_, Offset());
    }
    const auto byte = static_cast<uint8_t>(*next_++);
    if (shift == 63 && byte > 1) break;
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  Fail(StatusCode::kInvalidProtobuf, "{} has a number of more than 64 bits at byte {}; the file is damaged", message_,
       Offset());
}

uint64_t WireReader::ReadFixed(uint32_t width) {
  if (static_cast<uint64_t>(end_ - next_) < width) {
    Fail(StatusCode::kInvalidProtobuf, "{} ends inside a {}-byte number at byte {}; the file is truncated or damaged",
         message_, width, Offset());
  }
  uint64_t value = 0;
  std::memcpy(&value, next_, width);
  next_ += width;
  return value;
}

bool WireReader::Next(WireField* field) {
  if (next_ == end_) return false;
  const uint64_t start = Offset();
  const uint64_t tag = ReadVarint();
  const uint64_t number = tag >> 3;
  if (number == 0 || number > (1u << 29) - 1) {
    Fail(StatusCode::kInvalidProtobuf, "{} has field number {} at byte {}; the file is damaged or no ONNX model",
         message_, number, start);
  }
  field->number = static_cast<uint32_t>(number);
  field->message = message_;
  field->bytes = {};
  field->scalar = 0;
  switch (tag & 7) {
    case 0:
      field->type = WireType::kVarint;
      field->scalar = ReadVarint();
      return true;
    case 1:
      field->type = WireType::kFixed64;
      field->scalar = ReadFixed(8);
      return true;
    case 5:
      field->type = WireType::kFixed32;
      field->scalar = ReadFixed(4);
      return true;
    case 2: {
      field->type = WireType::kBytes;
      const uint64_t size = ReadVarint();
      const auto left = static_cast<uint64_t>(end_ - next_);
      if (size > left) {
        Fail(StatusCode::kInvalidProtobuf,
             "field {} of {} at byte {} needs {} bytes, {} are left; the file is truncated or damaged", number,
             message_, start, size, left);
      }
      field->bytes = {next_, size};
      next_ += size;
      return true;
    }
    default:
      Fail(StatusCode::kInvalidProtobuf, "{} has wire type {} at byte {}; the file is damaged or no ONNX model",
           message_, tag & 7, start);
  }
}

std::string_view WireField::Bytes() const {
  if (type != WireType::kBytes) WrongWireType(*this, "2 (bytes)");
  return bytes;
}

uint64_t WireField::Varint() const {
  if (type != WireType::kVarint) WrongWireType(*this, "0 (integer)");
  return scalar;
}

float WireField::Float() const {
  if (type != WireType::kFixed32) WrongWireType(*this, "5 (float)");
  const auto bits = static_cast<uint32_t>(scalar);
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

uint64_t WireField::CountVarints() const {
  if (type == WireType::kVarint) return 1;
  if (type != WireType::kBytes) WrongWireType(*this, "0 or 2 (integers)");
  uint64_t count = 0;
  for (const char byte : bytes) count += (static_cast<uint8_t>(byte) & 0x80) == 0 ? 1 : 0;
  return count;
}

uint64_t WireField::CountFixed(uint32_t width) const {
  if (type == (width == 4 ? WireType::kFixed32 : WireType::kFixed64)) return 1;
  if (type != WireType::kBytes) WrongWireType(*this, width == 4 ? "5 or 2 (floats)" : "1 or 2 (doubles)");
  if (bytes.size() % width != 0) {
    Fail(StatusCode::kInvalidProtobuf, "field {} of {} has {} bytes, a multiple of {} expected; the file is damaged",
         number, message, bytes.size(), width);
  }
  return bytes.size() / width;
}

void WireField::AppendInts(std::vector<int64_t>* out) const {
  if (type == WireType::kVarint) {
    out->push_back(static_cast<int64_t>(scalar));
    return;
  }
  out->reserve(out->size() + CountVarints());
  WireReader reader(bytes, message);
  while (reader.next_ != reader.end_) out->push_back(static_cast<int64_t>(reader.ReadVarint()));
}

void WireField::AppendFloats(std::vector<float>* out) const {
  const uint64_t count = CountFixed(4);
  if (type == WireType::kFixed32) {
    out->push_back(Float());
    return;
  }
  if (count == 0) return;
  const size_t old_size = out->size();
  out->resize(old_size + count);
  std::memcpy(out->data() + old_size, bytes.data(), bytes.size());
}

}  // namespace epiphyte::core
