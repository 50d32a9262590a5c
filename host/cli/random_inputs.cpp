#include "host/cli/random_inputs.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <map>
#include <random>
#include <set>

#include "epiphyte/error.hpp"
#include "epiphyte/value_file.hpp"
#include "host/cli/session_flags.h"
#include "host/cli/text.h"

namespace epiphyte::cli {
namespace {

using Sizes = std::map<std::string, int64_t>;

// The distributions of the C++ standard differ between libraries; these are the same everywhere.
class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}

  uint64_t Below(uint64_t limit) { return engine_() % limit; }
  // Returns the sum of four uniform numbers, scaled to deviation 1.
  float Normal() {
    uint64_t bits = engine_();
    int64_t sum = 0;
    for (int i = 0; i < 4; ++i) sum += static_cast<int64_t>((bits >> (16 * i)) & 0xFFFF);
    return static_cast<float>(sum - 2 * 0xFFFF) * (1.7320508f / 65536.0f);
  }

 private:
  std::mt19937_64 engine_;
};

// Values here are small and never NaN, so the exponent needs only a lower limit: smaller values become zero.
uint16_t ToFloat16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  int32_t exponent = static_cast<int32_t>((bits >> 23) & 0xFF) - 127 + 15;
  uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  if (exponent <= 0) return sign;
  return static_cast<uint16_t>(sign | (exponent << 10) | ((bits >> 13) & 0x3FF));
}

uint16_t ToBfloat16(float value) { return static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16); }

template <typename T, typename Make>
void Fill(Value& value, Make make) {
  T* data = static_cast<T*>(value.mutable_data());
  for (uint64_t i = 0; i < value.byte_size() / sizeof(T); ++i) data[i] = static_cast<T>(make());
}

void FillRandom(Value& value, Random& random) {
  auto normal = [&] { return random.Normal(); };
  auto small = [&] { return random.Below(10); };
  switch (value.element_type()) {
    case ElementType::kFloat:
    case ElementType::kComplex64: return Fill<float>(value, normal);
    case ElementType::kDouble:
    case ElementType::kComplex128: return Fill<double>(value, normal);
    case ElementType::kFloat16: return Fill<uint16_t>(value, [&] { return ToFloat16(random.Normal()); });
    case ElementType::kBfloat16: return Fill<uint16_t>(value, [&] { return ToBfloat16(random.Normal()); });
    case ElementType::kUint8:
    case ElementType::kInt8: return Fill<uint8_t>(value, small);
    case ElementType::kUint16:
    case ElementType::kInt16: return Fill<uint16_t>(value, small);
    case ElementType::kUint32:
    case ElementType::kInt32: return Fill<uint32_t>(value, small);
    case ElementType::kUint64:
    case ElementType::kInt64: return Fill<uint64_t>(value, small);
    case ElementType::kBool: return Fill<uint8_t>(value, [&] { return random.Below(2); });
    // The scales are near one.
    case ElementType::kFloat8E8M0: return Fill<uint8_t>(value, [&] { return 125 + random.Below(5); });
    // Without the highest exponent bit, every pattern is a finite number.
    case ElementType::kFloat8E4M3FN:
    case ElementType::kFloat8E4M3FNUZ:
    case ElementType::kFloat8E5M2:
    case ElementType::kFloat8E5M2FNUZ: return Fill<uint8_t>(value, [&] { return random.Below(64); });
    default: return Fill<uint8_t>(value, [&] { return random.Below(256); });  // packed types
  }
}

void FillOnes(Value& value) {
  auto one = [] { return 1; };
  switch (value.element_type()) {
    case ElementType::kFloat: return Fill<float>(value, one);
    case ElementType::kDouble: return Fill<double>(value, one);
    case ElementType::kFloat16: return Fill<uint16_t>(value, [] { return ToFloat16(1); });
    case ElementType::kBfloat16: return Fill<uint16_t>(value, [] { return ToBfloat16(1); });
    case ElementType::kUint16:
    case ElementType::kInt16: return Fill<uint16_t>(value, one);
    case ElementType::kUint32:
    case ElementType::kInt32: return Fill<uint32_t>(value, one);
    case ElementType::kUint64:
    case ElementType::kInt64: return Fill<uint64_t>(value, one);
    default: return Fill<uint8_t>(value, one);
  }
}

