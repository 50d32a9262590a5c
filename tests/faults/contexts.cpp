#include "tests/faults/contexts.h"

#include <algorithm>
#include <cmath>

#include "epiphyte/session.hpp"
#include "tests/framework/onnx_text.h"

namespace epiphyte::test {
namespace {

std::string Replaced(std::string text, std::string_view from, std::string_view to) {
  text.replace(text.find(from), from.size(), to);
  return text;
}

}  // namespace

std::string SmallModel(Weights weights) {
  constexpr const char* kText = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2, 3] x) => (float[2, 2] y, float[2, 3] z) {
      w = Constant <value = float[3, 2] {WEIGHTS}> ()
      b = Constant <value = float[2] {0.5, -0.5}> ()
      product = MatMul(x, w)
      biased = Add(product, b)
      y = Relu(biased)
      z = Tanh(x)
    })";
  return OnnxFromText(Replaced(kText, "WEIGHTS", weights == Weights::kOld ? "1, 2, 3, 4, 5, 6" : "6, 5, 4, 3, 2, 1"));
}

std::string MixedModel(Weights weights) {
  constexpr const char* kText = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2, 3] x) => (float[2, 2] y, float[4, 4] table) {
      w1 = Constant <value = float[3, 2] {WEIGHTS}> ()
      w2 = Constant <value = float[2, 2] {0.5, -1.0, 2.0, 0.25}> ()
      zero = Constant <value = float {0.0}> ()
      product = MatMul(x, w1)
      sum = ReduceSum <keepdims = 0> (product)
      positive = Greater(sum, zero)
      chosen = If (positive) <
        then_branch = then_graph () => (float[2, 2] t) { t = MatMul(product, w2) },
        else_branch = else_graph () => (float[2, 2] e) { e = Neg(product) }>
      start = Constant <value = float[4, 4] {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}> ()
      trips = Constant <value = int64 {3}> ()
      go = Constant <value = bool {1}> ()
      table = Loop (trips, go, start) <
        body = body_graph (int64 i, bool keep_in, float[4, 4] state) => (bool keep_out, float[4, 4] next) {
          keep_out = Identity(keep_in)
          next = Add(state, state)
        }>
      y = MatMul(chosen, w2)
    })";
  return OnnxFromText(Replaced(kText, "WEIGHTS", weights == Weights::kOld ? "1, 2, 3, 4, 5, 6" : "6, 5, 4, 3, 2, 1"));
}

EnvironmentOptions BuildTreePlugins() {
  EnvironmentOptions options;
  options.plugin_folders = {EPIPHYTE_PLUGIN_FOLDER};
  options.use_environment_variable = false;
  options.use_user_folder = false;
  options.use_system_folders = false;
  return options;
}

const Environment& BuildTreeEnvironment() {
  static const Environment* const kEnvironment = new Environment(BuildTreePlugins());
  return *kEnvironment;
}

SessionOptions CpuOptions(uint32_t threads) {
  SessionOptions options;
  options.AddProvider("cpu").SetThreadCount(threads);
  return options;
}

SessionOptions CompileOptions(const std::vector<std::pair<std::string, std::string>>& more) {
  SessionOptions options = CpuOptions();
  options.Set("ep.context_enable", "1");
  for (const auto& [key, value] : more) options.Set(key, value);
  return options;
}

void Compile(const std::filesystem::path& model, const SessionOptions& options) {
  Session session(BuildTreeEnvironment(), model, options);
}

Value Input() {
  static constexpr float kInput[] = {1, -2, 3, 0.25f, 5, -6};
  return Value::Copy<float>(kInput, {2, 3});
}

Numbers NumbersOf(const std::vector<Value>& outputs) {
  Numbers numbers;
  for (const Value& output : outputs) {
    std::span<const float> data = output.Data<float>();
    numbers.emplace_back(data.begin(), data.end());
  }
  return numbers;
}

Numbers RunModel(const std::filesystem::path& model, const SessionOptions& options) {
  Session session(BuildTreeEnvironment(), model, options);
  const Value input = Input();
  return NumbersOf(session.Run(std::span<const Value>(&input, 1)));
}

Numbers NumbersOf(Weights weights) {
  const std::vector<float> tanh = {std::tanh(1.f),   std::tanh(-2.f), std::tanh(3.f),
                                   std::tanh(0.25f), std::tanh(5.f),  std::tanh(-6.f)};
  // The first output is max(x · w + b, 0).
  if (weights == Weights::kOld) return {{10.5f, 11.5f, 0, 0}, tanh};
  return {{4.5f, 1.5f, 10, 9.75f}, tanh};
}

bool AreClose(const Numbers& left, const Numbers& right) {
  const auto close = [](float a, float b) { return std::abs(a - b) <= 1e-4f * (1 + std::abs(b)); };
  return std::equal(left.begin(), left.end(), right.begin(), right.end(), [&](const auto& a, const auto& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), close);
  });
}

std::vector<std::string> FileNames(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> Leftovers(const std::filesystem::path& folder) {
  std::vector<std::string> names = FileNames(folder);
  std::erase_if(names, [](const std::string& name) { return !name.starts_with(".epiphyte-"); });
  return names;
}

}  // namespace epiphyte::test
