// Weights that keep activations in a sane range, like trained ones, with the same bytes on every run. Element i of a
// tensor is a pure function of the tensor's name and i, so neither order nor thread count matters.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace epiphyte::test {

// Fills `out` with uniform numbers of the given mean and standard deviation.
void FillRandom(std::string_view tensor_name, float deviation, float mean, std::span<float> out);

// Standard deviations of He initialization (for weights before a ReLU) and of Xavier initialization (for others).
float HeDeviation(int64_t fan_in);
float XavierDeviation(int64_t fan_in, int64_t fan_out);

}  // namespace epiphyte::test
