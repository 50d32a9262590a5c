#include "core/context/publisher.h"

#include <iterator>
#include <set>
#include <system_error>
#include <utility>

#include "core/base/error.h"
#include "core/base/staged_file.h"
#include "core/context/context_metadata.h"
#include "core/context/seal.h"
#include "core/onnx/write/metadata_entry.h"
#include "core/onnx/write/model_writer.h"

namespace epiphyte::core {

Publisher::Publisher(Target target, ProgressCallback on_progress)
    : target_(std::move(target)), on_progress_(std::move(on_progress)) {}

Publisher::~Publisher() = default;

ContextStore* Publisher::ModelStore() const {
  return target_.store && target_.store->StoresModel() ? target_.store.get() : nullptr;
}

void Publisher::Protect(std::span<const std::filesystem::path> files, const UsedFiles& mapped) {
  protected_.insert(protected_.end(), files.begin(), files.end());
  mapped_.Add(mapped);
}

void Publisher::Lock() {
  if (!lock_) lock_.emplace(target_.folder, FolderLock::kExclusive);
}

void Publisher::AddFile(std::unique_ptr<OutputFile> file, bool overwrite) {
  binaries_.push_back({std::move(file), overwrite});
}

void Publisher::AddModel(const Model& model, const ModelForm& form) {
  std::unique_ptr<OutputFile> initializers;
  WriteOptions options;
  options.annotations = form.annotations;
  if (!form.external_initializers.empty()) {
    initializers = std::make_unique<OutputFile>(form.path.parent_path() / form.external_initializers,
                                                target_.store.get(), on_progress_);
    options.external_file_name = form.external_initializers;
    options.external_sink = [&](const void* data, uint64_t size) { initializers->Write(data, size); };
  }
  auto onnx = std::make_unique<OutputFile>(form.path, ModelStore(), on_progress_);
  SealWriter sealed([&](const void* data, uint64_t size) { onnx->Write(data, size); });
  WriteModel(model, options, [&](const void* data, uint64_t size) { sealed.Write(data, size); });
  if (initializers && initializers->size() > 0) {
    initializers->End();
    const auto [key, value] =
        InitializersEntry({initializers->size(), initializers->xxh128(), form.external_initializers});
    const std::string entry = MetadataEntry(key, value);
    sealed.Write(entry.data(), entry.size());
    initializers_.push_back({std::move(initializers), form.overwrite});
  }
  sealed.Finish();
  onnx->End();
  models_.push_back({std::move(onnx), form.overwrite});
}

void Publisher::AddSealed(std::span<const std::string_view> pieces, const std::filesystem::path& path) {
  auto onnx = std::make_unique<OutputFile>(path, ModelStore(), on_progress_);
  SealWriter sealed([&](const void* data, uint64_t piece) { onnx->Write(data, piece); });
  for (const std::string_view piece : pieces) sealed.Write(piece.data(), piece.size());
  sealed.Finish();
  onnx->End();
  onnx->TakeRightsOf(path);
  models_.push_back({std::move(onnx), /*overwrite=*/true});
}

void Publisher::RefuseReplacing(const std::filesystem::path& file, std::span<const std::filesystem::path> sources,
                                const PublishMeans& means) {
  for (const std::filesystem::path& source : sources) {
    std::error_code error;
    if (file != source && !std::filesystem::equivalent(file, source, error)) continue;
    Fail(StatusCode::kInvalidArgument, "'{}' would be replaced, but {}; choose another {}", file.string(),
         means.is_source, means.name);
  }
}

void Publisher::RefuseExisting(const std::filesystem::path& file, std::string_view found, const PublishMeans& means) {
  FailHinting(Hint::kOverwrite, StatusCode::kFail, "'{}' {}; remove it, choose another {}, or set {}", file.string(),
              found, means.name, means.overwrite);
}

std::vector<std::filesystem::path> Publisher::Publish() {
  // Files that models refer to come first.
  const size_t others = binaries_.size() + initializers_.size();
  std::vector<Step> steps;
  for (std::vector<Step>* kind : {&binaries_, &initializers_, &models_}) {
    steps.insert(steps.end(), std::move_iterator(kind->begin()), std::move_iterator(kind->end()));
    kind->clear();
  }
  std::set<std::string> names;
  for (const Step& step : steps) {
    if (!names.insert(step.file->name()).second) {
      Fail(StatusCode::kInvalidArgument, "two files of the context model would be called '{}'; choose another {}",
           step.file->name(), target_.means.name);
    }
    if (!step.file->IsStored()) RefuseReplacing(step.file->target(), protected_, target_.means);
  }
  if (ModelStore() == nullptr) {
    Lock();
    StagedFile::RemoveAbandoned(target_.folder);
  }
  for (Step& step : steps) {
    if (step.overwrite) continue;
    const OutputFile::Existing existing = step.file->Look();
    if (existing == OutputFile::kDifferent) {
      RefuseExisting(step.file->target(), "exists already and has other contents", target_.means);
    }
    step.overwrite = existing == OutputFile::kSame;  // replacing identical bytes changes nothing that a reader can see
  }
  mapped_.RequireIntact();
  for (const Step& step : steps) step.file->Publish(step.overwrite);
  std::vector<std::filesystem::path> published;
  for (size_t i = 0; i < others; ++i) published.push_back(steps[i].file->target());
  return published;
}

}  // namespace epiphyte::core
