// Options of the faulty plugin. It declares them only for faults about options, and checks them again in
// CreateProvider.
#include <stdexcept>

#include "tests/conformance/faulty/faulty.h"

namespace {

constexpr const char* kModes[] = {"fast", "exact"};

struct Options {
  EpOptionInfo tiles = {
      sizeof(EpOptionInfo), EP_OPTION_INT, "tiles", "4", "how many tiles there are", "1", "8", nullptr, 0, 0};
  EpOptionInfo mode = {
      sizeof(EpOptionInfo), EP_OPTION_CHOICE, "mode", "fast", "how it computes", nullptr, nullptr, kModes, 2, 0};
  EpOptionInfo scale = {sizeof(EpOptionInfo),
                        EP_OPTION_FLOAT,
                        "scale",
                        "1.5",
                        "what all is multiplied with",
                        "0",
                        nullptr,
                        nullptr,
                        0,
                        0};
  EpOptionInfo quiet = {
      sizeof(EpOptionInfo), EP_OPTION_BOOL, "quiet", "0", "says nothing", nullptr, nullptr, nullptr, 0, 0};
  EpOptionInfo label = {sizeof(EpOptionInfo),
                        EP_OPTION_STRING,
                        "label",
                        "",
                        "stands in front of what it says",
                        nullptr,
                        nullptr,
                        nullptr,
                        0,
                        0};
  const EpOptionInfo* all[5] = {&tiles, &mode, &scale, &quiet, &label};

  Options() {
    if (Has("1305_called_device")) scale.name = "device";
    if (Has("1305_name_with_a_space")) scale.name = "sca le";
    if (Has("1306_one_name_twice")) label.name = "quiet";
    if (Has("1307_type_nine")) scale.type = 9;
    if (Has("1308_no_help")) mode.help = "";
    if (Has("1309_no_default")) label.default_value = nullptr;
    if (Has("1310_default_out_of_range")) tiles.default_value = "9";
    if (Has("1310_default_is_no_choice")) mode.default_value = "slow";
    if (Has("1311_turned_range")) tiles.minimum = "20", tiles.maximum = "10";
    if (Has("1311_range_of_a_choice")) mode.minimum = "fast";
    if (Has("1312_no_choices")) mode.choice_count = 0;
    if (Has("1312_a_choice_twice")) {
      static constexpr const char* kTwice[] = {"fast", "fast"};
      mode.choices = kTwice;
    }
    if (Has("1304_small_option")) scale.struct_size = 16;
    if (Has("1304_null_option")) all[2] = nullptr;
  }
};

EpStatus* EP_CALL GetOptions(EpPlugin*, const EpOptionInfo** options, uint32_t capacity, uint32_t* count) {
  static const Options declared;
  static int asked = 0;
  if (Has("1302_throws_in_options")) throw std::runtime_error("no table");
  *count = 5;
  if (Has("1303_a_million_options")) *count = 1000000;
  if (Has("1313_forgets_an_option") && ++asked > 2) *count = 4;
  for (uint32_t i = 0; i < *count && i < capacity && i < 5; ++i) options[i] = declared.all[i];
  if (Has("1303_overfills_options") && capacity >= 5) options[capacity] = declared.all[0];
  return nullptr;
}

}  // namespace

const EpOptionsApi* OptionsTable() {
  static const EpOptionsApi whole = {sizeof(EpOptionsApi), 0, GetOptions};
  static const EpOptionsApi small = {8, 0, GetOptions};
  static const EpOptionsApi empty = {sizeof(EpOptionsApi), 0, nullptr};
  return Has("1301_small_options_table") ? &small : Has("1301_null_function") ? &empty : &whole;
}

EpStatus* CheckOptions(const EpHostInfo* host, const EpProviderConfig& config) {
  if (Has("1314_fails_with_its_defaults") && config.option_count == 5) {
    return Refuse(host, EP_STATUS_INVALID_ARGUMENT, "not all of them at once");
  }
  for (uint32_t i = 0; i < config.option_count; ++i) {
    const std::string_view key = config.options[i].key;
    const std::string_view value = config.options[i].value;
    if (key == "mode" && value == "exact") {
      if (Has("1315_fails_on_a_choice")) return Refuse(host, EP_STATUS_FAIL, "there is no exact mode");
      return Refuse(host, EP_STATUS_INVALID_ARGUMENT, "the device can't compute exactly; use mode fast");
    }
    if (key == "tiles" || key == "mode" || key == "scale" || key == "quiet" || key == "label") continue;
    return Refuse(host, EP_STATUS_INVALID_ARGUMENT, "there are tiles, mode, scale, quiet and label");
  }
  return nullptr;
}
