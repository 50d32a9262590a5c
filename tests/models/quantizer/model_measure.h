// Compares a quantized model with its original on the CPU provider.
//
//   const Agreement agreement = Compare("mobilenetv2", folder, 64);
//   EXPECT_GT(agreement.signal_to_noise, 20);
#pragma once

#include <filesystem>
#include <string>

namespace epiphyte::test {

// Agreement of the first output over all samples. A row extends along the last axis: an image, or a token.
struct Agreement {
  double signal_to_noise = 0;  // dB
  double cosine = 0;
  int rows = 0;
  int same_top = 0;  // rows with the same largest element
  int tops = 0;      // number of different positions of the largest element in the original's rows
};

// Runs <name>_qdq and its original with that many samples, none of which is used for calibration. Missing models are
// written first.
Agreement Compare(const std::string& name, const std::filesystem::path& folder, int samples);

// Returns a line of text.
std::string AgreementText(const Agreement& agreement);

}  // namespace epiphyte::test
