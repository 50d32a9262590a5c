// Options: declare each option once, with type, default, range and help. The host then lists the options and checks
// what users give, and the provider reads typed values. See epiphyte/ep_options.h.
//
//   class MyProvider : public kit::Provider {
//    public:
//     static std::span<const kit::Option> Options() {
//       static constexpr const char* kPrecisions[] = {"f32", "f16"};
//       static constexpr kit::Option kOptions[] = {
//           kit::Option::Choice("precision", kPrecisions, "f32", "what products are computed in"),
//           kit::Option::Int("tiles", 4, "how many tiles a model gets", 1, 8),
//       };
//       return kOptions;
//     }
//     explicit MyProvider(const kit::ProviderConfig& config) {
//       const kit::OptionValues options(Options(), config.options);
//       tiles_ = options.Int("tiles");
//       half_ = options.Text("precision") == "f16";
//     }
//     …
//   };
//
// The kit checks a session's options before the provider is made. A plugin that takes no options declares an empty
// table: `static std::span<const kit::Option> Options() { return {}; }`.
//
// A default out of range is a compile error at the option's line if the table is constexpr. Otherwise, and for a
// duplicate name, loading the plugin fails.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "epiphyte/ep_options.h"
#include "epiphyte/kit/abi/error.hpp"

namespace epiphyte::kit {

// One option. The texts live as long as the process.
class Option {
 public:
  static constexpr Option String(const char* name, const char* default_value, const char* help) {
    Option option(name, EP_OPTION_STRING, help);
    option.text_ = default_value;
    option.Demand(default_value != nullptr, "has no default");
    return option;
  }
  static constexpr Option Int(const char* name, int64_t default_value, const char* help,
                              int64_t minimum = std::numeric_limits<int64_t>::min(),
                              int64_t maximum = std::numeric_limits<int64_t>::max()) {
    Option option(name, EP_OPTION_INT, help);
    option.int_ = default_value;
    option.least_int_ = minimum;
    option.most_int_ = maximum;
    option.Demand(default_value >= minimum && default_value <= maximum, "has a default out of its range");
    return option;
  }
  static constexpr Option Float(const char* name, double default_value, const char* help,
                                double minimum = -std::numeric_limits<double>::infinity(),
                                double maximum = std::numeric_limits<double>::infinity()) {
    Option option(name, EP_OPTION_FLOAT, help);
    option.float_ = default_value;
    option.least_float_ = minimum;
    option.most_float_ = maximum;
    option.Demand(default_value >= minimum && default_value <= maximum && default_value - default_value == 0,
                  "has a default out of its range");
    return option;
  }
  static constexpr Option Bool(const char* name, bool default_value, const char* help) {
    Option option(name, EP_OPTION_BOOL, help);
    option.int_ = default_value ? 1 : 0;
    return option;
  }
  static constexpr Option Choice(const char* name, std::span<const char* const> choices, const char* default_value,
                                 const char* help) {
    Option option(name, EP_OPTION_CHOICE, help);
    option.choices_ = choices;
    option.text_ = default_value;
    option.Demand(default_value != nullptr, "has no default");
    option.Demand(option.IsChoice(default_value), "has a default that is none of its choices");
    return option;
  }

  constexpr std::string_view name() const { return name_; }
  constexpr EpOptionType type() const { return type_; }
  constexpr std::string_view help() const { return help_; }
  constexpr std::span<const char* const> choices() const { return choices_; }
  constexpr bool IsChoice(std::string_view value) const {
    for (const char* choice : choices_) {
      if (choice == value) return true;
    }
    return false;
  }
  // The values as text, spelled as ep_options.h says. "" for a bound that does not exist.
  std::string DefaultText() const;
  std::string MinimumText() const;
  std::string MaximumText() const;
  // Says why a value does not fit, as the end of a sentence: "a whole number from 1 to 8 expected". "" when it fits.
  std::string WhyNot(std::string_view value) const;

 private:
  constexpr Option(const char* name, EpOptionType type, const char* help) : name_(name), type_(type), help_(help) {
    if (name == nullptr || *name == '\0') throw Error(EP_STATUS_FAIL, "an option has no name");
    Demand(help != nullptr && *help != '\0', "has no help");
  }
  constexpr void Demand(bool holds, const char* what) const {
    if (!holds) throw Error(EP_STATUS_FAIL, "option '" + std::string(name_) + "' " + what + "; mend its declaration");
  }

  const char* name_;
  EpOptionType type_;
  const char* help_;
  const char* text_ = "";
  std::span<const char* const> choices_;
  int64_t int_ = 0;
  int64_t least_int_ = 0;
  int64_t most_int_ = 0;
  double float_ = 0;
  double least_float_ = 0;
  double most_float_ = 0;
};

// The options of one session, with defaults for those that the session does not give.
class OptionValues {
 public:
  // Throws INVALID_ARGUMENT for an option that is not declared, listing the declared ones, and for a value that does
  // not fit. `declared` must outlive this object.
  OptionValues(std::span<const Option> declared, const std::map<std::string, std::string>& given);

  // Each function throws FAIL for a name that is not declared with that type, which is a mistake of the plugin.
  int64_t Int(std::string_view name) const;
  double Float(std::string_view name) const;
  bool Bool(std::string_view name) const;
  // The value of a STRING or CHOICE. It lives as long as this object.
  const std::string& Text(std::string_view name) const;

 private:
  const std::string& Find(std::string_view name, EpOptionType type, EpOptionType or_type) const;

  std::span<const Option> declared_;
  std::vector<std::string> values_;  // same order as `declared_`
};

// A plugin's options in the form of the C ABI, for EpOptionsApi::GetOptions. The table owns the infos and texts that it
// returns.
class OptionTable {
 public:
  // Throws FAIL for a duplicate name.
  explicit OptionTable(std::span<const Option> options);
  OptionTable(const OptionTable&) = delete;
  OptionTable& operator=(const OptionTable&) = delete;
  void Get(const EpOptionInfo** options, uint32_t capacity, uint32_t* count) const;

 private:
  std::vector<std::string> texts_;
  std::vector<EpOptionInfo> infos_;
};

}  // namespace epiphyte::kit
