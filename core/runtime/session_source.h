// The source of a session: reads the model, and says where its context model is written. See source_files.h for the
// files that the model is made of.
//
//   SessionModel read = ReadSessionModel(tools, source, files, generator.get());
//   ProtectSource(tools.config, source, files, generator.get());
#pragma once

#include <filesystem>
#include <memory>

#include "core/base/folder_lock.h"
#include "core/context/context_generator.h"
#include "core/context/context_target.h"
#include "core/graph/graph.h"
#include "core/runtime/build_tools.h"
#include "core/runtime/session_parts.h"
#include "core/runtime/source_files.h"

namespace epiphyte::core {

// Base of relative paths in EPContext nodes.
std::filesystem::path ContextBase(const SessionConfig& config, const ModelSource& source);

// The context model that ep.context_enable=1 asks for. Throws INVALID_ARGUMENT when it would replace the source.
ContextTarget TargetOf(const SessionConfig& config, const ModelSource& source);

struct SessionModel {
  Model model;
  std::unique_ptr<FolderLock> lock;  // keep while payloads are opened, so that no writer replaces them; may be null
};
// Reads and checks the model. `files` collects the mapped files, also when reading fails. `generator`: null when no
// context model is written. Throws as ReadModelFile does.
SessionModel ReadSessionModel(const BuildTools& tools, const ModelSource& source, const SourceFiles& files,
                              ContextGenerator* generator);

// Tells the generator, which may be null, the files that the source model is made of, so that it never replaces them.
void ProtectSource(const SessionConfig& config, const ModelSource& source, const SourceFiles& files,
                   ContextGenerator* generator);

}  // namespace epiphyte::core
