// SessionOptions: the options of a session. Keys are spelled as in ONNX Runtime. An unknown key is INVALID_ARGUMENT,
// and the message names the nearest known one.
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
  // Whether two sessions that differ in this option get different contexts from one model.
  bool changes_compilation = true;
};

// Every key that Set() accepts, sorted.
std::span<const OptionInfo> KnownSessionOptions();

struct ProviderChoice {
  std::string name;
  std::map<std::string, std::string> options;
};

// Settings that an application gives as objects instead of text.
struct SessionSettings {
  // Providers in order of priority. Empty: every enabled plugin in the catalog's order.
  std::vector<ProviderChoice> providers;
  // Options by provider name, listed above or not; a listed provider's own options come first. INVALID_ARGUMENT for a
  // name that the session doesn't use.
  std::map<std::string, std::map<std::string, std::string>> provider_options;
  // 0: one for each physical core that this process may use.
  uint32_t thread_count = 0;
  // Path of the Chrome trace that is written when the session ends.
  std::string profile_path;
  // Store of context payloads and external initializers; null: they are in files.
  std::shared_ptr<ContextStore> context_store;
  // Transforms that run in this order, after the core's own.
  ApplicationTransforms transforms;
  // Called while the session is created, from the first moment on. Calls come one at a time, on the thread that creates
  // the session and on those that providers report from. Returning true cancels: creating the session then fails with
  // MODEL_LOAD_CANCELED.
  SessionProgressFunction progress;
};

// A SessionConfig is made from these options once, and the code that makes a session reads that.
class SessionOptions : public SessionSettings {
 public:
  // Throws INVALID_ARGUMENT for an unknown key or a value that the key doesn't take.
  void Set(std::string_view key, std::string_view value);
  // Returns the value that was set, or the default. `key` must be known.
  std::string Get(std::string_view key) const;

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace epiphyte::core
