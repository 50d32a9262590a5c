// Recorded bytes: whether a file or an embedded payload still has the bytes that its context model was written with.
// All comparisons of payloads and of external initializers go through here.
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

// One line with found, expected and what to do; "" when the bytes are the recorded ones. `digest` is called only if the
// sizes are equal; if it is empty, equal sizes are enough.
std::string Mismatch(std::string_view what, const FileRecord& record, uint64_t size,
                     const std::function<std::string()>& digest);

// Same as above for external initializers; with `digests` their digest is compared too. A file without a record passes,
// because the model's other external data has no record.
std::string InitializersMismatch(const std::vector<FileRecord>& records, const std::string& name,
                                 const ExternalFile& file, bool digests, ThreadPool* pool,
                                 const ProgressCallback& on_progress);

struct ReadingChecks {
  std::string what;     // name of the model in messages
  bool digests = true;  // false: only sizes are compared, and no seal
  ThreadPool* pool = nullptr;
  ProgressCallback on_progress;
  std::shared_ptr<ContextStore> store;  // store that holds the recorded initializers; null: files
  // Called with whether the model has a seal (a valid one). May be empty.
  std::function<void(bool sealed)> on_checked;
};
// Reading hooks that refuse a model with INVALID_GRAPH if its seal is broken or its external initializers differ from
// their records.
ReadOptions CheckedReading(ReadingChecks checks);

}  // namespace epiphyte::core
