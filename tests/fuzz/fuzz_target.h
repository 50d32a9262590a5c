// Functions that a fuzz target provides for the replay program, besides libFuzzer's entry point.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

// Returns good inputs from which mutations are made.
std::vector<std::string> SeedInputs();

// Returns a good input with a change. byte_mutation.cpp implements it for inputs of any kind. A target that knows the
// meaning of its inputs implements it itself.
std::string Mutate(std::string input, std::mt19937& random);
