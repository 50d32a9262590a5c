#include "core/context/reseal.h"

#include <system_error>

#include "core/base/error.h"
#include "core/base/mapped_file.h"
#include "core/context/context_metadata.h"
#include "core/context/publisher.h"
#include "core/context/verify.h"
#include "core/onnx/model_reader.h"

namespace epiphyte::core {

SealState ResealContextModel(const std::filesystem::path& model, Catalog& catalog) {
  const VerifyReport report = VerifyContextModel(model, catalog);
  for (const VerifyProblem& problem : report.problems) {
    if (problem.kind == VerifyProblem::kSeal || problem.kind == VerifyProblem::kProvider) continue;
    Fail(StatusCode::kInvalidGraph, "'{}' is not sealed again, because a seal would only hide what is wrong: {}",
         model.string(), problem.text);
  }
  if (report.seal != SealState::kIntact) Reseal(model);
  return report.seal;
}

void Reseal(const std::filesystem::path& path) {
  // Through a link: a file in the link's place would no longer be beside the payloads that are links like it.
  std::error_code ignored;
  const std::filesystem::path real = std::filesystem::canonical(path, ignored);
  const std::filesystem::path& model = real.empty() ? path : real;
  Publisher publisher({.folder = model.parent_path()});
  publisher.Lock();  // what is read is what is replaced
  const auto file = MappedFile::Open(model);
  UsedFiles mapped;
  mapped.Add(*file);
  publisher.Protect({}, mapped);
  const uint64_t size = SizeWithoutSeal(file->data(), file->size());
  ReadOptions options;
  options.infer = false;
  Model read = ReadModelMemory(file->data(), size, file, options);
  if (read.metadata.erase(std::string(kSealKey)) != 0) {
    // Another tool moved the seal away from the end; the model is written again without it.
    publisher.AddModel(read, {.path = model, .external_initializers = "", .overwrite = true});
  } else {
    publisher.AddSealed(file->data(), size, model);
  }
  publisher.Publish();
}

}  // namespace epiphyte::core
