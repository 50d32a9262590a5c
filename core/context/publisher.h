// Publisher: puts context models in place with the files that belong to them. Compiling, merging and sealing again use
// it.
//
// Everything is staged first, so no file is visible under its final name before all are complete. Publish works under
// the folder's lock, in an order in which no file refers to a missing one: binaries, external initializers, models.
// Existing files are replaced only on request. Identical bytes, written by another process that made the same, count as
// done. Unfinished files of earlier processes in the folder are removed.
//
//   Publisher publisher({.folder = folder, .store = store}, on_progress);
//   publisher.AddFile(std::move(binary), /*overwrite=*/false);
//   publisher.AddModel(model, {.path = folder / "model_ctx.onnx"});
//   publisher.Publish();
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/folder_lock.h"
#include "core/base/mapped_file.h"
#include "core/base/progress_callback.h"
#include "core/context/context_store.h"
#include "core/context/output_file.h"
#include "core/graph/graph.h"
#include "core/onnx/write/annotations.h"

namespace epiphyte::core {

// Texts for messages: how the user names files, and how the user allows replacing them.
struct PublishMeans {
  std::string_view name = "ep.context_file_path or ep.context_model_external_initializers_file_name";
  std::string_view overwrite = "epiphyte.context_overwrite to 1";
  // Reason in the message about a file that is never replaced.
  std::string_view is_source = "the source model is made of it";
};

class Publisher {
 public:
  struct Target {
    std::filesystem::path folder;         // folder of all files
    std::shared_ptr<ContextStore> store;  // receives the files instead, models only if it stores them; null: files
    PublishMeans means = {};
  };
  // `on_progress` is called repeatedly while models are written and files are made durable.
  explicit Publisher(Target target, ProgressCallback on_progress = {});
  ~Publisher();
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;

  // Protects the files that the result is made of: they are never replaced, even with overwrite. `mapped`: those that
  // must still be intact when the result is published.
  void Protect(std::span<const std::filesystem::path> files, const UsedFiles& mapped);
  // Keeps other processes from publishing into the folder until this object is destroyed. Publish locks by itself.
  void Lock();

  // Adds a finished file that models refer to.
  void AddFile(std::unique_ptr<OutputFile> file, bool overwrite);
  struct ModelForm {
    std::filesystem::path path;
    std::string external_initializers;  // file name; "" embeds them
    bool overwrite = false;
    const GraphAnnotations* annotations = nullptr;  // see WriteOptions
  };
  // Writes and seals the model. Its metadata must be complete but for the record of its initializers, which is known
  // only then.
  void AddModel(const Model& model, const ModelForm& form);
  // Seals a model that is written already; the pieces must hold no seal. It replaces the existing file and keeps its
  // access rights.
  void AddSealed(std::span<const std::string_view> pieces, const std::filesystem::path& path);

  // Publishes everything; may be called once. Returns the files besides the models. Throws INVALID_ARGUMENT when two
  // files have one name or a file to write is protected. Throws FAIL when a file exists and must not be replaced, or
  // can't be put in place.
  std::vector<std::filesystem::path> Publish();

  // Throws INVALID_ARGUMENT when `file` is one of `sources`.
  static void RefuseReplacing(const std::filesystem::path& file, std::span<const std::filesystem::path> sources,
                              const PublishMeans& means);
  // Throws FAIL. `found`: the state in the message, such as "exists already".
  [[noreturn]] static void RefuseExisting(const std::filesystem::path& file, std::string_view found,
                                          const PublishMeans& means);

 private:
  struct Step {
    std::unique_ptr<OutputFile> file;
    bool overwrite;
  };
  ContextStore* ModelStore() const;

  const Target target_;
  const ProgressCallback on_progress_;
  std::vector<std::filesystem::path> protected_;
  UsedFiles mapped_;
  std::vector<Step> binaries_;
  std::vector<Step> initializers_;
  std::vector<Step> models_;
  std::optional<FolderLock> lock_;
};

}  // namespace epiphyte::core
