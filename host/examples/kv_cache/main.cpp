// A decoder's KV cache that is updated in place: in the provider's device memory, or in host memory when the provider
// has no device memory.
//
//   kv_cache MODEL PROVIDER STEPS PAST=PRESENT...
//
// Runs MODEL STEPS times. In each step PAST is the PRESENT of the step before; in the first step it is zeros. Other
// inputs are new in each step: floats get a pattern, integers the number of the step. At the end the caches are
// compared with those of plain runs, which pass the caches from run to run.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <epiphyte/epiphyte.hpp>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

namespace {

using epiphyte::ElementType;
using epiphyte::Error;
using epiphyte::Memory;
using epiphyte::Session;
using epiphyte::StatusCode;
using epiphyte::Value;

struct Cache {
  std::string past;
  std::string present;
};

// Returns the main memory of the provider's device; empty when the provider has no device memory.
Memory MemoryOf(const Session& session, const std::string& provider) {
  for (const Memory& memory : session.memories()) {
    if (memory.provider() == provider) return memory;
  }
  return {};
}

// Returns zeros in host memory. Unknown dimensions become 256, which is room for 256 steps.
Value Zeros(const epiphyte::ValueInfo& info) {
  epiphyte::Shape shape;
  if (auto dimensions = info.type.shape()) {
    for (const epiphyte::Dimension& dimension : *dimensions) shape.push_back(dimension.size < 0 ? 256 : dimension.size);
  }
  Value value = Value::Tensor(info.type.element_type(), shape);
  std::memset(value.mutable_data(), 0, value.byte_size());
  return value;
}

// Writes new data for step `step` in place, because the value is bound only once.
void Fill(Value& value, int step) {
  if (value.element_type() == ElementType::kFloat) {
    int next = step;
    for (float& element : value.MutableData<float>()) element = static_cast<float>(next++ % 17) / 8;
  } else if (value.element_type() == ElementType::kInt64) {
    for (int64_t& element : value.MutableData<int64_t>()) element = step;
  }
}

const epiphyte::ValueInfo& InputOf(const Session& session, const std::string& name) {
  for (const epiphyte::ValueInfo& info : session.inputs()) {
    if (info.name == name) return info;
  }
  throw Error(StatusCode::kInvalidArgument, "the model has no input '" + name + "'");
}

bool IsCache(const std::vector<Cache>& caches, const std::string& input) {
  for (const Cache& cache : caches) {
    if (cache.past == input) return true;
  }
  return false;
}

// Returns the caches after `steps` steps. Each cache is read and written in the same memory.
std::vector<Value> RunInPlace(const Session& session, const Memory& memory, const std::vector<Cache>& caches,
                              int steps) {
  epiphyte::IoBinding binding(session);
  std::vector<Value> kept;
  for (const Cache& cache : caches) {
    kept.push_back(Zeros(InputOf(session, cache.past)).CopyTo(memory));
    binding.BindInput(cache.past, kept.back());
    binding.BindOutput(cache.present, kept.back());
  }
  std::vector<Value> others;
  for (const epiphyte::ValueInfo& info : session.inputs()) {
    if (IsCache(caches, info.name)) continue;
    others.push_back(Zeros(info));
    binding.BindInput(info.name, others.back());
  }
  for (int step = 0; step < steps; ++step) {
    for (Value& other : others) Fill(other, step);
    binding.Run();
  }
  return kept;
}

// Returns the caches after `steps` runs without bindings.
std::vector<Value> RunPlainly(const Session& session, const std::vector<Cache>& caches, int steps) {
  std::vector<epiphyte::NamedValue> inputs;
  epiphyte::RunOptions options;
  for (const Cache& cache : caches) {
    inputs.emplace_back(cache.past, Zeros(InputOf(session, cache.past)));
    options.outputs.push_back(cache.present);
  }
  for (const epiphyte::ValueInfo& info : session.inputs()) {
    if (!IsCache(caches, info.name)) inputs.emplace_back(info.name, Zeros(info));
  }
  for (int step = 0; step < steps; ++step) {
    for (size_t i = caches.size(); i < inputs.size(); ++i) Fill(inputs[i].second, step);
    const std::vector<Value> outputs = session.Run(inputs, options);
    for (size_t i = 0; i < caches.size(); ++i) inputs[i].second = outputs[i];
  }
  std::vector<Value> kept;
  for (size_t i = 0; i < caches.size(); ++i) kept.push_back(inputs[i].second);
  return kept;
}

void CheckSame(const std::string& name, const Value& found, const Value& expected) {
  if (expected.element_type() != ElementType::kFloat) {
    if (std::memcmp(found.data(), expected.data(), expected.byte_size()) == 0) return;
    throw Error(StatusCode::kFail, "cache '" + name + "' differs");
  }
  for (size_t i = 0; i < expected.element_count(); ++i) {
    const float difference = std::abs(found.Data<float>()[i] - expected.Data<float>()[i]);
    if (difference <= 1e-4f * (1 + std::abs(expected.Data<float>()[i]))) continue;
    throw Error(StatusCode::kFail, "cache '" + name + "' differs by " + std::to_string(difference));
  }
}

void Main(const std::string& model, const std::string& provider, int steps, const std::vector<Cache>& caches) {
  const epiphyte::Environment environment;
  const Session session(environment, model, epiphyte::SessionOptions().AddProvider(provider));
  const Memory memory = MemoryOf(session, provider);
  const std::vector<Value> found = RunInPlace(session, memory, caches, steps);
  for (size_t i = 0; i < caches.size(); ++i) {
    std::cout << "'" << caches[i].past << "' is " << found[i].byte_size() << " bytes in "
              << (memory ? "memory '" + memory.name() + "' of " + memory.provider() : "host memory") << '\n';
  }
  const std::vector<Value> expected = RunPlainly(session, caches, steps);
  for (size_t i = 0; i < caches.size(); ++i) CheckSame(caches[i].past, found[i].ToHost(), expected[i]);
  std::cout << "after " << steps << " steps it is what plain runs make\n";
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<Cache> caches;
  for (int i = 4; i < argc; ++i) {
    const std::string pair = argv[i];
    const size_t sign = pair.find('=');
    if (sign != std::string::npos) caches.push_back({pair.substr(0, sign), pair.substr(sign + 1)});
  }
  const int steps = argc < 4 ? 0 : std::atoi(argv[3]);
  if (steps < 1 || caches.empty() || caches.size() + 4 != static_cast<size_t>(argc)) {
    std::cerr << "usage: kv_cache MODEL PROVIDER STEPS PAST=PRESENT...\n";
    return 2;
  }
  try {
    Main(argv[1], argv[2], steps, caches);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "kv_cache: error: " << error.what() << '\n';
    return 1;
  }
}
