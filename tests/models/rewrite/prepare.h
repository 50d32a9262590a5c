// PrepareForQuantization: rewrites of a float model that exporters do before they quantise it, since each operator that
// goes is one rounding to 8 bits less:
//   - Constant nodes become initializers;
//   - BatchNormalization is folded into the Conv in front of it;
//   - Div by a constant becomes Mul;
//   - layer normalisation in pieces, from ReduceMean to Add, becomes LayerNormalization. That comes with opset 17: a
//   model
//     of opset 13 to 16 is raised to it. (Gelu comes with opset 20 and stays in pieces.)
//
//   ModelFile file = ReadModelFile(path);
//   PrepareForQuantization(&file);
#pragma once

#include "tests/models/rewrite/model_file.h"

namespace epiphyte::test {

void PrepareForQuantization(ModelFile* file);

}  // namespace epiphyte::test
