// SessionOptions and RunOptions: what a session and a run are asked to do.
//
//   epiphyte::SessionOptions options;
//   options.AddProvider("vulkan", {{"device", "1"}}).AddProvider("cpu");
//   options.Set("ep.context_enable", "1").SetThreadCount(2);
//
// Values: a copy is independent of its original. Not for concurrent writes.
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

// What the creation of a session is at, in this order as far as a session has it.
enum class SessionPhase {
  kWait = 0,       // for another session that compiles the same model for the context cache
  kRead = 1,       // the model, its external data, their digests
  kTransform = 2,  // functions and rewrites
  kPartition = 3,  // asking providers
  kLoad = 4,       // contexts
  kCompile = 5,
  kWrite = 6,  // the context model
};
// "waiting", "reading", "transforming", "partitioning", "loading", "compiling", "writing"
EPIPHYTE_API std::string_view SessionPhaseName(SessionPhase phase);

struct SessionProgress {
  SessionPhase phase = SessionPhase::kRead;
  uint64_t done = 0;   // of `total`: bytes, nodes, or what a provider counts
  uint64_t total = 0;  // 0: not known
  std::string text;    // what it is about: a file, a partition, what a provider says; may be empty
};

class EPIPHYTE_API SessionOptions {
 public:
  SessionOptions();
  ~SessionOptions();
  SessionOptions(const SessionOptions& other);
  SessionOptions& operator=(const SessionOptions& other);

  // Keys are spelled as ONNX Runtime spells them. Throws INVALID_ARGUMENT on a key that isn't known, naming the nearest
  // one, and on a value that the key doesn't take.
  SessionOptions& Set(std::string_view key, std::string_view value);
  // The value set, or the default.
  std::string Get(std::string_view key) const;

  // Providers in order of priority; the first call replaces the default, which is every usable plugin in the
  // catalog's order. The fallback provider (the bundled CPU provider) comes after those that are listed if it isn't
  // listed itself, and in the default where its priority puts it. Throws INVALID_ARGUMENT when the provider is already
  // listed.
  SessionOptions& AddProvider(std::string name, std::map<std::string, std::string> options = {});
  // An option of a provider that need not be listed: of the fallback provider, say. Creating a session that doesn't use
  // the provider throws INVALID_ARGUMENT; one that can't be loaded, or refuses its options, ends it with its own error.
  //
  // Keys and values are the provider's own, but for one key that is Epiphyte's with every provider: `device`, the
  // number of the device to use among those that `epiphyte doctor` lists for it, from 0.
  SessionOptions& SetProviderOption(const std::string& provider, const std::string& key, const std::string& value);
  // Names of the providers added.
  std::vector<std::string> providers() const;

  // Threads a run may use, the caller's included; 0: one for each physical core that the process may use.
  SessionOptions& SetThreadCount(uint32_t count);
  // Writes a Chrome trace there when the session ends or Session::SaveProfile is called. Creating a session throws
  // when nothing can be written there.
  SessionOptions& SetProfile(const std::filesystem::path& path);

  // Called while a session is created: at the start of each phase and, in long ones, several times a second as far as
  // the work is Epiphyte's own; within a provider as often as it reports. On the thread that creates the session and on
  // those that providers report from, one call at a time for each session. Returning true cancels: the session's
  // constructor then throws MODEL_LOAD_CANCELED, and no file is left behind.
  SessionOptions& SetProgress(std::function<bool(const SessionProgress& progress)> progress);
  // As above, without the phase.
  SessionOptions& SetProgress(std::function<bool(uint64_t done, uint64_t total, const std::string& text)> progress);

  // Payloads of EPContext nodes and external initializers are written and read through the store, see
  // context_store.hpp; null: files. Sessions of one share group have the same store.
  SessionOptions& SetContextStore(std::shared_ptr<ContextStore> store);

  // Change the model's graph before providers are asked, in the order in which they were added: see transform.hpp.
  // Throw INVALID_ARGUMENT when a function or a usable name is missing, or the name is there already.
  SessionOptions& AddTransform(GraphTransform transform);
  SessionOptions& AddRewriteRule(RewriteRule rule);

  // Every key that Set accepts, sorted.
  static std::vector<OptionDescription> Known();

 private:
  friend class Access;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

struct RunOptions {
  // Names of the outputs that are wanted, in the order they are returned; empty: all of the model's.
  std::vector<std::string> outputs;
  // Ends the run early: it throws CANCELED soon after request_stop() of the token's source, which any thread may call,
  // and more than once. It is looked at between the nodes of a partition, in every iteration of a loop, and within one
  // operator as far as its provider does that. What was asked for before the run ends it at once; after the run it does nothing.
  std::stop_token stop;
  // Names the run: it stands in the lines that the log gets while it goes on, "[tag] ", and in its events of the trace.
  std::string tag;
  // Options for providers by name, for this run alone. Which there are is the provider's to say; one that it doesn't
  // know is ignored. A provider that the session doesn't use is INVALID_ARGUMENT.
  std::map<std::string, std::map<std::string, std::string>> provider_options;
};

}  // namespace epiphyte
