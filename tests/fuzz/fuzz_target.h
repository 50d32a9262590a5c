// What a fuzz target gives to the replay program besides libFuzzer's entry point.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

// Good inputs from which mutations are made.
std::vector<std::string> SeedInputs();