bool IsMask(const std::string& name) {
  std::string lower;
  for (char c : name) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower.find("mask") != std::string::npos;
}

Shape ConcreteShape(const TypeInfo& type, const Sizes& sizes) {
  auto declared = type.shape();
  if (!declared) return {1};
  Shape shape;
  for (const Dimension& dimension : *declared) {
    auto given = sizes.find(dimension.symbol);
    shape.push_back(dimension.size >= 0 ? dimension.size : given != sizes.end() ? given->second : 1);
  }
  return shape;
}

Value RandomTensor(const ValueInfo& input, const Sizes& sizes, Random& random) {
  Shape shape = ConcreteShape(input.type, sizes);
  if (input.type.element_type() == ElementType::kString) {
    uint64_t count = 1;
    for (int64_t dim : shape) count *= static_cast<uint64_t>(dim);
    std::vector<std::string> words(count);
    for (std::string& word : words) word = "word" + std::to_string(random.Below(10));
    return Value::Strings(std::move(words), shape);
  }
  Value value = Value::Tensor(input.type.element_type(), shape);
  if (IsMask(input.name)) {
    FillOnes(value);
  } else {
    FillRandom(value, random);
  }
  return value;
}

Value RandomValue(const ValueInfo& input, const Sizes& sizes, Random& random) {
  switch (input.type.kind()) {
    case ValueKind::kTensor: return RandomTensor(input, sizes, random);
    case ValueKind::kOptional: return RandomValue({input.name, input.type.element()}, sizes, random);
    case ValueKind::kSequence: {
      std::vector<Value> elements;
      for (int i = 0; i < 2; ++i) elements.push_back(RandomValue({input.name, input.type.element()}, sizes, random));
      return Value::Sequence(input.type.element().element_type(), elements);
    }
    case ValueKind::kEmpty:
      throw Error(StatusCode::kInvalidArgument,
                  "the type of input '" + input.name + "' is unknown; export the model with the types of its inputs");
    default:
      throw Error(StatusCode::kNotImplemented, "input '" + input.name + "' is " + input.type.ToString() +
                                                   ", for which there are no random values; give --inputs DIR");
  }
}

void CollectSymbols(const TypeInfo& type, std::set<std::string>* symbols) {
  if (type.kind() == ValueKind::kOptional || type.kind() == ValueKind::kSequence) {
    CollectSymbols(type.element(), symbols);
  }
  for (const Dimension& dimension : type.shape().value_or(std::vector<Dimension>())) {
    if (!dimension.symbol.empty()) symbols->insert(dimension.symbol);
  }
}

Sizes ParseDims(const std::vector<std::string>& flags, const std::vector<ValueInfo>& inputs) {
  std::set<std::string> symbols;
  for (const ValueInfo& input : inputs) CollectSymbols(input.type, &symbols);
  Sizes sizes;
  for (const std::string& flag : flags) {
    auto [name, text] = SplitAssignment(flag, "--dim");
    int64_t size = -1;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    if (error != std::errc() || end != text.data() + text.size() || size < 0) {
      throw Error(StatusCode::kInvalidArgument, "--dim '" + flag + "' has no size of 0 or more; write it like batch=4");
    }
    if (!symbols.contains(name)) {
      std::string known = Join({symbols.begin(), symbols.end()}, ", ");
      throw Error(StatusCode::kInvalidArgument, "--dim '" + flag + "': no input has a dimension '" + name + "'; " +
                                                    (known.empty() ? "all are fixed" : "symbols are: " + known));
    }
    sizes[name] = size;
  }
  return sizes;
}

