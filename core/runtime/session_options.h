// SessionOptions: what a session is asked to do. Keys are spelled as ONNX Runtime spells them; an unknown key is
// INVALID_ARGUMENT and the message names the nearest known one.
//
//   SessionOptions options;
//   options.Set("ep.context_enable", "1");
//   options.providers = {{"vulkan", {{"device", "1"}}}, {"cpu", {}}};
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/context/context_store.h"
#include "core/runtime/session_progress.h"
#include "core/transform/application_transforms.h"

namespace epiphyte::core {

struct OptionInfo {
  std::string_view key;
  std::string_view default_value;
  std::string_view description;
  // Two sessions that differ in it get different contexts from one model.
  bool changes_compilation = true;
};

// Every key that Set() accepts, sorted.
std::span<const OptionInfo> KnownSessionOptions();

struct ProviderChoice {
  std::string name;
  std::map<std::string, std::string> options;
};

// What an application gives as objects, not as text.
struct SessionSettings {
  // In order of priority. Empty: every enabled plugin in the catalog's order.
  std::vector<ProviderChoice> providers;
  // For providers by name, listed above or not; a listed provider's own options come first. A name that the session
  // doesn't use is INVALID_ARGUMENT.
  std::map<std::string, std::map<std::string, std::string>> provider_options;
  // 0: one for each physical core that this process may use.
  uint32_t thread_count = 0;
  // Writes a Chrome trace when the session ends.
  std::string profile_path;
  // Where context payloads and external initializers are kept when not in files; may be null.
  std::shared_ptr<ContextStore> context_store;
  // Run in this order, after the core's own.
  ApplicationTransforms transforms;
  // Called while the session is created, from the first moment on, one call at a time, on the thread that creates it
  // and on those that providers report from; true cancels, and creating the session fails with MODEL_LOAD_CANCELED.
  SessionProgressFunction progress;
};

// Whoever makes a session reads a SessionConfig, which is made from these once.
class SessionOptions : public SessionSettings {
 public:
  // Throws INVALID_ARGUMENT on an unknown key or on a value that isn't one the key takes.
  void Set(std::string_view key, std::string_view value);
  // The value set, or the default. `key` must be known.
  std::string Get(std::string_view key) const;

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace epiphyte::core
