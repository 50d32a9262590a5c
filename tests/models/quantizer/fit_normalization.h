// FitNormalization: gives the batch normalisations of an image network with random weights the means and variances of
// what really comes to them, as training would. With others, each layer keeps less of what tells one image from
// another, until, after fifty of them, less is left than 8 bits can say. A layer that keeps all of it lets noise grow
// instead, that of 8 bits, too; so normalised branches are added to their residuals with a tenth of their weight, and
// what a Clip reads lies above its lower bound, most of it.
//
//   FitNormalization(&file, images);   // images are the network's one input, one at a time
//   FitClassifier(&file, prototypes, classes);
#pragma once

#include <vector>

#include "tests/models/quantizer/calibrate.h"

namespace epiphyte::test {

// Runs all samples at once, as one batch. The model's inputs and outputs have the batch as their first dimension, which
// is 1; each BatchNormalization has a mean and a variance of its own as initializers. Throws std::invalid_argument
// where it hasn't, and as ObserveRuns.
void FitNormalization(ModelFile* file, const std::vector<Sample>& samples);

}  // namespace epiphyte::test
