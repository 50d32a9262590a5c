// CompatibilityKey: the properties that a plugin's contexts depend on, and what a difference means. It is written as
// one line of text for the container and for the host (ep_compatibility_info.<provider>). Later it is compared with
// such a line.
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
// Compare looks only at fields that this key has, and ignores further fields of the other side. So leave out unknown
// properties, for example the number of threads when there is no session.
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
  // A context that was made for another `value` can't be used. `words` names the value in messages; {} stands for the
  // value.
  CompatibilityKey& Require(std::string_view name, std::string_view value, std::string_view words);
  // A context that was made for another `value` can be used, but compiling again is better; `advice` says why.
  CompatibilityKey& Prefer(std::string_view name, std::string_view value, std::string_view words,
                           std::string_view advice = "compile the model again for the best speed");

  // "name=value;…" in the order of the fields. Characters of a value that have a meaning in the text are written as
  // %XX.
  std::string ToText() const;
  // Judges a context that was made under the key `made`. The worst difference counts, and among equally bad ones the
  // first. UNSUPPORTED for a text that is not a key.
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

// The value of one field in a key's text. Nothing when the field is missing or the text is not a key.
std::optional<std::string> FieldOfKey(std::string_view key, std::string_view name);

}  // namespace epiphyte::kit
