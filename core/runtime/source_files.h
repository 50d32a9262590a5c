// SourceFiles: what a session reads its model from, and how: which files hold external data, whether a context model's
// bytes are still those that were written (ep.context_verify), and the mappings whose pages can be given back.
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
  // `path`: of the model; empty when it is in memory. The hooks keep what they need: the model may hold them for longer
  // than this object lives. `pool`, which may be null, has to outlive the model.
  // `on_progress`, which may be empty, beats while the model is read and digests are compared.
  ReadOptions MakeReadOptions(const SessionConfig& config, const std::filesystem::path& path, ThreadPool* pool,
                              const ProgressCallback& on_progress) const;

  // A provider that compiles reads each weight about once. Whenever it reports progress the pages read so far go back
  // to the system (they are in the file), so that the source and what was compiled of it are not in memory together.
  ProgressFunction ReleasePagesOn(ProgressFunction progress) const;

  // The same once everything is compiled, for what providers retained beside what they did not.
  void ReleasePages() const;

  // Files of external data met so far, as named in the model; functions read later may add some.
  const std::vector<std::string>& external_files() const { return found_->external_files; }
  // The mapped files among them, the model's own included.
  const UsedFiles& used_files() const { return found_->used; }
  // The seal covered all bytes of the model, embedded payloads included, and was right.
  bool seal_checked() const { return found_->seal_checked; }

 private:
  struct Found {
    std::vector<std::string> external_files;
    // Providers keep this for as long as they live; what nobody else reads any more must not stay mapped for it.
    std::vector<std::weak_ptr<const MappedFile>> large;
    UsedFiles used;
    bool seal_checked = false;
  };
  std::shared_ptr<Found> found_ = std::make_shared<Found>();
};

}  // namespace epiphyte::core
