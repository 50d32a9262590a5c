#include "epiphyte/kit/plugin/options.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <system_error>
#include <type_traits>

#include "epiphyte/kit/shape/number_text.hpp"

namespace epiphyte::kit {
namespace {

template <typename Number>
std::optional<Number> Parse(std::string_view text) {
  Number number = {};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if constexpr (std::is_floating_point_v<Number>) {
    if (!std::isfinite(number)) return std::nullopt;
  }
  return number;
}

std::string Spell(int64_t number) { return std::to_string(number); }
std::string Spell(double number) { return NumberText(number); }

// Describes the values that an option accepts, for example as "a whole number from 1 to 8". Empty bounds are left out.
std::string Expectation(std::string what, const std::string& minimum, const std::string& maximum) {
  if (!minimum.empty() && !maximum.empty()) return what + " from " + minimum + " to " + maximum;
  if (!minimum.empty()) return what + " of at least " + minimum;
  if (!maximum.empty()) return what + " of at most " + maximum;
  return what;
}

std::string Join(std::span<const char* const> texts) {
  std::string all;
  for (const char* text : texts) all += (all.empty() ? "" : ", ") + std::string(text);
  return all;
}

}  // namespace

std::string Option::DefaultText() const {
  switch (type_) {
    case EP_OPTION_INT:
    case EP_OPTION_BOOL: return Spell(int_);
    case EP_OPTION_FLOAT: return Spell(float_);
    default: return text_;
  }
}

std::string Option::MinimumText() const {
  if (type_ == EP_OPTION_INT && least_int_ != std::numeric_limits<int64_t>::min()) return Spell(least_int_);
  if (type_ == EP_OPTION_FLOAT && std::isfinite(least_float_)) return Spell(least_float_);
  return {};
}

std::string Option::MaximumText() const {
  if (type_ == EP_OPTION_INT && most_int_ != std::numeric_limits<int64_t>::max()) return Spell(most_int_);
  if (type_ == EP_OPTION_FLOAT && std::isfinite(most_float_)) return Spell(most_float_);
  return {};
}

std::string Option::WhyNot(std::string_view value) const {
  switch (type_) {
    case EP_OPTION_INT: {
      const std::optional<int64_t> number = Parse<int64_t>(value);
      if (number && *number >= least_int_ && *number <= most_int_) return {};
      return Expectation("a whole number", MinimumText(), MaximumText()) + " expected";
    }
    case EP_OPTION_FLOAT: {
      const std::optional<double> number = Parse<double>(value);
      if (number && *number >= least_float_ && *number <= most_float_) return {};
      return Expectation("a number", MinimumText(), MaximumText()) + " expected";
    }
    case EP_OPTION_BOOL: return value == "0" || value == "1" ? "" : "0 or 1 expected";
    case EP_OPTION_CHOICE: return IsChoice(value) ? "" : "one of " + Join(choices_) + " expected";
    default: return {};
  }
}

OptionValues::OptionValues(std::span<const Option> declared, const std::map<std::string, std::string>& given)
    : declared_(declared) {
  for (const Option& option : declared) values_.push_back(option.DefaultText());
  for (const auto& [key, value] : given) {
    const auto found =
        std::find_if(declared.begin(), declared.end(), [&, &key = key](const Option& o) { return o.name() == key; });
    if (found == declared.end()) {
      std::string names;
      for (const Option& option : declared) names += (names.empty() ? "" : ", ") + std::string(option.name());
      throw Error(EP_STATUS_INVALID_ARGUMENT,
                  "option '" + key + "' is unknown; " + (names.empty() ? "there are none" : "there are " + names));
    }
    if (const std::string why = found->WhyNot(value); !why.empty()) {
      throw Error(EP_STATUS_INVALID_ARGUMENT, "option '" + key + "' is '" + value + "', " + why);
    }
    values_[static_cast<size_t>(found - declared.begin())] = value;
  }
}

const std::string& OptionValues::Find(std::string_view name, EpOptionType type, EpOptionType or_type) const {
  for (size_t i = 0; i < declared_.size(); ++i) {
    if (declared_[i].name() == name && (declared_[i].type() == type || declared_[i].type() == or_type)) {
      return values_[i];
    }
  }
  throw Error(EP_STATUS_FAIL, "the provider reads option '" + std::string(name) +
                                  "', which its table doesn't have, or with another type; add it there");
}

int64_t OptionValues::Int(std::string_view name) const {
  return *Parse<int64_t>(Find(name, EP_OPTION_INT, EP_OPTION_INT));
}
double OptionValues::Float(std::string_view name) const {
  return *Parse<double>(Find(name, EP_OPTION_FLOAT, EP_OPTION_FLOAT));
}
bool OptionValues::Bool(std::string_view name) const { return Find(name, EP_OPTION_BOOL, EP_OPTION_BOOL) == "1"; }
const std::string& OptionValues::Text(std::string_view name) const {
  return Find(name, EP_OPTION_STRING, EP_OPTION_CHOICE);
}

OptionTable::OptionTable(std::span<const Option> options) {
  texts_.reserve(options.size() * 3);  // infos_ points into these strings, so they must not move
  const auto keep = [&](std::string text) { return texts_.emplace_back(std::move(text)).c_str(); };
  for (size_t i = 0; i < options.size(); ++i) {
    const Option& option = options[i];
    for (const Option& other : options.first(i)) {
      if (other.name() == option.name()) {
        throw Error(EP_STATUS_FAIL,
                    "option '" + std::string(option.name()) + "' is declared twice; rename one of them");
      }
    }
    const std::string minimum = option.MinimumText();
    const std::string maximum = option.MaximumText();
    EpOptionInfo info = {};
    info.struct_size = sizeof(info);
    info.type = option.type();
    info.name = option.name().data();
    info.default_value = keep(option.DefaultText());
    info.help = option.help().data();
    info.minimum = minimum.empty() ? nullptr : keep(minimum);
    info.maximum = maximum.empty() ? nullptr : keep(maximum);
    info.choices = option.choices().empty() ? nullptr : option.choices().data();
    info.choice_count = static_cast<uint32_t>(option.choices().size());
    infos_.push_back(info);
  }
}

void OptionTable::Get(const EpOptionInfo** options, uint32_t capacity, uint32_t* count) const {
  *count = static_cast<uint32_t>(infos_.size());
  for (size_t i = 0; i < infos_.size() && i < capacity; ++i) options[i] = &infos_[i];
}

}  // namespace epiphyte::kit
