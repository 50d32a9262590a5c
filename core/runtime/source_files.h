// SourceFiles: the files of a session's model, and the options for reading them. It knows the files of external data
// and the mappings with pages that can be given back. It checks that a context model's bytes are those that were
// written (ep.context_verify).
//
//   SourceFiles source;
//   Model model = ReadModelFile(path, source.MakeReadOptions(config, path, pool));
//   Compile(source.ReleasePagesOn(config.progress));
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/abi/provider.h"
#include "core/base/mapped_file.h"
#include "core/base/thread_pool.h"
#include "core/onnx/model_reader.h"
#include "core/runtime/session_config.h"

namespace epiphyte::core {

class SourceFiles {
 public:
  // `path`: the model's path; empty when it is in memory. The hooks keep their data alive, because the model may hold
  // them longer than this object lives. `pool` may be null and must outlive the model. `on_progress` may be empty; it
  // is called repeatedly while the model is read and digests are compared.
  ReadOptions MakeReadOptions(const SessionConfig& config, const std::filesystem::path& path, ThreadPool* pool,
                              const ProgressCallback& on_progress) const;

  // Gives pages back to the system while a provider compiles. It reads each weight about once. Each time it reports
  // progress, the pages read so far are released (they are in the file). So the source and the compiled result are not
  // in memory together.
  ProgressFunction ReleasePagesOn(ProgressFunction progress) const;

  // Gives the pages back once more when everything is compiled. Constants that providers retained keep a file mapped,
  // together with its other constants.
  void ReleasePages() const;

  // External data files found so far, as named in the model; functions read later may add some.
  const std::vector<std::string>& external_files() const { return found_->external_files; }
  // All mapped files, the model's own included.
  const UsedFiles& used_files() const { return found_->used; }
  // Whether a valid seal covered all bytes of the model, embedded payloads included.
  bool seal_checked() const { return found_->seal_checked; }

 private:
  struct Found {
    std::vector<std::string> external_files;
    // Weak, because providers keep this as long as they live, and a file without other users must not stay mapped for
    // it.
    std::vector<std::weak_ptr<const MappedFile>> large;
    UsedFiles used;
    bool seal_checked = false;
  };
  std::shared_ptr<Found> found_ = std::make_shared<Found>();
};

}  // namespace epiphyte::core
