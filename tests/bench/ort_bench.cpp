// epiphyte_ort_bench LIBRARY MODEL --inputs DIR [--outputs DIR] [--thin] [--threads N] [--runs N]
//
// Measures ONNX Runtime as `epiphyte bench --json` measures Epiphyte, and prints the same JSON object. With --outputs
// the outputs of the first run are written as output_<N>.pb. With --thin, a large output is written as thinned_<N>.pb,
// which holds a part of the elements (value_files.h).

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/onnx/write/tensor_io.h"
#include "tests/bench/ort_library.h"
#include "tests/onnx_backend/value_files.h"

namespace epiphyte::test {
namespace {

namespace fs = std::filesystem;

struct Arguments {
  fs::path library, model, inputs, outputs;
  int threads = 2;
  int runs = 20;
  bool thin = false;
};

constexpr uint64_t kLargeElements = 4096;

constexpr const char* kUsage =
    "usage: epiphyte_ort_bench LIBRARY MODEL --inputs DIR [--outputs DIR] [--thin] [--threads N] [--runs N]";

Arguments ParseArguments(int argc, char** argv) {
  if (argc < 3) throw std::invalid_argument(kUsage);
  Arguments arguments;
  arguments.library = argv[1];
  arguments.model = argv[2];
  for (int i = 3; i < argc; i += 2) {
    const std::string_view key = argv[i];
    if (key == "--thin") {
      arguments.thin = true;
      --i;
      continue;
    }
    if (i + 1 == argc) throw std::invalid_argument(kUsage);
    const char* value = argv[i + 1];
    if (key == "--inputs") {
      arguments.inputs = value;
    } else if (key == "--outputs") {
      arguments.outputs = value;
    } else if (key == "--threads") {
      arguments.threads = std::atoi(value);
    } else if (key == "--runs") {
      arguments.runs = std::max(1, std::atoi(value));
    } else {
      throw std::invalid_argument(kUsage);
    }
  }
  if (arguments.inputs.empty()) throw std::invalid_argument(kUsage);
  return arguments;
}

class Stopwatch {
 public:
  double Milliseconds() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Peak memory as `epiphyte bench` measures it: the high-water mark of this program alone.
double PeakMegabytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) / 1024;
  }
  return 0;
}

void WriteOutputs(const OrtSession& session, const OrtBinding& binding, const Arguments& arguments) {
  fs::create_directories(arguments.outputs);
  const std::vector<OrtTensor> outputs = binding.Outputs();
  for (size_t i = 0; i < outputs.size(); ++i) {
    core::ValuePtr value = core::Value::Tensor(static_cast<core::DataType>(outputs[i].type), outputs[i].dims);
    if (value->byte_size() > 0) std::memcpy(value->mutable_data(), outputs[i].data, value->byte_size());
    const bool thin = arguments.thin && value->element_count() > kLargeElements;
    if (thin) value = Thinned(*value);
    const std::string file = (thin ? "thinned_" : "output_") + std::to_string(i) + ".pb";
    core::WriteValueFile(arguments.outputs / file, *value, *core::Type::Tensor(value->type()),
                         session.output_names()[i]);
  }
}

std::vector<OrtTensor> View(const std::vector<core::ValuePtr>& values) {
  std::vector<OrtTensor> tensors;
  for (const core::ValuePtr& value : values) {
    const std::span<const int64_t> dims = value->dims();
    tensors.push_back({static_cast<int>(value->type()),
                       {dims.begin(), dims.end()},
                       value->mutable_data(),
                       static_cast<size_t>(value->byte_size())});
  }
  return tensors;
}

void Bench(const Arguments& arguments) {
  const OrtLibrary ort(arguments.library);
  const std::vector<core::ValuePtr> inputs = ReadTensorFiles(arguments.inputs, "input_");

  const Stopwatch session_watch;
  const OrtSession session(ort, arguments.model, arguments.threads);
  const double session_ms = session_watch.Milliseconds();

  OrtBinding binding(session, View(inputs));
  const Stopwatch first_watch;
  binding.Run();
  const double first_ms = first_watch.Milliseconds();
  if (!arguments.outputs.empty()) WriteOutputs(session, binding, arguments);
  binding.ReleaseOutputs();

  std::vector<double> times;
  for (int i = 0; i < arguments.runs; ++i) {
    const Stopwatch watch;
    binding.Run();
    times.push_back(watch.Milliseconds());
    binding.ReleaseOutputs();
  }
  std::sort(times.begin(), times.end());
  std::printf(
      "{\"model\": \"%s\", \"providers\": [\"onnxruntime %s\"], \"session_ms\": %.3f, \"first_run_ms\": %.5f, "
      "\"run_ms\": {\"min\": %.5f, \"median\": %.5f, \"max\": %.5f}, \"peak_rss_mb\": %.1f, \"context\": false}\n",
      arguments.model.filename().c_str(), ort.version().c_str(), session_ms, first_ms, times.front(),
      times[times.size() / 2], times.back(), PeakMegabytes());
}

}  // namespace
}  // namespace epiphyte::test

int main(int argc, char** argv) {
  try {
    epiphyte::test::Bench(epiphyte::test::ParseArguments(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "epiphyte_ort_bench: %s\n", error.what());
    return 1;
  }
  return 0;
}
