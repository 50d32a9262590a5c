// NodePayloads: the payloads of a model's EPContext nodes. Each is found (in the model, in a file beside it by the
// rules of base/safe_path.h, or in an application's store), opened once, and compared once with what the model
// recorded. Nobody else opens one: whoever loads, verifies, judges, merges or describes a context model does it through
// here.
//
//   NodePayloads payloads({.model = path}, model.metadata);
//   const NodePayload& payload = payloads.Open(node, attributes);
//   if (!payload.problem.empty()) …
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/abi/provider.h"
#include "core/base/error.h"
#include "core/context/context_metadata.h"
#include "core/context/context_model.h"
#include "core/context/context_store.h"
#include "core/context/share_group.h"
#include "core/graph/graph.h"

namespace epiphyte::core {

// Where payloads are, and how closely they are looked at.
struct PayloadAccess {
  // What relative paths are relative to; empty when the model came from memory and ep.context_file_path is not set.
  std::filesystem::path model;
  std::shared_ptr<ContextStore> store;  // where payloads are when not in files; may be null
  ShareGroup* group = nullptr;          // shares payloads among its sessions
  ThreadPool* pool = nullptr;           // helps with digests
  ProgressCallback on_progress;         // beats while digests are compared
  enum Digests {
    kNone,      // sizes are compared
    kRecorded,  // and digests, where there is a record
    kAll,       // each payload's digest is told too
  } digests = kAll;
  bool embedded_verified = false;  // the model's seal was checked and covers what is embedded: its size will do
};

struct NodePayload {
  ContextBlob blob;                   // empty: the node has none, or it can't be opened
  std::string digest;                 // of the blob; "" without one, and where nobody asked
  std::string recorded_digest;        // as the model recorded it; "" when it didn't
  std::string problem;                // one line; empty: there is none
  StatusCode code = StatusCode::kOk;  // of the problem
  bool is_unrecorded = false;         // the problem: the model has records, and none of this payload
};

// Plugins may count on it.
inline constexpr size_t kPayloadAlignment = 64;
// The same bytes in memory of their own, aligned.
ContextBlob CopyOf(const ContextBlob& blob);
// The blob itself when it is aligned, else a copy. Files are mapped, so they begin at a page; what lies within a model
// or in an application's memory may begin anywhere.
ContextBlob Aligned(const ContextBlob& blob);

class NodePayloads {
 public:
  // Throws INVALID_GRAPH when the records are malformed.
  NodePayloads(PayloadAccess access, const Metadata& metadata);

  // The payload that the node names itself: a secondary that names none has an empty one. Never throws for what is
  // wrong with the payload.
  const NodePayload& Open(const Node& node, const ContextAttributes& attributes);
  // As Open; throws what is wrong with the payload.
  const NodePayload& Require(const Node& node, const ContextAttributes& attributes);
  // The file of a record, for a model whose nodes can't be read.
  NodePayload OpenRecorded(const PayloadRecord& record) const;

  const std::vector<PayloadRecord>& records() const { return records_; }
  // Those that no opened payload has matched by its file, or by its digest when it is embedded.
  std::vector<const PayloadRecord*> UnusedRecords() const;

 private:
  void LookAtFile(const std::string& name, std::string_view what, NodePayload* payload);
  void LookAtEmbedded(std::string_view what, NodePayload* payload);
  ContextBlob OpenFile(const std::string& name, std::string_view what) const;
  ContextBlob OpenNamed(const std::string& name, std::string_view what) const;
  std::string DigestOf(const ContextBlob& blob) const;
  void Compare(std::string_view what, const PayloadRecord* record, bool with_digest, NodePayload* payload) const;

  const PayloadAccess access_;
  const NodePayload none_;
  std::vector<PayloadRecord> records_;
  std::vector<bool> used_;
  std::map<std::string, NodePayload> files_;
  std::map<const Node*, NodePayload> embedded_;
};

}  // namespace epiphyte::core
