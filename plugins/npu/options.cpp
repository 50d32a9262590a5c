#include "plugins/npu/options.h"

#include <algorithm>

#include "epiphyte/kit/abi/fail.hpp"

namespace epiphyte::npu {
namespace {

constexpr const char* kEfforts[] = {"sdk", "fast", "balanced", "exhaustive"};
constexpr const char* kSwitch[] = {"sdk", "on", "off"};

// For an SDK option, the default value stands for the SDK's own default.
constexpr kit::Option kOptions[] = {
    kit::Option::String("sdk", "",
                        "the NPU's SDK, a library with nsdk_get_api: its absolute path, or a file name beside the "
                        "plugin; as a default the one of the plugin's manifest, or else the simulator"),
    kit::Option::String("sdk_options", "", "options of the SDK's own: key=value,key=value"),
    kit::Option::Bool("share_scratch", false,
                      "all contexts of the session use one scratch memory, as large as the largest needs (max_size); "
                      "then their runs are one after the other"),
    kit::Option::String("array", "", "of the SDK: rows x columns of multipliers, as 16x16"),
    kit::Option::Int("scratchpad_kib", 0, "of the SDK: KiB of memory on the chip; 0: as it is", 0, 1 << 20),
    kit::Option::Int("accumulator_kib", 0, "of the SDK: KiB of memory for sums; 0: as it is", 0, 1 << 20),
    kit::Option::Float("dma_bytes_per_cycle", 0, "of the SDK: what its memory port moves in a cycle; 0: as it is", 0,
                       1e6),
    kit::Option::Int("dma_latency", -1, "of the SDK: cycles before a transfer's first byte; -1: as it is", -1, 1 << 30),
    kit::Option::Choice("effort", kEfforts, "sdk", "of the SDK: how long compiling may look for fewer cycles"),
    kit::Option::Choice("fusion", kSwitch, "sdk", "of the SDK: whether layers are computed together"),
};
constexpr size_t kOwn = 3;  // options of the plugin; the others are the SDK's

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

std::span<const kit::Option> DeclaredOptions() { return kOptions; }

SdkOptions OptionsOfSdk(const std::map<std::string, std::string>& given) {
  SdkOptions options;
  for (const kit::Option& option : std::span(kOptions).subspan(kOwn))
    if (const auto found = given.find(std::string(option.name()));
        found != given.end() && found->second != option.DefaultText())
      options.push_back(*found);
  const auto list = given.find("sdk_options");
  std::string_view rest = list == given.end() ? std::string_view() : std::string_view(list->second);
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    const size_t equals = part.find('=');
    const std::string_view key = Trimmed(part.substr(0, equals));
    if (key.empty() || equals == std::string_view::npos)
      kit::FailArgument("option 'sdk_options' has '", part, "'; key=value expected, with commas in between");
    options.emplace_back(key, Trimmed(part.substr(equals + 1)));
  }
  return options;
}

}  // namespace epiphyte::npu
