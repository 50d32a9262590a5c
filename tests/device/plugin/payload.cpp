#include "tests/device/plugin/payload.h"

#include <cstring>

#include "epiphyte/kit/abi/error.hpp"

namespace epiphyte::test::device {
namespace {

constexpr std::string_view kMagic = "EpTestDevice:";
constexpr uint32_t kVersion = 1;

class Writer {
 public:
  template <typename T>
  void Number(T value) {
    Raw(&value, sizeof value);
  }
  void Count(size_t count) { Number(static_cast<uint32_t>(count)); }
  void Raw(const void* data, size_t size) { bytes_.append(static_cast<const char*>(data), size); }
  std::string& bytes() { return bytes_; }

 private:
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  template <typename T>
  T Number() {
    T value;
    std::memcpy(&value, Raw(sizeof value).data(), sizeof value);
    return value;
  }
  // Reads the number of items that have at least `size` bytes each. A number that exceeds the remaining bytes is
  // refused before anything is allocated.
  uint32_t Count(size_t size) {
    const auto count = Number<uint32_t>();
    if (count > rest_.size() / size) Refuse("it ends too early");
    return count;
  }
  std::string_view Raw(uint64_t size) {
    if (size > rest_.size()) Refuse("it ends too early");
    const std::string_view raw = rest_.substr(0, static_cast<size_t>(size));
    rest_.remove_prefix(raw.size());
    return raw;
  }
  bool IsAtEnd() const { return rest_.empty(); }
  [[noreturn]] static void Refuse(const std::string& why) {
    throw kit::Error(EP_STATUS_INVALID_GRAPH, "the payload is none of the test device's: " + why + "; compile again");
  }

 private:
  std::string_view rest_;
};

void WriteProgram(const Program& program, Writer& writer) {
  writer.Count(program.name.size());
  writer.Raw(program.name.data(), program.name.size());
  writer.Count(program.inputs.size());
  for (EpElementType type : program.inputs) writer.Number(type);
  writer.Count(program.constants.size());
  for (const ConstantTensor& constant : program.constants) {
    writer.Number(constant.type);
    writer.Count(constant.dims.size());
    for (int64_t dim : constant.dims) writer.Number(dim);
    writer.Number(static_cast<uint64_t>(constant.data.size()));
    writer.Raw(constant.data.data(), constant.data.size());
  }
  writer.Count(program.steps.size());
  for (const Step& step : program.steps) {
    writer.Number(static_cast<uint8_t>(step.op));
    for (uint32_t input : step.inputs) writer.Number(input);
  }
  writer.Count(program.outputs.size());
  for (uint32_t output : program.outputs) writer.Number(output);
}

ConstantTensor ReadConstant(Reader& reader) {
  ConstantTensor constant;
  constant.type = reader.Number<int32_t>();
  for (uint32_t i = reader.Count(sizeof(int64_t)); i > 0; --i) {
    constant.dims.push_back(reader.Number<int64_t>());
    if (constant.dims.back() < 0 || constant.dims.back() > (int64_t{1} << 32)) Reader::Refuse("a size is out of range");
  }
  if (constant.dims.size() > EP_MAX_RANK) Reader::Refuse("a rank is out of range");
  const std::string_view data = reader.Raw(reader.Number<uint64_t>());
  constant.data.resize(data.size());
  if (!data.empty()) std::memcpy(constant.data.data(), data.data(), data.size());
  return constant;
}

Program ReadProgram(Reader& reader) {
  Program program;
  program.name = reader.Raw(reader.Count(1));
  for (uint32_t i = reader.Count(sizeof(int32_t)); i > 0; --i) program.inputs.push_back(reader.Number<int32_t>());
  for (uint32_t i = reader.Count(16); i > 0; --i) program.constants.push_back(ReadConstant(reader));
  for (uint32_t i = reader.Count(13); i > 0; --i) {
    Step step;
    step.op = static_cast<Op>(reader.Number<uint8_t>());
    for (uint32_t& input : step.inputs) input = reader.Number<uint32_t>();
    program.steps.push_back(step);
  }
  for (uint32_t i = reader.Count(sizeof(uint32_t)); i > 0; --i) program.outputs.push_back(reader.Number<uint32_t>());
  program.Check();
  return program;
}

}  // namespace

std::string WritePayload(const std::vector<const Program*>& programs) {
  Writer writer;
  writer.Raw(kMagic.data(), kMagic.size());
  writer.Number(kVersion);
  const size_t size_at = writer.bytes().size();
  writer.Number(uint64_t{0});
  writer.Count(programs.size());
  for (const Program* program : programs) WriteProgram(*program, writer);
  const uint64_t size = writer.bytes().size();
  std::memcpy(writer.bytes().data() + size_at, &size, sizeof size);
  return std::move(writer.bytes());
}

std::vector<Program> ReadPayload(std::string_view bytes) {
  Reader reader(bytes);
  if (!bytes.starts_with(kMagic)) Reader::Refuse("it does not begin with its name");
  reader.Raw(kMagic.size());
  if (const auto version = reader.Number<uint32_t>(); version != kVersion) {
    Reader::Refuse("version " + std::to_string(version) + " found, " + std::to_string(kVersion) + " expected");
  }
  if (const auto size = reader.Number<uint64_t>(); size != bytes.size()) {
    Reader::Refuse(std::to_string(bytes.size()) + " bytes found, " + std::to_string(size) + " expected");
  }
  std::vector<Program> programs;
  for (uint32_t i = reader.Count(20); i > 0; --i) programs.push_back(ReadProgram(reader));
  if (!reader.IsAtEnd()) Reader::Refuse("there is more after its end");
  return programs;
}

}  // namespace epiphyte::test::device
