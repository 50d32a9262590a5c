// FitNormalization gives the batch normalizations of an image network with random weights the means and variances of
// their actual inputs, as training would. With other statistics, each layer loses part of the difference between
// images; after fifty layers, 8 bits can't represent the rest. A layer that keeps all of the difference amplifies
// noise, including that of quantization. Therefore normalized branches are added to their residuals with a tenth of
// their weight, and most of a Clip's input lies above its lower bound.
//
//   FitNormalization(&file, images);   // images are the network's one input, one at a time
//   FitClassifier(&file, prototypes, classes);
#pragma once

#include <vector>

#include "tests/models/quantizer/calibrate.h"

namespace epiphyte::test {

// Runs all samples as one batch. The first dimension of the model's inputs and outputs must be a batch of 1, and each
// BatchNormalization must have a mean and a variance of its own as initializers. Throws std::invalid_argument
// otherwise, and as ObserveRuns does.
void FitNormalization(ModelFile* file, const std::vector<Sample>& samples);

}  // namespace epiphyte::test
