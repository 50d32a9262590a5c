// epiphyte_operator_bench --list [PATTERN]
// epiphyte_operator_bench --write DIR NAME...
// epiphyte_operator_bench LIBRARY NAME [--ep LIST] [--threads N] [--rounds N]
//
// Runs one case of the table of operators (host/conformance/operators/sizes) on providers of Epiphyte and in ONNX
// Runtime. Prints one line with tabs for each provider: name, microseconds of a run in Epiphyte, microseconds in ONNX
// Runtime, the distance between their outputs, and a remark. The remark says which side refuses the model and why, or
// that the outputs differ by more than rounding. A side that refuses has no time.
//
// --ep cpu,vulkan: times these providers, each alone, instead of cpu; the provider and a space then precede the name.
// LIBRARY "-": no ONNX Runtime; the other side is the list's first provider.
//
// Each round makes a session of one side, runs it and ends it, and then does the same with the other side, so the
// threads of one side are gone while the other runs. The time is the least of the rounds' medians. --list prints the
// names that match the extended regular expression. --write writes the models and their inputs for other programs.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <regex>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "epiphyte/environment.hpp"
#include "epiphyte/error.hpp"
#include "epiphyte/io_binding.hpp"
#include "epiphyte/session.hpp"
#include "tests/bench/ort_library.h"
#include "tests/models/operators/operator_case.h"

namespace epiphyte::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kUsage =
    "usage: epiphyte_operator_bench --list [PATTERN] | --write DIR NAME... | "
    "LIBRARY NAME [--ep LIST] [--threads N] [--rounds N]";
constexpr double kRoundSeconds = 0.05;
constexpr size_t kMostRuns = 20000;
// A case with a longer single run is measured in one round only.
constexpr double kSlowSeconds = 1;

double Seconds(std::chrono::steady_clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

template <typename Function>
double Time(Function&& function) {
  const auto start = std::chrono::steady_clock::now();
  function();
  return Seconds(std::chrono::steady_clock::now() - start);
}

// Returns the median time of a run in a round, in seconds. The first run may allocate memory and choose kernels, so it
// counts only if it is slow.
template <typename Run>
double MeasureRound(Run&& run) {
  const double first = Time(run);
  if (first > kSlowSeconds) return first;
  std::vector<double> times;
  double total = 0;
  while (times.size() < 3 || (total < kRoundSeconds && times.size() < kMostRuns)) {
    times.push_back(Time(run));
    total += times.back();
  }
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}

struct Output {
  int type = 0;
  std::vector<int64_t> dims;
  std::vector<double> numbers;
};

double FromFloat16(uint16_t bits) {
  const int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) return fraction != 0 ? std::nan("") : sign * HUGE_VAL;
  return sign * (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25));
}

template <typename T, typename Convert>
std::vector<double> Numbers(const void* data, size_t count, Convert convert) {
  std::vector<double> numbers(count);
  for (size_t i = 0; i < count; ++i) numbers[i] = convert(static_cast<const T*>(data)[i]);
  return numbers;
}

template <typename T>
std::vector<double> Numbers(const void* data, size_t count) {
  return Numbers<T>(data, count, [](T number) { return static_cast<double>(number); });
}

Output MakeOutput(int type, std::vector<int64_t> dims, const void* data) {
  size_t count = 1;
  for (const int64_t dim : dims) count *= static_cast<size_t>(dim);
  const auto numbers = [&] {
    switch (type) {
      case onnx::TensorProto::FLOAT: return Numbers<float>(data, count);
      case onnx::TensorProto::DOUBLE: return Numbers<double>(data, count);
      case onnx::TensorProto::FLOAT16: return Numbers<uint16_t>(data, count, FromFloat16);
      case onnx::TensorProto::INT8: return Numbers<int8_t>(data, count);
      case onnx::TensorProto::UINT8:
      case onnx::TensorProto::BOOL: return Numbers<uint8_t>(data, count);
      case onnx::TensorProto::INT16: return Numbers<int16_t>(data, count);
      case onnx::TensorProto::UINT16: return Numbers<uint16_t>(data, count);
      case onnx::TensorProto::INT32: return Numbers<int32_t>(data, count);
      case onnx::TensorProto::UINT32: return Numbers<uint32_t>(data, count);
      case onnx::TensorProto::INT64: return Numbers<int64_t>(data, count);
      case onnx::TensorProto::UINT64: return Numbers<uint64_t>(data, count);
      default: throw std::invalid_argument("outputs of element type " + std::to_string(type) + " are not compared");
    }
  };
  return {type, dims, numbers()};
}

// Difference that rounding may cause, relative to the largest number. For integers it is one step of 8 bits.
double Tolerance(int type) {
  switch (type) {
    case onnx::TensorProto::FLOAT: return 1e-3;
    case onnx::TensorProto::DOUBLE: return 1e-6;
    case onnx::TensorProto::FLOAT16: return 2e-2;
    case onnx::TensorProto::INT8:
    case onnx::TensorProto::UINT8: return 1.01 / 127;
    default: return 0;
  }
}

