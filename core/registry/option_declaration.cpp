#include "core/registry/option_declaration.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <system_error>
#include <type_traits>

#include "core/base/abi_fill.h"
#include "core/base/suggest.h"
#include "core/base/text.h"

namespace epiphyte::core {
namespace {

constexpr size_t kMaxName = 64;
constexpr size_t kMaxTextBytes = 1024;  // including the terminating zero

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

template <typename Number>
bool IsInRange(std::string_view value, const OptionDeclaration& option) {
  const std::optional<Number> number = Parse<Number>(value);
  if (!number) return false;
  if (!option.minimum.empty() && *number < Parse<Number>(option.minimum)) return false;
  return option.maximum.empty() || !(*number > Parse<Number>(option.maximum));
}

bool Fits(std::string_view value, const OptionDeclaration& option) {
  switch (option.type) {
    case EP_OPTION_INT: return IsInRange<int64_t>(value, option);
    case EP_OPTION_FLOAT: return IsInRange<double>(value, option);
    case EP_OPTION_BOOL: return value == "1" || value == "0" || value == "true" || value == "false";
    case EP_OPTION_CHOICE:
      return std::find(option.choices.begin(), option.choices.end(), value) != option.choices.end();
    default: return value.find('\0') == std::string_view::npos;
  }
}

std::string WithRange(std::string_view what, const OptionDeclaration& option) {
  if (!option.minimum.empty() && !option.maximum.empty()) {
    return fmt::format("{} from {} to {}", what, option.minimum, option.maximum);
  }
  if (!option.minimum.empty()) return fmt::format("{} of at least {}", what, option.minimum);
  if (!option.maximum.empty()) return fmt::format("{} of at most {}", what, option.maximum);
  return std::string(what);
}

std::string Expectation(const OptionDeclaration& option) {
  switch (option.type) {
    case EP_OPTION_INT: return WithRange("a whole number", option);
    case EP_OPTION_FLOAT: return WithRange("a number", option);
    case EP_OPTION_BOOL: return "true or false";
    case EP_OPTION_CHOICE: return fmt::format("one of {}", fmt::join(option.choices, ", "));
    default: return "text without a zero byte";
  }
}

std::string ReadText(const char* text, OptionFault fault, const std::string& whose) {
  if (const std::string problem = LineProblem(text, kMaxTextBytes); !problem.empty()) {
    throw BadOption(fault, fmt::format("{} {}", whose, problem));
  }
  return text;
}

std::string ReadName(const char* text, size_t place) {
  std::string name = ReadText(text, OptionFault::kName, fmt::format("the name of option {}", place));
  const bool spelled = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.';
  });
  if (!spelled || name.empty() || name.size() > kMaxName) {
    throw BadOption(OptionFault::kName,
                    fmt::format("the name of option {} is '{}'; 1 to {} letters, digits, '_', '-' or "
                                "'.' expected",
                                place, PrintableLine(name, kMaxName), kMaxName));
  }
  if (name == kDeviceOption) {
    throw BadOption(OptionFault::kName,
                    fmt::format("option {} is called '{}', which is the host's own option; leave it out, the devices "
                                "arrive in EpProviderConfig::devices",
                                place, name));
  }
  return name;
}

template <typename Number>
void CheckRange(const OptionDeclaration& option, std::string_view what) {
  for (const std::string* bound : {&option.minimum, &option.maximum}) {
    if (bound->empty() || Parse<Number>(*bound)) continue;
    throw BadOption(OptionFault::kRange, fmt::format("option '{}' has the bound '{}', {} expected", option.name,
                                                     PrintableLine(*bound, 64), what));
  }
  const bool both = !option.minimum.empty() && !option.maximum.empty();
  if (both && Parse<Number>(option.minimum) > Parse<Number>(option.maximum)) {
    throw BadOption(OptionFault::kRange,
                    fmt::format("option '{}' has the smallest value {} and the largest value {}, so that none fits",
                                option.name, option.minimum, option.maximum));
  }
}

void ReadRange(const EpOptionInfo& info, OptionDeclaration* option) {
  const bool is_number = option->type == EP_OPTION_INT || option->type == EP_OPTION_FLOAT;
  const auto read = [&](const char* text, const char* which) -> std::string {
    if (text == nullptr) return {};
    if (!is_number) {
      throw BadOption(OptionFault::kRange, fmt::format("option '{}' of type {} has a {}; only numbers have one",
                                                       option->name, OptionTypeName(option->type), which));
    }
    std::string bound = ReadText(text, OptionFault::kRange, fmt::format("the {} of option '{}'", which, option->name));
    if (bound.empty()) {
      throw BadOption(OptionFault::kRange,
                      fmt::format("the {} of option '{}' is empty; null stands for no bound", which, option->name));
    }
    return bound;
  };
  option->minimum = read(info.minimum, "minimum");
  option->maximum = read(info.maximum, "maximum");
  if (option->type == EP_OPTION_INT) CheckRange<int64_t>(*option, "a whole number of 64 bits");
  if (option->type == EP_OPTION_FLOAT) CheckRange<double>(*option, "a finite number");
}

