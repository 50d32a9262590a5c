// CompatibilityKey: what a plugin's contexts depend on, and what a difference means. It is written as one line of text,
// for the container and for the host (ep_compatibility_info.<provider>), and compared with such a line later.
//
//   kit::CompatibilityKey key;
//   key.Require("driver", DriverVersion(), "driver {}");
//   key.Require("chip", ChipName(), "chip {}");
//   key.Prefer("cores", std::to_string(CoreCount()), "{} cores");
//
//   kit::ContextContainerBuilder builder(kFormat, key.ToText());        // "driver=2.1;chip=N4;cores=8"
//   writer.SetCompatibilityInfo(key.ToText());
//   …
//   key.Compare(container.key()).ThrowIfUnsupported();
//
// What is compared on an occasion is what the key has: without a session nobody knows the number of threads, so leave
// it out then, and fields that only the other side has are not looked at.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "epiphyte/ep_context.h"
#include "epiphyte/kit/abi/verdict.hpp"

namespace epiphyte::kit {

class CompatibilityKey {
 public:
  // A context that was made for another `value` can't be used. `words` say it in a message, with {} for the value.
  CompatibilityKey& Require(std::string_view name, std::string_view value, std::string_view words);
  // It can be used, but compiling again is better; `advice` says why.
  CompatibilityKey& Prefer(std::string_view name, std::string_view value, std::string_view words,
                           std::string_view advice = "compile the model again for the best speed");

  // "name=value;…" in the order of the fields; what could be mistaken in a value is written as %XX.
  std::string ToText() const;
  // The verdict on a context that was made under the key `made`: of all fields that differ the worst, of equally bad
  // ones the first. UNSUPPORTED for a text that is none.
  ContextVerdict Compare(std::string_view made) const;

 private:
  struct Field {
    std::string name;
    std::string value;
    std::string words;
    std::string advice;
    EpContextVerdict verdict;
  };
  static std::string Say(const Field& field, std::string_view value);

  std::vector<Field> fields_;
};

// The value of one field of a key's text; nothing when it isn't there or the text is none.
std::optional<std::string> FieldOfKey(std::string_view key, std::string_view name);

}  // namespace epiphyte::kit