std::vector<Value> LoadInputs(const std::filesystem::path& folder, const std::vector<ValueInfo>& inputs) {
  if (!std::filesystem::is_directory(folder)) {
    throw Error(StatusCode::kNoSuchFile, "--inputs '" + folder.string() + "' is no folder; give one with input_0.pb");
  }
  std::vector<Value> values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::filesystem::path file = folder / ("input_" + std::to_string(i) + ".pb");
    if (!std::filesystem::exists(file)) {
      throw Error(StatusCode::kNoSuchFile, "'" + file.string() +
                                               "' does not exist; the model needs a file for input '" + inputs[i].name +
                                               "', " + inputs[i].type.ToString());
    }
    if (inputs[i].type.kind() == ValueKind::kEmpty) {
      throw Error(StatusCode::kInvalidArgument, "the type of input '" + inputs[i].name + "' is unknown, so '" +
                                                    file.string() +
                                                    "' can't be read; export the model with the types of its inputs");
    }
    values.push_back(LoadValue(file, inputs[i].type));
  }
  std::filesystem::path extra = folder / ("input_" + std::to_string(inputs.size()) + ".pb");
  if (std::filesystem::exists(extra)) {
    throw Error(StatusCode::kInvalidArgument, "'" + extra.string() + "' is one file too many; the model has " +
                                                  std::to_string(inputs.size()) + " inputs, remove it");
  }
  return values;
}

}  // namespace

void InputFlags::AddFolder(CLI::App& command) {
  command
      .add_option(
          "--inputs", folder,
          "Folder with input_0.pb, input_1.pb, … in the order of the model's inputs; initializer_NAME.pb is taken "
          "for an initializer that a run may give")
      ->type_name("DIR");
}

void InputFlags::AddRandom(CLI::App& command) {
  command.add_option("--seed", seed, "Seed of the random inputs, default 0")->type_name("N");
  command.add_option("--dim", dims, "Size of a symbolic dimension of the random inputs, default 1; may be repeated")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
}

std::vector<Value> InputFlags::Make(const Session& session) const {
  if (folder.empty()) return RandomInputs(session.inputs(), seed, dims);
  if (!dims.empty()) {
    throw Error(StatusCode::kInvalidArgument, "--dim is for random inputs, but --inputs is given; leave one out");
  }
  return LoadInputs(folder, session.inputs());
}

std::vector<NamedValue> InputFlags::LoadInitializers(const Session& session) const {
  std::vector<NamedValue> values;
  if (folder.empty()) return values;
  constexpr std::string_view kPrefix = "initializer_";
  constexpr std::string_view kSuffix = ".pb";
  const std::vector<ValueInfo>& known = session.overridable_initializers();
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string file = entry.path().filename().string();
    if (!file.starts_with(kPrefix) || !file.ends_with(kSuffix)) continue;
    const std::string name = file.substr(kPrefix.size(), file.size() - kPrefix.size() - kSuffix.size());
    const auto info = std::find_if(known.begin(), known.end(), [&](const ValueInfo& each) {
      std::string as_file = each.name;
      std::replace(as_file.begin(), as_file.end(), '/', '_');
      return as_file == name;
    });
    if (info == known.end()) {
      std::vector<std::string> names;
      for (const ValueInfo& each : known) names.push_back(each.name);
      throw Error(StatusCode::kInvalidArgument,
                  "'" + entry.path().string() + "' is for no initializer that a run may give; " +
                      (names.empty() ? "the model has none" : "the model has: " + Join(names, ", ")));
    }
    values.emplace_back(info->name, LoadValue(entry.path(), info->type));
  }
  return values;
}

std::vector<Value> RandomInputs(const std::vector<ValueInfo>& inputs, uint64_t seed,
                                const std::vector<std::string>& dims) {
  Sizes sizes = ParseDims(dims, inputs);
  std::vector<Value> values;
  for (const ValueInfo& input : inputs) {
    // Each value has its own generator, so that it does not depend on the shapes of earlier values.
    Random random(seed * 1000003 + values.size());
    values.push_back(RandomValue(input, sizes, random));
  }
  return values;
}

}  // namespace epiphyte::cli
