// FitClassifier: gives an image network with random weights a last layer that tells images apart, so that top-1 means
// something. What such a network makes of any image is nearly the same; what differs from image to image is a small
// part of it, which its random classifier doesn't see. The fitted one is a regression on that part: for each class that
// there are prototypes of, the logit of their mean is large, and those of the others are small. The other classes keep
// their directions, and have no part of what is common to all, either.
//
//   FitClassifier(&file, prototypes, 64);   // prototypes[i] is of class i % 64 from now on
#pragma once

#include <vector>

#include "tests/models/quantizer/calibrate.h"

namespace epiphyte::test {

// The model ends in Gemm with transB, a bias and constant weights, and has at least as many classes; there are as many
// prototypes of each. Throws std::invalid_argument when it isn't so.
void FitClassifier(ModelFile* file, const std::vector<Sample>& prototypes, size_t classes);

}  // namespace epiphyte::test
