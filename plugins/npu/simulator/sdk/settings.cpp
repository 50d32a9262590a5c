#include "plugins/npu/simulator/sdk/settings.h"

#include <charconv>
#include <cmath>
#include <optional>

#include "plugins/npu/simulator/sdk/status.h"

namespace epiphyte::npusim {
namespace {

struct Option {
  const char* key;
  const char* values;  // allowed values, in words
  bool (*set)(Settings& settings, const std::string& value);
};

std::optional<uint32_t> Number(std::string_view text, uint32_t most) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || number > most) return std::nullopt;
  return number;
}

// Parses thousandths: "0.5" of unit 1000 is 500. Accepts digits, at most three of them after a point.
std::optional<uint32_t> Thousandths(std::string_view text, uint32_t most) {
  const size_t point = text.find('.');
  const std::string_view fraction = point == std::string_view::npos ? "" : text.substr(point + 1);
  const auto whole = Number(text.substr(0, point), most);
  if (!whole || fraction.size() > 3 || (point != std::string_view::npos && fraction.empty())) return std::nullopt;
  const auto parts = Number(fraction.empty() ? "0" : fraction, 999);
  if (!parts) return std::nullopt;
  uint32_t scale = 1000;
  for (size_t i = 0; i < fraction.size(); ++i) scale /= 10;
  return *whole * 1000 + *parts * scale;
}

bool Set(uint32_t& to, std::optional<uint32_t> value) {
  if (value) to = *value;
  return value.has_value();
}

bool SetArray(Settings& s, const std::string& value) {
  const size_t x = value.find('x');
  if (x == std::string::npos) return false;
  return Set(s.config.rows, Number(std::string_view(value).substr(0, x), 256)) &&
         Set(s.config.columns, Number(std::string_view(value).substr(x + 1), 256));
}

bool SetKib(uint32_t& bytes, const std::string& value) {
  const auto kib = Number(value, 16 * 1024);
  if (kib) bytes = *kib * 1024;
  return kib.has_value();
}

bool SetEffort(Settings& s, const std::string& value) {
  for (const auto& [name, effort] : {std::pair{"fast", Effort::kFast}, std::pair{"balanced", Effort::kBalanced},
                                     std::pair{"exhaustive", Effort::kExhaustive}}) {
    if (value != name) continue;
    s.effort = effort;
    return true;
  }
  return false;
}

bool SetFusion(Settings& s, const std::string& value) {
  s.fusion = value == "on";
  return value == "on" || value == "off";
}

constexpr Option kOptions[] = {
    {"array", "ROWSxCOLUMNS, 32 to 2048 MACs", SetArray},
    {"scratchpad_kib", "16 to 16384",
     [](Settings& s, const std::string& v) { return SetKib(s.config.scratchpad_bytes, v); }},
    {"accumulator_kib", "4 to 16384",
     [](Settings& s, const std::string& v) { return SetKib(s.config.accumulator_bytes, v); }},
    {"dma_bytes_per_cycle", "0.01 to 1024",
     [](Settings& s, const std::string& v) { return Set(s.config.dma_millibytes_per_cycle, Thousandths(v, 1024)); }},
    {"dma_latency", "cycles, 0 to 100000",
     [](Settings& s, const std::string& v) { return Set(s.config.dma_latency, Number(v, 100'000)); }},
    {"dma_efficiency", "0.001 to 1",
     [](Settings& s, const std::string& v) { return Set(s.config.dma_efficiency_permille, Thousandths(v, 1)); }},
    {"fold_overhead", "cycles, 0 to 1000",
     [](Settings& s, const std::string& v) { return Set(s.config.fold_overhead_millicycles, Thousandths(v, 1000)); }},
    {"axi_bytes", "1, 2, 4, ..., 128",
     [](Settings& s, const std::string& v) { return Set(s.config.axi_bytes, Number(v, 128)); }},
    {"effort", "fast, balanced or exhaustive", SetEffort},
    {"fusion", "on or off", SetFusion},
};

}  // namespace

void SetOption(Settings& settings, const std::string& key, const std::string& value) {
  for (const Option& option : kOptions) {
    if (key != option.key) continue;
    Require(option.set(settings, value), "option " + key + " is '" + value + "', expected " + option.values);
    return;
  }
  throw SdkError(NSDK_INVALID_ARGUMENT, "option '" + key + "' is not known; there are: " + KnownOptions());
}

void Finish(const Settings& settings) {
  try {
    CheckConfig(settings.config);
  } catch (const std::invalid_argument& e) {
    throw SdkError(NSDK_INVALID_ARGUMENT, std::string("options: ") + e.what());
  }
}

std::string KnownOptions() {
  std::string text;
  for (const Option& option : kOptions) {
    text += (text.empty() ? "" : ", ") + std::string(option.key) + " (" + option.values + ")";
  }
  return text;
}

}  // namespace epiphyte::npusim
