#include "core/context/verify.h"

#include <algorithm>
#include <optional>
#include <set>

#include "core/base/error.h"
#include "core/base/folder_lock.h"
#include "core/base/hash.h"
#include "core/base/mapped_file.h"
#include "core/context/compatibility.h"
#include "core/context/context_binding.h"
#include "core/context/node_payloads.h"
#include "core/context/recorded_bytes.h"
#include "core/onnx/functions/context_functions.h"
#include "core/onnx/model_reader.h"

namespace epiphyte::core {
namespace {

using Kind = VerifyProblem::Kind;

class Verifier {
 public:
  Verifier(const std::filesystem::path& path, const std::shared_ptr<ContextStore>& store, Catalog& catalog,
           const ProviderRequest& request)
      : path_(path), store_(store), catalog_(catalog), request_(request) {
    report_.model = path;
  }

  VerifyReport Run() {
    const FolderLock lock(path_.parent_path(), FolderLock::kShared);
    std::shared_ptr<const MappedFile> file;
    if (store_ && store_->StoresModel()) {
      bytes_ = store_->Open(path_.filename().string());
    } else {
      file = MappedFile::Open(path_);
      bytes_ = {file->data(), file->size(), file};
    }
    report_.seal = CheckSeal(bytes_.data, bytes_.size);
    std::optional<Model> model = Read();
    CheckMetadata();
    if (file) file->RequireIntact();
    if (model) {
      Try(Kind::kModel, [&] { InlineContextFunctions(&*model); });
      CheckNodes(*model);
    } else {
      CheckRecordsAlone();
    }
    return std::move(report_);
  }

 private:
  void Add(Kind kind, std::string text, Hint hint = Hint::kNone) {
    report_.problems.push_back({kind, std::move(text), hint});
  }

  // Runs `body` and reports what it throws as a problem. Returns whether it succeeded.
  template <typename Body>
  bool Try(Kind kind, Body&& body) {
    try {
      body();
      return true;
    } catch (const Error& error) {
      Add(kind, error.message(), error.hint());
      return false;
    }
  }

  std::optional<Model> Read() {
    ReadOptions options;
    if (store_) options = CheckedReading({.what = "", .digests = false, .store = store_});
    options.accept_model = [this, find_record = options.accept_model](std::string_view bytes,
                                                                      const Metadata& metadata) {
      metadata_ = metadata;
      has_metadata_ = true;
      if (find_record) find_record(bytes, metadata);
    };
    options.accept_external = [this](const std::string& name, const ExternalFile& file) { CheckExternal(name, file); };
    std::string reason;
    // A model that breaks the rules of ONNX may still be readable without inference.
    for (const bool infer : {true, false}) {
      options.infer = infer;
      try {
        if (store_ && store_->StoresModel()) return ReadModelMemory(bytes_.data, bytes_.size, bytes_.owner, options);
        return ReadModelFile(path_, options);
      } catch (const Error& error) {
        if (error.message() != reason) Add(Kind::kModel, error.message());
        reason = error.message();
      }
    }
    return std::nullopt;
  }

  // The reader calls this with each file of weights, once for each attempt to read the model.
  void CheckExternal(const std::string& name, const ExternalFile& file) {
    if (!external_.insert(name).second) return;
    VerifiedPayload payload{name, file.size, Xxh128(file.data, file.size), false};
    if (file.mapping) Try(Kind::kPayload, [&] { file.mapping->RequireIntact(); });
    std::vector<FileRecord> records;
    Try(Kind::kModel, [&] { records = ReadInitializersRecords(metadata_); });
    payload.recorded = FindRecord(records, name) != nullptr;
    std::string mismatch = InitializersMismatch(records, name, file, /*digests=*/true, nullptr, {});
    if (!mismatch.empty()) Add(Kind::kPayload, std::move(mismatch));
    report_.payloads.push_back(std::move(payload));
  }

  void CheckMetadata() {
    if (!has_metadata_) return;
    Try(Kind::kSeal, [&] { RequireSeal(bytes_.data, bytes_.size, metadata_, fmt::format("'{}'", path_.string())); });
    const auto version = metadata_.find(std::string(kContextVersionKey));
    if (version == metadata_.end()) {
      report_.notes.push_back(
          "the model has no records of its own: another tool wrote it, and only its plugins can tell "
          "whether it is as it was");
    } else if (version->second != "1" && version->second != "2" && version->second != kContextVersion) {
      report_.notes.push_back(fmt::format("the model's context version is {}, this program knows 1 to {}",
                                          version->second.substr(0, 32), kContextVersion));
    } else if (report_.seal == SealState::kNone) {
      report_.notes.push_back("the model has no seal: a change of the .onnx itself can't be seen");
    }
  }