double Difference(const Output& ours, const Output& theirs) {
  if (ours.dims != theirs.dims || ours.type != theirs.type) return HUGE_VAL;
  double difference = 0, most = 1e-30;
  for (size_t i = 0; i < ours.numbers.size(); ++i) {
    const double a = ours.numbers[i], b = theirs.numbers[i];
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    if (!std::isfinite(a) || !std::isfinite(b)) return HUGE_VAL;
    difference = std::max(difference, std::abs(a - b));
  }
  for (const double number : theirs.numbers) {
    if (std::isfinite(number)) most = std::max(most, std::abs(number));
  }
  return difference / most;
}

struct Job {
  const OperatorModel& made;
  std::string bytes;
  int threads;

  std::span<const std::byte> Bytes() const { return std::as_bytes(std::span<const char>(bytes)); }
};

std::vector<int64_t> DimsOf(const onnx::TensorProto& tensor) { return {tensor.dims().begin(), tensor.dims().end()}; }

double RoundOfOurs(const Environment& environment, const std::string& provider, const Job& job,
                   std::vector<Output>* outputs) {
  SessionOptions options;
  options.AddProvider(provider).SetThreadCount(static_cast<uint32_t>(job.threads));
  options.Set("session.disable_cpu_ep_fallback", "1");
  const Session session(environment, job.Bytes(), options);
  IoBinding binding(session);
  for (const onnx::TensorProto& input : job.made.inputs) {
    const std::string& raw = input.raw_data();
    binding.BindInput(input.name(), Value::CopyBytes(static_cast<ElementType>(input.data_type()), DimsOf(input),
                                                     raw.data(), raw.size()));
  }
  const double seconds = MeasureRound([&] { binding.Run(); });
  if (!outputs->empty()) return seconds;
  for (const ValueInfo& info : session.outputs()) {
    const Value value = binding.Output(info.name);
    outputs->push_back(MakeOutput(static_cast<int>(value.element_type()), value.shape(), value.data()));
  }
  return seconds;
}

double RoundOfTheirs(const OrtLibrary& ort, const Job& job, std::vector<Output>* outputs) {
  const OrtSession session(ort, job.Bytes(), job.threads);
  std::vector<OrtTensor> inputs;
  for (const onnx::TensorProto& input : job.made.inputs) {
    const std::string& raw = input.raw_data();
    inputs.push_back({input.data_type(), DimsOf(input), const_cast<char*>(raw.data()), raw.size()});
  }
  OrtBinding binding(session, inputs);
  const double seconds = MeasureRound([&] {
    binding.ReleaseOutputs();
    binding.Run();
  });
  if (!outputs->empty()) return seconds;
  for (const OrtTensor& tensor : binding.Outputs()) {
    outputs->push_back(MakeOutput(tensor.type, tensor.dims, tensor.data));
  }
  return seconds;
}

// Result of one of the two runtimes: its best round, or the reason for having none.
struct Side {
  template <typename Round>
  void Measure(const char* name, Round round) {
    if (!refusal.empty() || (seconds && *seconds > kSlowSeconds)) return;
    try {
      const double measured = round(&outputs);
      seconds = std::min(measured, seconds.value_or(measured));
      std::fprintf(stderr, "%s: %.4g ms\n", name, measured * 1e3);
    } catch (const std::exception& error) {
      refusal = std::string(name) + ": " + error.what();
      std::replace_if(
          refusal.begin(), refusal.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
    }
  }

  std::string Microseconds() const {
    if (!seconds || !refusal.empty()) return "-";
    char text[32];
    std::snprintf(text, sizeof text, "%.3f", *seconds * 1e6);
    return text;
  }

  std::optional<double> seconds;
  std::string refusal;
  std::vector<Output> outputs;
};

bool IsRandom(std::string_view name) {
  return name.starts_with("Random") || name.starts_with("Bernoulli") || name.starts_with("Multinomial");
}

const OperatorCase& Find(const std::vector<OperatorCase>& cases, std::string_view name) {
  for (const OperatorCase& one : cases) {
    if (one.name == name) return one;
  }
  throw std::invalid_argument("no case is called '" + std::string(name) + "'; --list prints their names");
}

// Returns the difference between the outputs of the two sides. Sets a remark when it is above the tolerance.
double Compare(const std::string& name, const Side& ours, const Side& theirs, std::string* message) {
  double difference = 0;
  if (!message->empty() || IsRandom(name)) return difference;
  for (size_t i = 0; i < ours.outputs.size(); ++i) {
    const double apart = Difference(ours.outputs[i], theirs.outputs[i]);
    if (apart > Tolerance(theirs.outputs[i].type)) *message = "output " + std::to_string(i) + " differs";
    difference = std::max(difference, apart);
  }
  return difference;
}

struct BenchOptions {
  std::vector<std::string> providers;  // empty: cpu, and lines begin with the case's name
  int threads = 2;
  int rounds = 3;
};

// `library` is null when the first provider takes ONNX Runtime's place.
void Bench(const fs::path* library, const std::string& name, const BenchOptions& options) {
  const std::vector<OperatorCase> cases = OperatorCases();
  const OperatorModel made = MakeOperatorModel(Find(cases, name));
  const Job job{made, made.model.SerializeAsString(), options.threads};
  std::optional<OrtLibrary> ort;
  if (library != nullptr) ort.emplace(*library);
  const Environment environment;

  const std::vector<std::string> providers =
      options.providers.empty() ? std::vector<std::string>{"cpu"} : options.providers;
  Side onnxruntime;
  std::vector<Side> sides(providers.size());
  for (int round = 0; round < options.rounds; ++round) {
    if (ort) onnxruntime.Measure("onnxruntime", [&](auto* outputs) { return RoundOfTheirs(*ort, job, outputs); });
    for (size_t i = 0; i < sides.size(); ++i) {
      const std::string label = options.providers.empty() ? "epiphyte" : providers[i];
      sides[i].Measure(label.c_str(),
                       [&](auto* outputs) { return RoundOfOurs(environment, providers[i], job, outputs); });
    }
  }
  const Side& theirs = ort ? onnxruntime : sides[0];
  for (size_t i = 0; i < sides.size(); ++i) {
    const Side& ours = sides[i];
    const bool is_other = &ours != &theirs;
    std::string message = ours.refusal;
    if (is_other && !theirs.refusal.empty()) message += (message.empty() ? "" : "; ") + theirs.refusal;
    const double difference = Compare(name, ours, theirs, &message);
    std::printf("%s%s\t%s\t%s\t%.3g\t%s\n", options.providers.empty() ? "" : (providers[i] + " ").c_str(), name.c_str(),
                ours.Microseconds().c_str(), theirs.Microseconds().c_str(), difference, message.c_str());
  }
}

std::vector<std::string> SplitAtCommas(std::string_view list) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    if (end > begin) parts.emplace_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  if (parts.empty()) throw std::invalid_argument(kUsage);
  return parts;
}

