// Publisher: puts context models in place, with the files that belong to them: for compiling, merging and sealing
// again.
//
// Everything is staged first, so nothing is visible under its final name before all is complete. Publish works under
// the folder's lock and in an order in which nothing refers to what isn't there: binaries, external initializers,
// models. What exists already is replaced only on request; identical bytes, from another process that made the same,
// count as done. What earlier processes left unfinished in the folder is removed.
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

namespace epiphyte::core {

// By what the user gives names and says that files may be replaced.
struct PublishMeans {
  std::string_view name = "ep.context_file_path or ep.context_model_external_initializers_file_name";
  std::string_view overwrite = "epiphyte.context_overwrite to 1";
  std::string_view is_source = "the source model is made of it";  // said of a file that is never replaced
};

class Publisher {
 public:
  struct Target {
    std::filesystem::path folder;         // of all files
    std::shared_ptr<ContextStore> store;  // where files go instead, models only if it stores them; null: files
    PublishMeans means = {};
  };
  // `on_progress` beats while models are written and files are made durable.
  explicit Publisher(Target target, ProgressCallback on_progress = {});
  ~Publisher();
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;

  // Of what the result is made: never replaced, whatever may be overwritten. `mapped`: of that, what must still be
  // intact when it is published.
  void Protect(std::span<const std::filesystem::path> files, const UsedFiles& mapped);
  // From here on nobody else publishes into the folder, until this object goes. Publish does it for itself.
  void Lock();

  // Something that models refer to, ended.
  void AddFile(std::unique_ptr<OutputFile> file, bool overwrite);
  struct ModelForm {
    std::filesystem::path path;
    std::string external_initializers;  // file name; "" embeds them
    bool overwrite = false;
    const GraphAnnotations* annotations = nullptr;  // see WriteOptions
  };
  // Writes and seals it. Its metadata has everything but what is known only then: the record of its initializers.
  void AddModel(const Model& model, const ModelForm& form);
  // Seals a model that is written already, in pieces that hold no seal. It replaces what is there and keeps the rights
  // of that.
  void AddSealed(std::span<const std::string_view> pieces, const std::filesystem::path& path);

  // Once. Throws INVALID_ARGUMENT when two files have one name or a file to write is protected, FAIL when one exists
  // and must not be replaced, or can't be put in place. Gives the files besides the models.
  std::vector<std::filesystem::path> Publish();

  // Throws INVALID_ARGUMENT when `file` is one of `sources`.
  static void RefuseReplacing(const std::filesystem::path& file, std::span<const std::filesystem::path> sources,
                              const PublishMeans& means);
  // Throws FAIL; `found`: "exists already".
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
