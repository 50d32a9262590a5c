// Functions that a fuzz target gives to the replay program besides libFuzzer's entry point.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

// Good inputs from which mutations are made.
std::vector<std::string> SeedInputs();

// A good input with something changed. byte_mutation.cpp has one for inputs of any kind; a target that knows what its
// inputs mean has its own.
std::string Mutate(std::string input, std::mt19937& random);
