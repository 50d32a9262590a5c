// epiphyte_throughput_bench LIBRARY|epiphyte MODEL --inputs DIR --callers N[,N]... [--sessions N] [--threads N]
//     [--seconds S]
//
// Measures how many runs a second all callers get together: of Epiphyte's sessions, or of ONNX Runtime's when its
// library is given. Each session has `threads` threads. The callers take the sessions in turn, each on a thread of its
// own with its own input and output values; they share the input data. Prints a line for each number of callers:
// callers, runs a second, and the processor time of a run in microseconds. On a busy machine the processor time tells
// more than the rate.

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "epiphyte/environment.hpp"
#include "epiphyte/io_binding.hpp"
#include "epiphyte/session.hpp"
#include "epiphyte/value_file.hpp"
#include "tests/bench/ort_library.h"

namespace epiphyte::test {
namespace {

namespace fs = std::filesystem;

struct Arguments {
  std::string library;
  fs::path model, inputs;
  std::vector<int> callers;
  int sessions = 1;
  int threads = 2;
  double seconds = 1;
};

constexpr const char* kUsage =
    "usage: epiphyte_throughput_bench LIBRARY|epiphyte MODEL --inputs DIR --callers N[,N]... [--sessions N] "
    "[--threads N] [--seconds S]";

Arguments ParseArguments(int argc, char** argv) {
  if (argc < 3 || argc % 2 == 0) throw std::invalid_argument(kUsage);
  Arguments arguments;
  arguments.library = argv[1];
  arguments.model = argv[2];
  for (int i = 3; i < argc; i += 2) {
    const std::string_view key = argv[i];
    const char* value = argv[i + 1];
    if (key == "--inputs") {
      arguments.inputs = value;
    } else if (key == "--callers") {
      std::istringstream list(value);
      for (std::string one; std::getline(list, one, ',');) arguments.callers.push_back(std::atoi(one.c_str()));
    } else if (key == "--sessions") {
      arguments.sessions = std::atoi(value);
    } else if (key == "--threads") {
      arguments.threads = std::atoi(value);
    } else if (key == "--seconds") {
      arguments.seconds = std::atof(value);
    } else {
      throw std::invalid_argument(kUsage);
    }
  }
  const bool positive = std::ranges::all_of(arguments.callers, [](int count) { return count > 0; });
  if (arguments.inputs.empty() || arguments.callers.empty() || !positive || arguments.sessions < 1 ||
      arguments.threads < 1 || arguments.seconds <= 0)
    throw std::invalid_argument(kUsage);
  return arguments;
}

using Run = std::function<void()>;

// The sessions of one of the two runtimes.
class Sessions {
 public:
  virtual ~Sessions() = default;
  // Makes the run that a caller of session number `session` repeats. May be called while others run.
  virtual Run MakeCaller(size_t session) = 0;
};

class OurSessions final : public Sessions {
 public:
  OurSessions(const Arguments& arguments, const std::vector<Value>& inputs) : inputs_(inputs) {
    SessionOptions options;
    options.AddProvider("cpu").SetThreadCount(static_cast<uint32_t>(arguments.threads));
    for (int i = 0; i < arguments.sessions; ++i) sessions_.emplace_back(environment_, arguments.model, options);
  }

  Run MakeCaller(size_t session) override {
    const auto binding = std::make_shared<IoBinding>(sessions_[session]);
    const std::vector<ValueInfo>& names = sessions_[session].inputs();
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const Value& input = inputs_[i];
      binding->BindInput(names.at(i).name, Value::Wrap(input.element_type(), input.shape(),
                                                       const_cast<void*>(input.data()), input.byte_size()));
    }
    return [binding] { binding->Run(); };
  }

 private:
  const std::vector<Value>& inputs_;
  Environment environment_;
  std::vector<Session> sessions_;
};

class TheirSessions final : public Sessions {
 public:
  TheirSessions(const Arguments& arguments, std::vector<Value>& inputs) : ort_(arguments.library) {
    for (Value& input : inputs) {
      inputs_.push_back({static_cast<int>(input.element_type()), input.shape(), input.mutable_data(),
                         static_cast<size_t>(input.byte_size())});
    }
    for (int i = 0; i < arguments.sessions; ++i)
      sessions_.push_back(std::make_unique<OrtSession>(ort_, arguments.model, arguments.threads));
  }

  Run MakeCaller(size_t session) override {
    const auto binding = std::make_shared<OrtBinding>(*sessions_[session], inputs_);
    return [binding] {
      binding->ReleaseOutputs();
      binding->Run();
    };
  }

 private:
  OrtLibrary ort_;
  std::vector<OrtTensor> inputs_;
  std::vector<std::unique_ptr<OrtSession>> sessions_;
};

struct alignas(128) Rate {
  double runs_per_second = 0;
  uint64_t runs = 0;
};

struct Measured {
  double runs_per_second = 0;
  double processor_us = 0;  // CPU time of a run, in microseconds
};

double ProcessorSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// Every caller has run once before the clock starts. When the time is over, each finishes its current run.
Measured Measure(Sessions& sessions, int session_count, int caller_count, double seconds) {
  using Clock = std::chrono::steady_clock;
  std::vector<Rate> rates(static_cast<size_t>(caller_count));
  std::atomic<bool> over{false};
  std::barrier ready(caller_count + 1);
  std::vector<std::jthread> callers;
  for (size_t i = 0; i < rates.size(); ++i) {
    callers.emplace_back([&, i] {
      const Run run = sessions.MakeCaller(i % static_cast<size_t>(session_count));
      run();
      ready.arrive_and_wait();
      const Clock::time_point begin = Clock::now();
      uint64_t runs = 0;
      for (; !over.load(std::memory_order_relaxed); ++runs) run();
      const double seconds_spent = std::chrono::duration<double>(Clock::now() - begin).count();
      rates[i] = {static_cast<double>(runs) / seconds_spent, runs};
    });
  }
  ready.arrive_and_wait();
  const double before = ProcessorSeconds();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  over.store(true);
  callers.clear();
  const double spent = ProcessorSeconds() - before;
  Measured total;
  uint64_t runs = 0;
  for (const Rate& rate : rates) {
    total.runs_per_second += rate.runs_per_second;
    runs += rate.runs;
  }
  total.processor_us = runs == 0 ? 0 : spent * 1e6 / static_cast<double>(runs);
  return total;
}

std::vector<Value> ReadInputs(const fs::path& folder) {
  std::vector<Value> inputs;
  for (int i = 0;; ++i) {
    const fs::path path = folder / ("input_" + std::to_string(i) + ".pb");
    if (!fs::exists(path)) return inputs;
    inputs.push_back(LoadValue(path, TypeInfo::Tensor(ElementType::kUndefined)));
  }
}

void Bench(const Arguments& arguments) {
  std::vector<Value> inputs = ReadInputs(arguments.inputs);
  std::unique_ptr<Sessions> sessions;
  if (arguments.library == "epiphyte") {
    sessions = std::make_unique<OurSessions>(arguments, inputs);
  } else {
    sessions = std::make_unique<TheirSessions>(arguments, inputs);
  }
  for (const int callers : arguments.callers) {
    const Measured measured = Measure(*sessions, arguments.sessions, callers, arguments.seconds);
    std::printf("%d %.2f %.3f\n", callers, measured.runs_per_second, measured.processor_us);
  }
}

}  // namespace
}  // namespace epiphyte::test

int main(int argc, char** argv) {
  try {
    epiphyte::test::Bench(epiphyte::test::ParseArguments(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "epiphyte_throughput_bench: %s\n", error.what());
    return 1;
  }
  return 0;
}