void ReadChoices(const EpOptionInfo& info, OptionDeclaration* option) {
  const auto refuse = [&](const std::string& what) {
    throw BadOption(OptionFault::kChoices, fmt::format("option '{}' {}", option->name, what));
  };
  if (option->type != EP_OPTION_CHOICE) {
    if (info.choice_count == 0 && info.choices == nullptr) return;
    refuse(fmt::format("of type {} has choices; only a choice has any", OptionTypeName(option->type)));
  }
  if (info.choice_count < 1 || info.choice_count > EP_MAX_OPTIONS || info.choices == nullptr) {
    refuse(fmt::format("has {} choices{}, 1 to {} expected", info.choice_count,
                       info.choices == nullptr ? " in a null array" : "", EP_MAX_OPTIONS));
  }
  for (uint32_t i = 0; i < info.choice_count; ++i) {
    std::string choice =
        ReadText(info.choices[i], OptionFault::kChoices, fmt::format("choice {} of option '{}'", i, option->name));
    if (choice.empty()) refuse(fmt::format("has an empty choice, at place {}", i));
    if (Fits(choice, *option)) refuse(fmt::format("has the choice '{}' twice", choice));
    option->choices.push_back(std::move(choice));
  }
}

OptionDeclaration ReadOption(const EpOptionInfo* info, size_t place) {
  if (const std::string problem = info == nullptr ? "it is null" : AbiProblem(*info); !problem.empty()) {
    throw BadOption(OptionFault::kInfo, fmt::format("option {} is malformed: {}", place, problem));
  }
  OptionDeclaration option;
  option.name = ReadName(info->name, place);
  option.type = info->type;
  if (OptionTypeName(option.type).empty()) {
    throw BadOption(OptionFault::kType, fmt::format("option '{}' is of type {}, {} to {} expected", option.name,
                                                    option.type, EP_OPTION_STRING, EP_OPTION_CHOICE));
  }
  option.help = ReadText(info->help, OptionFault::kHelp, fmt::format("the help of option '{}'", option.name));
  if (option.help.empty())
    throw BadOption(OptionFault::kHelp, fmt::format("the help of option '{}' is empty", option.name));
  ReadRange(*info, &option);
  ReadChoices(*info, &option);
  if (info->default_value == nullptr) {
    throw BadOption(
        OptionFault::kNoDefault,
        fmt::format("option '{}' has no default; set `default_value` to the value that holds when it is not given",
                    option.name));
  }
  option.default_value =
      ReadText(info->default_value, OptionFault::kDefault, fmt::format("the default of option '{}'", option.name));
  if (!Fits(option.default_value, option)) {
    throw BadOption(OptionFault::kDefault, fmt::format("option '{}' has the default '{}', {} expected", option.name,
                                                       option.default_value, Expectation(option)));
  }
  return option;
}

// Problem of the value for the option; "" when it fits.
std::string ProblemOf(std::span<const OptionDeclaration> declared, std::string_view name, std::string_view value) {
  const auto found = std::find_if(declared.begin(), declared.end(),
                                  [&](const OptionDeclaration& option) { return option.name == name; });
  if (found == declared.end()) {
    std::vector<std::string_view> names;
    for (const OptionDeclaration& option : declared) names.push_back(option.name);
    if (names.empty()) return "is unknown; there are none";
    const std::string_view nearest = Nearest(name, names);
    if (nearest.empty()) return fmt::format("is unknown; known are: {}", fmt::join(names, ", "));
    return fmt::format("is unknown; did you mean '{}'?", nearest);
  }
  if (Fits(value, *found)) return {};
  const std::vector<std::string_view> choices(found->choices.begin(), found->choices.end());
  const std::string_view nearest = Nearest(value, choices);
  return fmt::format("is '{}', {} expected{}", PrintableLine(value, 64), Expectation(*found),
                     nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest));
}

}  // namespace

std::vector<OptionDeclaration> ReadDeclarations(std::span<const EpOptionInfo* const> infos) {
  std::vector<OptionDeclaration> options;
  for (size_t i = 0; i < infos.size(); ++i) {
    OptionDeclaration option = ReadOption(infos[i], i);
    for (const OptionDeclaration& other : options) {
      if (other.name != option.name) continue;
      throw BadOption(OptionFault::kTwice, fmt::format("option '{}' is declared twice", option.name));
    }
    options.push_back(std::move(option));
  }
  return options;
}

std::optional<WrongOption> FindWrong(std::span<const OptionDeclaration> declared, const OptionMap& options) {
  for (const auto& [name, value] : options) {
    if (name == kDeviceOption) continue;
    std::string problem = ProblemOf(declared, name, value);
    if (!problem.empty())
      return WrongOption{name, fmt::format("option '{}'", PrintableLine(name, kMaxName)), std::move(problem)};
  }
  return std::nullopt;
}

void Complete(std::span<const OptionDeclaration> declared, OptionMap* options) {
  for (const OptionDeclaration& option : declared) {
    std::string& value = options->try_emplace(option.name, option.default_value).first->second;
    if (option.type != EP_OPTION_BOOL) continue;
    if (value == "true") value = "1";
    if (value == "false") value = "0";
  }
}

std::string_view OptionTypeName(EpOptionType type) {
  switch (type) {
    case EP_OPTION_STRING: return "string";
    case EP_OPTION_INT: return "int";
    case EP_OPTION_FLOAT: return "float";
    case EP_OPTION_BOOL: return "bool";
    case EP_OPTION_CHOICE: return "choice";
    default: return {};
  }
}

}  // namespace epiphyte::core