  void CheckNodes(Model& model) {
    std::optional<NodePayloads> payloads;
    if (!Try(Kind::kModel, [&] { payloads.emplace(PayloadAccess{.model = path_, .store = store_}, model.metadata); }))
      return;
    const ContextBinding binding(FindContextNodes(*model.graph), OwnersIn(catalog_));
    report_.context_nodes = binding.nodes().size();
    if (binding.nodes().empty()) report_.notes.push_back("the model has no EPContext node");
    for (const BoundNode& bound : binding.nodes()) {
      if (!bound.problem.empty()) Add(Kind::kModel, bound.problem);
      if (bound.readable) AddPayload(bound.attributes, payloads->Open(*bound.node, bound.attributes));
    }
    for (const PayloadRecord* record : payloads->UnusedRecords()) {
      // A damaged embedded payload has been reported with its node already.
      if (!record->file.empty()) {
        Add(Kind::kRecord,
            fmt::format("the model has a record of '{}', which none of its nodes refers to; {}", record->file,
                        kChangeAdvice),
            Hint::kReseal);
      }
    }
    AskPlugins(binding, model.metadata, *payloads);
  }

  void AddPayload(const ContextAttributes& attributes, const NodePayload& payload) {
    const bool is_file = attributes.IsFile();
    if (!attributes.HasPayload() || (is_file && !files_.insert(attributes.ep_cache_context).second)) return;
    report_.payloads.push_back({is_file ? attributes.ep_cache_context : std::string(), payload.blob.size,
                                payload.digest, !payload.recorded_digest.empty()});
    if (payload.problem.empty()) return;
    if (payload.is_unrecorded) {
      Add(Kind::kRecord, payload.problem, Hint::kReseal);
    } else {
      Add(Kind::kPayload, payload.problem);
    }
  }

  void AskPlugins(const ContextBinding& binding, const Metadata& metadata, NodePayloads& payloads) {
    for (const NodeCheck& node : CheckContexts(binding, metadata, payloads, catalog_, request_).nodes) {
      const std::string label = fmt::format("EPContext node '{}' (source '{}')", node.node, node.source);
      if (node.provider.empty()) {
        // An unreadable node has been reported already.
        if (node.verdict == ContextVerdict::kNotApplicable) Add(Kind::kProvider, node.reason);
      } else if (node.verdict == ContextVerdict::kUnsupported) {
        AddOnce(Kind::kProvider, fmt::format("provider '{}' can't use {} here: {}", node.provider, label, node.reason),
                node.reason);
      } else if (node.verdict != ContextVerdict::kOptimal) {
        report_.notes.push_back(fmt::format("{}: {}, says provider '{}': {}", label, ContextVerdictName(node.verdict),
                                            node.provider, node.reason));
      }
    }
  }

  // CheckContexts repeats the problem of a damaged payload, so a known reason is not added again.
  void AddOnce(Kind kind, std::string text, const std::string& reason) {
    const bool known = std::any_of(report_.problems.begin(), report_.problems.end(),
                                   [&](const VerifyProblem& problem) { return problem.text == reason; });
    if (!known) Add(kind, std::move(text));
  }

  // The graph can't be read, but its files can still be compared.
  void CheckRecordsAlone() {
    std::vector<PayloadRecord> records;
    if (!Try(Kind::kModel, [&] { records = ReadPayloadRecords(metadata_); })) return;
    for (const PayloadRecord& record : records) {
      if (record.file.empty()) continue;
      const NodePayload payload = NodePayloads({.model = path_, .store = store_}, metadata_).OpenRecorded(record);
      if (!payload.problem.empty()) Add(Kind::kPayload, payload.problem);
      report_.payloads.push_back({record.file, payload.blob.size, payload.digest, /*recorded=*/true});
    }
  }

  const std::filesystem::path& path_;
  const std::shared_ptr<ContextStore> store_;  // null: all are files
  Catalog& catalog_;
  const ProviderRequest& request_;
  VerifyReport report_;
  ContextStore::Bytes bytes_;  // the model's bytes, when the store holds it
  Metadata metadata_;
  bool has_metadata_ = false;
  std::set<std::string> external_;
  std::set<std::string> files_;
};

}  // namespace

bool VerifyReport::Has(VerifyProblem::Kind kind) const {
  return std::any_of(problems.begin(), problems.end(),
                     [&](const VerifyProblem& problem) { return problem.kind == kind; });
}

VerifyReport VerifyContextModel(const std::filesystem::path& model, Catalog& catalog,
                                const std::shared_ptr<ContextStore>& store, const ProviderRequest& request) {
  return Verifier(model, store, catalog, request).Run();
}

}  // namespace epiphyte::core
