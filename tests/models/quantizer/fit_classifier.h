// FitClassifier gives an image network with random weights a last layer that distinguishes images, so that top-1 is
// meaningful. The features of such a network are nearly the same for all images. The difference between images is a
// small part of the features, which a random classifier doesn't see. The fitted classifier is a regression on that
// part. For each class with prototypes, the logit of the prototypes' mean is large, and the logits of the others are
// small. The other classes keep their directions, without the part that is common to all images.
//
//   FitClassifier(&file, prototypes, 64);   // prototypes[i] is of class i % 64 from now on
#pragma once

#include <vector>

#include "tests/models/quantizer/calibrate.h"

namespace epiphyte::test {

// The model must end in a Gemm with transB, a bias and constant weights, and have at least `classes` classes. Each
// class has the same number of prototypes. Throws std::invalid_argument otherwise.
void FitClassifier(ModelFile* file, const std::vector<Sample>& prototypes, size_t classes);

}  // namespace epiphyte::test