void List(const std::string& pattern) {
  const std::regex expression(pattern, std::regex::extended);
  for (const OperatorCase& one : OperatorCases()) {
    if (std::regex_search(one.name, expression)) std::printf("%s\n", one.name.c_str());
  }
}

void WriteProto(const google::protobuf::MessageLite& message, const fs::path& path) {
  std::ofstream stream(path, std::ios::binary | std::ios::trunc);
  if (!message.SerializeToOstream(&stream) || !stream.flush()) throw std::runtime_error("can't write " + path.string());
}

// "Add/float/1x8" becomes Add-float-1x8.onnx and Add-float-1x8.inputs/input_<N>.pb.
void Write(const fs::path& folder, std::span<char*> names) {
  const std::vector<OperatorCase> cases = OperatorCases();
  for (const char* name : names) {
    const OperatorModel made = MakeOperatorModel(Find(cases, name));
    std::string stem = name;
    std::replace_if(
        stem.begin(), stem.end(), [](char c) { return c == '/' || c == ':' || c == '#'; }, '-');
    const fs::path inputs = folder / (stem + ".inputs");
    fs::create_directories(inputs);
    WriteProto(made.model, folder / (stem + ".onnx"));
    for (size_t i = 0; i < made.inputs.size(); ++i) {
      WriteProto(made.inputs[i], inputs / ("input_" + std::to_string(i) + ".pb"));
    }
    std::printf("%s\n", (folder / (stem + ".onnx")).c_str());
  }
}

void Main(std::span<char*> arguments) {
  if (arguments.empty()) throw std::invalid_argument(kUsage);
  const std::string_view first = arguments[0];
  if (first == "--list" && arguments.size() <= 2) return List(arguments.size() == 2 ? arguments[1] : "");
  if (first == "--write" && arguments.size() > 2) return Write(arguments[1], arguments.subspan(2));
  BenchOptions options;
  const bool has_library = first != "-";
  if ((has_library && first.starts_with('-')) || arguments.size() < 2 || arguments.size() % 2 != 0)
    throw std::invalid_argument(kUsage);
  for (size_t i = 2; i < arguments.size(); i += 2) {
    const std::string_view key = arguments[i];
    if (key == "--ep") {
      options.providers = SplitAtCommas(arguments[i + 1]);
      continue;
    }
    const int number = std::atoi(arguments[i + 1]);
    if ((key != "--threads" && key != "--rounds") || number < 1) throw std::invalid_argument(kUsage);
    (key == "--threads" ? options.threads : options.rounds) = number;
  }
  const fs::path library = arguments[0];
  Bench(has_library ? &library : nullptr, arguments[1], options);
}

}  // namespace
}  // namespace epiphyte::test

int main(int argc, char** argv) {
  try {
    epiphyte::test::Main(std::span(argv + 1, static_cast<size_t>(argc - 1)));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "epiphyte_operator_bench: %s\n", error.what());
    return 1;
  }
  return 0;
}
