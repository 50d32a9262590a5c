// NodePayloads: the payloads of a model's EPContext nodes. Each is found in the model, in a file beside it by the rules
// of base/safe_path.h, or in an application's store. It is opened once and compared once with the model's record. All
// code that loads, verifies, judges, merges or describes a context model opens payloads through this class.
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

// Place of the payloads, and how closely they are checked.
struct PayloadAccess {
  // Base of relative paths; empty when the model came from memory and ep.context_file_path is not set.
  std::filesystem::path model;
  std::shared_ptr<ContextStore> store;  // store that holds the payloads; null when they are in files
  ShareGroup* group = nullptr;          // share group that keeps the payloads; may be null
  ThreadPool* pool = nullptr;           // computes digests; may be null
  ProgressCallback on_progress;         // called repeatedly while digests are compared
  enum Digests {
    kNone,      // only sizes are compared
    kRecorded,  // digests are compared too, if there is a record
    kAll,       // each payload's digest is computed, with or without a record
  } digests = kAll;
  // The model's seal was checked and covers embedded payloads, so comparing their size is enough.
  bool embedded_verified = false;
};

struct NodePayload {
  ContextBlob blob;                   // empty: the node has none, or it can't be opened
  std::string digest;                 // digest of the blob; "" without a blob, and when it wasn't needed
  std::string recorded_digest;        // digest in the model's record; "" when there is no record
  std::string problem;                // one line; empty when there is no problem
  StatusCode code = StatusCode::kOk;  // code of the problem
  bool is_unrecorded = false;         // the problem is that the model has records, but none of this payload
};

// Alignment of payloads in bytes. Plugins may rely on it.
inline constexpr size_t kPayloadAlignment = 64;
// A copy of the bytes in newly allocated, aligned memory.
ContextBlob CopyOf(const ContextBlob& blob);
// The blob itself when it is aligned, else a copy. Mapped files begin at a page. Bytes within a model or in an
// application's memory may begin anywhere.
ContextBlob Aligned(const ContextBlob& blob);

class NodePayloads {
 public:
  // Throws INVALID_GRAPH when the records are malformed.
  NodePayloads(PayloadAccess access, const Metadata& metadata);

  // The payload that the node itself names; empty for a secondary that names none. Never throws for a bad payload.
  const NodePayload& Open(const Node& node, const ContextAttributes& attributes);
  // Same as Open, but throws the payload's problem.
  const NodePayload& Require(const Node& node, const ContextAttributes& attributes);
  // Opens the file of a record, for a model with unreadable nodes.
  NodePayload OpenRecorded(const PayloadRecord& record) const;

  const std::vector<PayloadRecord>& records() const { return records_; }
  // Records that no opened payload has matched: by file, or by digest for embedded ones.
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
