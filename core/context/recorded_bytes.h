// Recorded bytes: whether a file or an embedded payload is what its context model was written with. The one comparison,
// of payloads and of external initializers alike.
//
//   const std::string problem = Mismatch("file 'm_npu.bin'", record, blob.size, [&] { return blob.file->Digest(pool);
//   }); if (!problem.empty()) Fail(StatusCode::kInvalidGraph, "{}", problem);
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/progress_callback.h"
#include "core/base/thread_pool.h"
#include "core/context/context_metadata.h"
#include "core/context/context_store.h"
#include "core/onnx/model_reader.h"

namespace epiphyte::core {

// One line of what was found and expected and what to do; "" when the bytes are the recorded ones. `digest` is asked
// only where the sizes are the same; empty: the size has to do.
std::string Mismatch(std::string_view what, const FileRecord& record, uint64_t size,
                     const std::function<std::string()>& digest);

// As above, of external initializers; their digest is looked at with `digests`. Nothing is wrong with a file that isn't
// the recorded one's name: the model's other external data has no record.
std::string InitializersMismatch(const std::vector<FileRecord>& records, const std::string& name,
                                 const ExternalFile& file, bool digests, ThreadPool* pool,
                                 const ProgressCallback& on_progress);

struct ReadingChecks {
  std::string what;     // names the model in messages
  bool digests = true;  // without: sizes only, and no seal
  ThreadPool* pool = nullptr;
  ProgressCallback on_progress;
  std::shared_ptr<ContextStore> store;  // where recorded initializers are; null: in files
  // Called with whether the model has a seal, which fits. May be empty.
  std::function<void(bool sealed)> on_checked;
};
// Hooks with which a model is read: one that breaks its seal, or whose external initializers aren't the recorded ones,
// is refused with INVALID_GRAPH.
ReadOptions CheckedReading(ReadingChecks checks);

}  // namespace epiphyte::core
