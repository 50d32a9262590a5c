// SessionOptions: the options of a session. Keys are spelled as in ONNX Runtime. A value is checked and parsed when it
// is set; the code that makes a session takes a SessionConfig, which this class is. An unknown key is INVALID_ARGUMENT,
// and the message names the nearest known one.
//
//   SessionOptions options;
//   options.Set("ep.context_enable", "1");  // options.context.enable is true now
//   options.providers = {{"vulkan", {{"device", "1"}}}, {"cpu", {}}};
//   Session session(environment, "model.onnx", options);
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "core/runtime/session_config.h"

namespace epiphyte::core {

// The effect of an option. Two sessions that differ in an option of kCompilation get different contexts from one model.
enum class OptionAffects { kCompilation, kRunOnly };

struct OptionInfo {
  std::string_view key;
  std::string_view default_value;
  std::string_view description;
  OptionAffects affects = OptionAffects::kCompilation;
};

// Every key that Set() accepts, sorted.
std::span<const OptionInfo> KnownSessionOptions();

class SessionOptions : public SessionConfig {
 public:
  SessionOptions();
  // Throws INVALID_ARGUMENT for an unknown key or a value that the key doesn't take.
  void Set(std::string_view key, std::string_view value);
  // Returns the value that was set, or the default. `key` must be known.
  std::string Get(std::string_view key) const;

 private:
  std::map<std::string, std::string, std::less<>> texts_;  // as they were set
};

}  // namespace epiphyte::core
