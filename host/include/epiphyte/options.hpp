// SessionOptions and RunOptions: settings of a session and of a run.
//
//   epiphyte::SessionOptions options;
//   options.AddProvider("vulkan", {{"device", "1"}}).AddProvider("cpu");
//   options.Set("ep.context_enable", "1").SetThreadCount(2);
//
// Both are value types: a copy is independent of its original. Concurrent writes to one object are not safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "epiphyte/context_store.hpp"
#include "epiphyte/export.hpp"

namespace epiphyte {

struct GraphTransform;
struct RewriteRule;

struct OptionDescription {
  std::string key;
  std::string default_value;
  std::string description;
};

// Phases of a session's creation, in this order. A session may skip phases.
enum class SessionPhase {
  kWait = 0,       // waiting for another session that compiles the same model for the context cache
  kRead = 1,       // reading the model and its external data, computing their digests
  kTransform = 2,  // inlining functions and rewriting the graph
  kPartition = 3,  // asking providers for their capability
  kLoad = 4,       // loading contexts
  kCompile = 5,
  kWrite = 6,  // writing the context model
};
// "waiting", "reading", "transforming", "partitioning", "loading", "compiling", "writing"
EPIPHYTE_API std::string_view SessionPhaseName(SessionPhase phase);

struct SessionProgress {
  SessionPhase phase = SessionPhase::kRead;
  uint64_t done = 0;   // part of `total`, in bytes, nodes or a provider's unit
  uint64_t total = 0;  // 0: not known
  std::string text;    // a file, a partition or a provider's text; may be empty
};

class EPIPHYTE_API SessionOptions {
 public:
  SessionOptions();
  ~SessionOptions();
  SessionOptions(const SessionOptions& other);
  SessionOptions& operator=(const SessionOptions& other);

  // Sets an option; keys are spelled as in ONNX Runtime. Throws INVALID_ARGUMENT on an unknown key, naming the nearest
  // one, and on an invalid value.
  SessionOptions& Set(std::string_view key, std::string_view value);
  // Returns the value that was set, or the default.
  std::string Get(std::string_view key) const;

  // Appends a provider to the list, in order of priority. The first call replaces the default list: every usable plugin
  // in the catalog's order. If the fallback provider (the bundled CPU provider) isn't listed, it comes after the listed
  // providers. In the default list its priority decides its position. Throws INVALID_ARGUMENT when the provider is
  // already listed.
  SessionOptions& AddProvider(std::string name, std::map<std::string, std::string> options = {});
  // Sets an option of a provider, also of one that isn't listed, for example the fallback provider. Creating a session
  // that doesn't use the provider throws INVALID_ARGUMENT. If the provider can't be loaded or refuses its options,
  // creating the session fails with the provider's error.
  //
  // The provider defines its keys and values, with one exception: Epiphyte defines the key `device` for every provider.
  // It is the index, from 0, of the device to use in the provider's list in `epiphyte doctor`.
  SessionOptions& SetProviderOption(const std::string& provider, const std::string& key, const std::string& value);
  // Returns the names of the providers that were added.
  std::vector<std::string> providers() const;

  // Sets the number of threads of a run, including the caller's; 0: one for each physical core that the process may
  // use.
  SessionOptions& SetThreadCount(uint32_t count);
  // Writes a Chrome trace to `path` when the session ends or Session::SaveProfile is called. Creating a session throws
  // when `path` can't be written.
  SessionOptions& SetProfile(const std::filesystem::path& path);

  // Sets a callback that reports the creation of a session: at the start of each phase and several times a second in
  // long phases. While a provider works, the callback runs as often as the provider reports. It runs on the thread that
  // creates the session and on threads from which providers report, one call at a time for each session. Returning true
  // cancels: the session's constructor then throws MODEL_LOAD_CANCELED, and no file is left behind.
  SessionOptions& SetProgress(std::function<bool(const SessionProgress& progress)> progress);
  // Sets the same callback without the phase.
  SessionOptions& SetProgress(std::function<bool(uint64_t done, uint64_t total, const std::string& text)> progress);

  // Payloads of EPContext nodes and external initializers are written and read through the store, see
  // context_store.hpp. Null: files. Sessions of one share group must have the same store.
  SessionOptions& SetContextStore(std::shared_ptr<ContextStore> store);

  // Add a transform or rule that changes the model's graph before providers are asked; see transform.hpp. They run in
  // the order in which they were added. Both throw INVALID_ARGUMENT when a function or a valid name is missing, or when
  // the name exists already.
  SessionOptions& AddTransform(GraphTransform transform);
  SessionOptions& AddRewriteRule(RewriteRule rule);

  // Returns every key that Set accepts, sorted.
  static std::vector<OptionDescription> Known();

 private:
  friend class Access;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

struct RunOptions {
  // Names of the requested outputs, in the order in which they are returned; empty: all outputs of the model.
  std::vector<std::string> outputs;
  // Ends the run early: the run throws CANCELED soon after request_stop() of the token's source. Any thread may call
  // request_stop(), also repeatedly. The token is checked between the nodes of a partition, in every iteration of a
  // loop, and within an operator if its provider does so. A stop that was requested before the run ends it at once; a
  // stop after the run has no effect.
  std::stop_token stop;
  // Names the run in its log lines, as "[tag] ", and in its trace events.
  std::string tag;
  // Options of this run for providers, by provider name. Each provider defines its run options and ignores unknown
  // ones. A provider that the session doesn't use gives INVALID_ARGUMENT.
  std::map<std::string, std::map<std::string, std::string>> provider_options;
};

}  // namespace epiphyte
