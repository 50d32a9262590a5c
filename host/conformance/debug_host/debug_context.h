// DebugContextSink: checks the contexts that a provider writes against the rules, and keeps them as input for
// LoadContext.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "epiphyte/ep_context.h"
#include "host/conformance/debug_host/debug_graph.h"

namespace epiphyte::conformance {

struct SavedNode {
  uint32_t partition = 0;
  int payload = -1;  // index into the payloads; -1: none
  int64_t main_context = 1;
  int64_t max_size = 0;
  std::string source;
  std::string ep_sdk_version;
  std::string hardware_architecture;
  std::string notes;
  std::vector<std::pair<std::string, std::string>> attributes;
};

struct SavedContext {
  std::vector<std::string> partition_names;
  std::vector<SavedNode> nodes;
  std::vector<std::string> payloads;
  std::string compatibility_info;
};

class DebugContextSink {
 public:
  struct Setting {
    std::vector<std::string> partition_names;
    std::vector<std::string> sources;  // sources of the plugin
    bool embed = false;
    bool defers_payload = false;  // true: a later session of the share group writes the payload
  };
  explicit DebugContextSink(Setting setting);
  ~DebugContextSink();
  DebugContextSink(const DebugContextSink&) = delete;
  DebugContextSink& operator=(const DebugContextSink&) = delete;

  EpContextSink* handle() const { return handle_; }
  // Call after a successful GetEpContextNodes. Checks that nothing is missing, and returns the context.
  SavedContext Take(bool needs_payload);

  EpStatus* GetInfo(EpContextSinkInfo* info) const;
  EpStatus* Begin(EpContextWriter** writer);
  EpStatus* Add(const EpContextNodeDesc* node);
  void SetInfo(const char* info);
  struct Payload {
    DebugContextSink* sink = nullptr;
    EpContextWriter* handle = nullptr;
    std::string bytes;
    bool ended = false;
  };

 private:
  const Setting setting_;
  Arena arena_;
  EpContextSinkInfo info_ = {};
  EpContextSink* handle_;
  std::vector<std::unique_ptr<Payload>> payloads_;
  std::vector<SavedNode> nodes_;
  std::string compatibility_info_;
};

}  // namespace epiphyte::conformance
