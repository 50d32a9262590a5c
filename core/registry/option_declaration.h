// OptionDeclaration: an option that a plugin declares (ep_options.h), and checks of given values against it.
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

// The host's own option of every provider: the plugin's devices to use, as a number from 0 or several with commas
// between them. It may be set in all places where options are set. The plugin gets the devices instead of the option.
inline constexpr std::string_view kDeviceOption = "device";

struct OptionDeclaration {
  EpOptionType type = EP_OPTION_STRING;
  std::string name;
  std::string default_value;
  std::string help;
  std::string minimum;  // bound of numbers; "": none
  std::string maximum;
  std::vector<std::string> choices;

  bool operator==(const OptionDeclaration&) const = default;
};

// The faulty part of a declaration.
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

// Checks and copies a plugin's declarations. Throws BadOption for the first wrong one.
std::vector<OptionDeclaration> ReadDeclarations(std::span<const EpOptionInfo* const> infos);

using OptionMap = std::map<std::string, std::string>;

struct WrongOption {
  std::string name;
  std::string subject;  // such as "option 'tiles'"
  std::string problem;  // rest of the message: "is '9', a whole number from 1 to 8 expected"
};
// Returns the first option that isn't declared or has an unsuitable value. Skips the host's own option.
std::optional<WrongOption> FindWrong(std::span<const OptionDeclaration> declared, const OptionMap& options);

// Completes options that fit: each declared option gets its default if it wasn't given, in the spelling that
// ep_options.h promises.
void Complete(std::span<const OptionDeclaration> declared, OptionMap* options);

// Name of the type: "string", "int", "float", "bool", "choice".
std::string_view OptionTypeName(EpOptionType type);

}  // namespace epiphyte::core
