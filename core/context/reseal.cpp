#include "core/context/reseal.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/mapped_file.h"
#include "core/context/context_metadata.h"
#include "core/context/context_model.h"
#include "core/context/node_payloads.h"
#include "core/context/publisher.h"
#include "core/context/recorded_bytes.h"
#include "core/context/verify.h"
#include "core/onnx/functions/context_functions.h"
#include "core/onnx/model_reader.h"
#include "core/onnx/write/metadata_entry.h"

namespace epiphyte::core {
namespace {

// One record for each payload of the model: its existing record, or a new one of the payload's current bytes.
std::vector<PayloadRecord> RecordsOf(Model& model, const std::filesystem::path& path, const Catalog& catalog,
                                     const std::shared_ptr<ContextStore>& store) {
  // Without records, payloads are described and not compared, which has been done already.
  InlineContextFunctions(&model);
  Metadata others = model.metadata;
  std::erase_if(others, [](const auto& entry) { return IsPayloadRecordKey(entry.first); });
  NodePayloads payloads({.model = path, .store = store}, others);
  const std::vector<PayloadRecord> known = ReadPayloadRecords(model.metadata);
  std::vector<PayloadRecord> records;
  for (const Node* node : FindContextNodes(*model.graph)) {
    const ContextAttributes attributes = ReadContextAttributes(*node);
    if (!attributes.HasPayload()) continue;
    const NodePayload& payload = payloads.Require(*node, attributes);
    const std::string file = attributes.IsFile() ? attributes.ep_cache_context : std::string();
    const auto is_its = [&](const PayloadRecord& record) {
      return record.file == file && record.size == payload.blob.size && record.xxh128 == payload.digest;
    };
    if (std::any_of(records.begin(), records.end(), is_its)) continue;
    const auto found = std::find_if(known.begin(), known.end(), is_its);
    if (found != known.end()) {
      records.push_back(*found);
    } else {
      records.push_back({{payload.blob.size, payload.digest, file}, catalog.OwnerOfSource(attributes.source), "-"});
    }
  }
  return records;
}

// `renew` returns the metadata that replaces this host's entries; when it is empty, these entries stay.
void SealAgain(const std::filesystem::path& path, const std::shared_ptr<ContextStore>& store,
               const std::function<Metadata(Model& model)>& renew) {
  const bool is_stored = store && store->StoresModel();
  // A link is followed to its target: a file in the link's place would be apart from payloads that are links like it.
  std::error_code ignored;
  const std::filesystem::path real = is_stored ? path : std::filesystem::canonical(path, ignored);
  const std::filesystem::path& target = real.empty() ? path : real;
  Publisher publisher({.folder = target.parent_path(), .store = store});
  ContextStore::Bytes file;
  if (is_stored) {
    file = store->Open(target.filename().string());
  } else {
    publisher.Lock();  // the file that is read must be the file that is replaced
    const auto mapping = MappedFile::Open(target);
    UsedFiles mapped;
    mapped.Add(*mapping);
    publisher.Protect({}, mapped);
    file = {mapping->data(), mapping->size(), mapping};
  }
  ReadOptions options;
  if (store) options = CheckedReading({.what = "", .digests = false, .store = store});
  options.infer = false;
  options.external_data_folder = target.has_parent_path() ? target.parent_path() : std::filesystem::path(".");
  Model model = ReadModelMemory(file.data, file.size, file.owner, options);
  std::string entries;
  if (renew) {
    for (const auto& [key, value] : renew(model)) entries += MetadataEntry(key, value);
  }
  const std::string_view bytes(static_cast<const char*>(file.data), file.size);
  // Another tool may have moved the seal away from the end.
  std::vector<std::string_view> pieces =
      WithoutMetadata(bytes, [&](std::string_view key) { return renew ? IsRecordKey(key) : IsSealKey(key); });
  pieces.push_back(entries);
  publisher.AddSealed(pieces, target);
  publisher.Publish();
}

}  // namespace

SealState ResealContextModel(const std::filesystem::path& path, Catalog& catalog,
                             const std::shared_ptr<ContextStore>& store) {
  const VerifyReport report = VerifyContextModel(path, catalog, store);
  for (const VerifyProblem& problem : report.problems) {
    if (problem.kind == VerifyProblem::kSeal || problem.kind == VerifyProblem::kRecord ||
        problem.kind == VerifyProblem::kProvider)
      continue;
    Fail(StatusCode::kInvalidGraph, "'{}' is not sealed again, because a new seal would hide this error: {}",
         path.string(), problem.text);
  }
  if (report.Has(VerifyProblem::kRecord)) {
    SealAgain(path, store, [&](Model& model) {
      Metadata renewed;
      for (const auto& [key, value] : model.metadata) {
        if (IsRecordKey(key) && !IsPayloadRecordKey(key) && !IsSealKey(key)) renewed[key] = value;
      }
      WritePayloadRecords(RecordsOf(model, path, catalog, store), &renewed);
      return renewed;
    });
    return report.seal == SealState::kIntact ? SealState::kBroken : report.seal;
  }
  if (report.seal != SealState::kIntact) Reseal(path, store);
  return report.seal;
}

void Reseal(const std::filesystem::path& path, const std::shared_ptr<ContextStore>& store) {
  SealAgain(path, store, {});
}

}  // namespace epiphyte::core
