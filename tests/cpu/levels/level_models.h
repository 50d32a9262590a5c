// The models that each level of instructions runs, and how far their outputs may be from the baseline's.
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
  std::string_view name;       // name of its outputs
  std::string_view model;      // name for WriteAnyModel; "mlp…": a small one of level_models.cpp
  std::string_view precision;  // precision of the provider
  // The largest difference of an element, measured by the largest element of the baseline's output.
  double bound;
  // Its outputs are held against this one's at the baseline; "": its own. Levels without bfloat16 refuse such a model.
  std::string_view baseline = "";
};

std::span<const LevelModel> LevelModels();

// The folder that holds them, where those are made that aren't there: the build tree's, or `own`.
std::filesystem::path MakeModels(const std::filesystem::path& own);

// Returns an error message, or "" on success. Runs the model twice; both runs must give the same bits.
std::string WriteOutputs(const LevelModel& model, core::Environment& environment, const std::filesystem::path& models,
                         const std::filesystem::path& outputs);
double Distance(const LevelModel& model, const std::filesystem::path& outputs, const std::filesystem::path& baseline);

}  // namespace epiphyte::test::levels
