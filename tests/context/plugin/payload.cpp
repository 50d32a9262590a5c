#include "tests/context/plugin/payload.h"

#include <algorithm>
#include <cstring>

namespace epiphyte::recorder {
namespace {

class Writer {
 public:
  template <typename T>
  void Number(T value) {
    Raw(&value, sizeof(value));
  }
  void Count(size_t count) { Number(static_cast<uint32_t>(count)); }
  void Raw(const void* data, size_t size) { bytes_.append(static_cast<const char*>(data), size); }
  std::string& bytes() { return bytes_; }

 private:
  std::string bytes_;
};

class Reader {
 public:
  Reader(std::string_view bytes, std::string_view magic) : rest_(bytes), magic_(magic) {}

  template <typename T>
  T Number() {
    T value;
    std::memcpy(&value, Raw(sizeof(T)).data(), sizeof(T));
    return value;
  }
  // Reads a count of items of at least `size` bytes each. Refuses a count that the remaining bytes can't hold, before
  // anything is allocated.
  uint32_t Count(size_t size) {
    auto count = Number<uint32_t>();
    if (count > rest_.size() / size) Refuse("it ends too early");
    return count;
  }
  uint32_t Below(uint64_t limit) {
    auto index = Number<uint32_t>();
    if (index >= limit)
      Refuse("index " + std::to_string(index) + " found, below " + std::to_string(limit) + " expected");
    return index;
  }
  std::string_view Raw(uint64_t size) {
    if (size > rest_.size()) Refuse("it ends too early");
    std::string_view raw = rest_.substr(0, static_cast<size_t>(size));
    rest_.remove_prefix(static_cast<size_t>(size));
    return raw;
  }
  [[noreturn]] void Refuse(const std::string& why) const {
    throw kit::Error(EP_STATUS_INVALID_GRAPH, "the payload is none of " + magic_ + "'s: " + why + "; compile again");
  }

 private:
  std::string_view rest_;
  std::string magic_;
};

Tensor ReadTensor(Reader& reader) {
  Tensor tensor;
  uint64_t count = 1;
  for (uint32_t i = reader.Count(sizeof(int64_t)); i > 0; --i) {
    tensor.dims.push_back(reader.Number<int64_t>());
    if (tensor.dims.back() < 0 || tensor.dims.back() > (int64_t{1} << 24)) reader.Refuse("a size is out of range");
    count *= static_cast<uint64_t>(tensor.dims.back());
    if (count > (uint64_t{1} << 32)) reader.Refuse("a tensor is too large");
  }
  std::string_view data = reader.Raw(count * sizeof(float));
  tensor.data.resize(static_cast<size_t>(count));
  if (!data.empty()) std::memcpy(tensor.data.data(), data.data(), data.size());
  return tensor;
}

Program ReadProgram(Reader& reader, size_t tensor_count) {
  constexpr size_t kMostSlots = 1 << 20;
  Program program;
  program.name = reader.Raw(reader.Count(1));
  program.input_count = reader.Below(kMostSlots);
  program.slot_count = reader.Below(kMostSlots);
  if (program.input_count > program.slot_count) reader.Refuse("more inputs than slots");
  // Every slot must be written before it is read.
  std::vector<bool> filled(program.slot_count, false);
  std::fill_n(filled.begin(), program.input_count, true);
  auto readable = [&] {
    uint32_t slot = reader.Below(program.slot_count);
    if (!filled[slot]) reader.Refuse("a step reads what nothing has made");
    return slot;
  };
  for (uint32_t i = reader.Count(8); i > 0; --i) {
    uint32_t slot = reader.Below(program.slot_count);
    program.constants.emplace_back(slot, reader.Below(tensor_count));
    filled[slot] = true;
  }
  for (uint32_t i = reader.Count(13); i > 0; --i) {
    Step step;
    step.op = reader.Number<uint8_t>();
    if (step.op >= kOperators.size()) reader.Refuse("an operator is unknown");
    step.a = readable();
    step.b = readable();
    step.out = reader.Below(program.slot_count);
    filled[step.out] = true;
    program.steps.push_back(step);
  }
  for (uint32_t i = reader.Count(4); i > 0; --i) program.outputs.push_back(readable());
  return program;
}

}  // namespace

std::string WritePayload(const Package& package, std::string_view magic) {
  Writer writer;
  writer.Raw(magic.data(), magic.size());
  writer.Number('\n');
  writer.Number(kFormatVersion);
  size_t size_at = writer.bytes().size();
  writer.Number(uint64_t{0});
  writer.Count(package.tensors.size());
  for (const Tensor& tensor : package.tensors) {
    writer.Count(tensor.dims.size());
    writer.Raw(tensor.dims.data(), tensor.dims.size() * sizeof(int64_t));
    writer.Raw(tensor.data.data(), tensor.data.size() * sizeof(float));
  }
  writer.Count(package.programs.size());
  for (const Program& program : package.programs) {
    writer.Count(program.name.size());
    writer.Raw(program.name.data(), program.name.size());
    writer.Number(program.input_count);
    writer.Number(program.slot_count);
    writer.Count(program.constants.size());
    for (auto [slot, tensor] : program.constants) {
      writer.Number(slot);
      writer.Number(tensor);
    }
    writer.Count(program.steps.size());
    for (const Step& step : program.steps) {
      writer.Number(step.op);
      writer.Number(step.a);
      writer.Number(step.b);
      writer.Number(step.out);
    }
    writer.Count(program.outputs.size());
    for (uint32_t slot : program.outputs) writer.Number(slot);
  }
  uint64_t size = writer.bytes().size();
  std::memcpy(writer.bytes().data() + size_at, &size, sizeof(size));
  return std::move(writer.bytes());
}

Package ReadPayload(std::string_view bytes, std::string_view magic) {
  Reader reader(bytes, magic);
  if (!bytes.starts_with(std::string(magic) + '\n')) reader.Refuse("it does not begin with its name");
  reader.Raw(magic.size() + 1);
  auto version = reader.Number<uint32_t>();
  if (version != kFormatVersion) {
    reader.Refuse("format version " + std::to_string(version) + " found, " + std::to_string(kFormatVersion) +
                  " expected");
  }
  auto size = reader.Number<uint64_t>();
  if (size != bytes.size()) {
    reader.Refuse(std::to_string(bytes.size()) + " bytes found, " + std::to_string(size) + " expected");
  }
  Package package;
  for (uint32_t i = reader.Count(sizeof(uint32_t)); i > 0; --i) package.tensors.push_back(ReadTensor(reader));
  for (uint32_t i = reader.Count(sizeof(uint32_t)); i > 0; --i) {
    package.programs.push_back(ReadProgram(reader, package.tensors.size()));
  }
  return package;
}

}  // namespace epiphyte::recorder
