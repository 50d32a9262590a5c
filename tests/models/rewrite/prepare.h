// PrepareForQuantization rewrites a float model as exporters do before they quantize it: each operator less is one
// rounding to 8 bits less.
//   - Constant nodes become initializers.
//   - BatchNormalization is folded into the Conv in front of it.
//   - Div by a constant becomes Mul.
//   - Layer normalization in pieces, from ReduceMean to Add, becomes LayerNormalization. That operator needs opset 17,
//     so a model of opset 13 to 16 is raised to it. (Gelu needs opset 20 and stays in pieces.)
//
//   ModelFile file = ReadModelFile(path);
//   PrepareForQuantization(&file);
#pragma once

#include "tests/models/rewrite/model_file.h"

namespace epiphyte::test {

void PrepareForQuantization(ModelFile* file);

}  // namespace epiphyte::test
