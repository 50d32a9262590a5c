// The models that run at each level of instructions, and the allowed distance of their outputs from the baseline's.
//
//   for (const LevelModel& model : LevelModels()) WriteOutputs(model, environment, folder);   // at a level
//   const double distance = Distance(model, folder, baseline_folder);                         // of at most model.bound
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "core/runtime/environment.h"

namespace epiphyte::test::levels {

struct LevelModel {
  std::string_view name;       // name of its output files
  std::string_view model;      // name for WriteAnyModel; "mlp…" is a small model of level_models.cpp
  std::string_view precision;  // value of the provider's option `precision`
  // Largest allowed difference of an element, relative to the largest element of the baseline's output.
  double bound;
  // Name of the model with the baseline outputs; "" for this model. Levels without bfloat16 refuse a model with bf16.
  std::string_view baseline = "";
};

std::span<const LevelModel> LevelModels();

// Makes the missing models, in the build tree's folder of models or in `own`. Returns the folder.
std::filesystem::path MakeModels(const std::filesystem::path& own);

// Runs the model twice and writes its outputs; both runs must give the same bits. Returns an error message, or "" on
// success.
std::string WriteOutputs(const LevelModel& model, core::Environment& environment, const std::filesystem::path& models,
                         const std::filesystem::path& outputs);
double Distance(const LevelModel& model, const std::filesystem::path& outputs, const std::filesystem::path& baseline);

}  // namespace epiphyte::test::levels
