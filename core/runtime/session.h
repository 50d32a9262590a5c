// Session: one model, ready to run.
//
//   Environment environment(CatalogOptions{});
//   Session session(environment, "model.onnx", options);
//   std::vector<ValuePtr> outputs = session.Run({{"x", x}}, {});
//
// Creating one: read, transform, partition, compile or load contexts, plan. With ep.context_enable=1 the context model
// is written before the constructor returns. Run is thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/context/share_group.h"
#include "core/graph/type.h"
#include "core/graph/value.h"
#include "core/partition/placement.h"
#include "core/registry/catalog.h"
#include "core/runtime/session_options.h"

namespace epiphyte::core {

// What sessions share: the catalog, and the groups of sessions that share weights. Outlives its sessions.
class Environment {
 public:
  // `guard_mapped_files`: see core/base/mapping_guard.h.
  explicit Environment(CatalogOptions options, bool guard_mapped_files = true);
  Catalog& catalog() { return catalog_; }
  ShareGroups& share_groups() { return share_groups_; }
  // What this process may use, as it was when the environment was made.
  uint64_t memory() const { return memory_; }

 private:
  Catalog catalog_;
  ShareGroups share_groups_;  // its plugins' workspaces go before the plugins
  uint64_t memory_;
};

struct ValueSpec {
  std::string name;
  TypePtr type;
};

// What Session wrote for ep.context_enable=1.
struct ContextOutput {
  std::filesystem::path model;
  std::vector<std::filesystem::path> files;  // binaries and external initializers
  size_t context_nodes = 0;
  size_t plain_nodes = 0;
};

class Session {
 public:
  Session(Environment& environment, const std::filesystem::path& model, const SessionOptions& options);
  // `bytes` need to live only until the constructor returns.
  Session(Environment& environment, const void* bytes, size_t size, const SessionOptions& options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const std::vector<ValueSpec>& inputs() const;  // without initializers
  const std::vector<ValueSpec>& outputs() const;
  const Placement& placement() const;
  bool has_context() const;  // something was loaded from an EPContext node
  // Null unless a context model was written: in a share group only the last session has one.
  const ContextOutput* context_output() const;

  // Inputs in the order of inputs(); null for an absent optional one. Returns all outputs. Throws INVALID_ARGUMENT when
  // number, type or shape of an input does not fit; FAIL when a file that the session reads from was cut off meanwhile,
  // when the run would need more memory than it may (session.max_value_bytes, session.max_run_bytes), and when `stop`
  // was asked for.
  std::vector<ValuePtr> Run(std::span<const ValuePtr> inputs, const std::stop_token& stop = {});
  // By name; `output_names` empty: all.
  std::vector<ValuePtr> Run(std::span<const std::pair<std::string, ValuePtr>> inputs,
                            std::span<const std::string> output_names, const std::stop_token& stop = {});

  // Chrome trace of what has been recorded so far, as JSON; "" when profiling is off.
  std::string ProfileJson() const;
  // Writes it to SessionOptions::profile_path now, and not again at the end. Throws FAIL when that is impossible.
  void SaveProfile();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Partitions a model and says what would run where, without compiling.
Placement PlaceModel(Environment& environment, const std::filesystem::path& model, const SessionOptions& options);

}  // namespace epiphyte::core
