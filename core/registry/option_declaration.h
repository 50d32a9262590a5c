// OptionDeclaration: an option that a plugin says it takes (ep_options.h), and what is given for it held against that.
//
//   const std::vector<OptionDeclaration> declared = ReadDeclarations(infos);
//   FindWrong(declared, {{"precison", "bf16"}});   // 'precison': "is unknown; did you mean 'precision'?"
//   FindWrong(declared, {{"precision", "bf32"}});  // "is 'bf32', one of f32, bf16 expected; did you mean 'bf16'?"
//   std::map<std::string, std::string> options = {{"tiles", "2"}};
//   Complete(declared, &options);                  // {{"precision", "f32"}, {"tiles", "2"}}
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "epiphyte/ep_options.h"

namespace epiphyte::core {

// The option of every provider that is the host's: which of the plugin's devices to use, a number from 0, or several
// with commas between them. It comes from where all options come from, and the plugin is given the devices instead of
// the option.
inline constexpr std::string_view kDeviceOption = "device";

struct OptionDeclaration {
  EpOptionType type = EP_OPTION_STRING;
  std::string name;
  std::string default_value;
  std::string help;
  std::string minimum;  // of numbers; "": no bound
  std::string maximum;
  std::vector<std::string> choices;

  bool operator==(const OptionDeclaration&) const = default;
};

// What of a declaration is wrong.
enum class OptionFault { kInfo, kName, kTwice, kType, kHelp, kRange, kChoices, kNoDefault, kDefault };

// INVALID_ARGUMENT with a message that names the option.
class BadOption : public Error {
 public:
  BadOption(OptionFault fault, std::string message)
      : Error(StatusCode::kInvalidArgument, std::move(message)), fault_(fault) {}
  OptionFault fault() const { return fault_; }

 private:
  OptionFault fault_;
};

// What a plugin answered, believed in nothing. Throws BadOption for the first option that is wrong.
std::vector<OptionDeclaration> ReadDeclarations(std::span<const EpOptionInfo* const> infos);

using OptionMap = std::map<std::string, std::string>;

struct WrongOption {
  std::string name;
  std::string subject;  // "option 'tiles'"
  std::string problem;  // what follows: "is '9', a whole number from 1 to 8 expected"
};
// The first of the options that isn't declared, or whose value doesn't fit. The host's own one is not looked at.
std::optional<WrongOption> FindWrong(std::span<const OptionDeclaration> declared, const OptionMap& options);

// Makes of options that fit what the plugin gets: each that is declared, by default where it wasn't given, in the
// spelling that ep_options.h promises.
void Complete(std::span<const OptionDeclaration> declared, OptionMap* options);

// "string", "int", "float", "bool", "choice"
std::string_view OptionTypeName(EpOptionType type);

}  // namespace epiphyte::core
