// Replays deterministic mutations of a target's seeds: every truncation of the small ones, and flipped, removed,
// repeated and overwritten bytes. What matters is that the target returns.
#include <cstdio>
#include <random>

#include "tests/fuzz/fuzz_target.h"

namespace {

void Try(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

std::string Mutate(std::string input, std::mt19937& random) {
  for (uint32_t change = 0; change <= random() % 4 && !input.empty(); ++change) {
    size_t at = random() % input.size();
    switch (random() % 5) {
      case 0: input[at] = static_cast<char>(input[at] ^ (1 << random() % 8)); break;
      case 1: input[at] = static_cast<char>(random()); break;
      case 2: input.erase(at, 1 + random() % 8); break;
      case 3: input.insert(at, input.substr(random() % input.size(), 1 + random() % 16)); break;
      case 4: input.replace(at, 1, std::string(1 + random() % 9, '\xFF')); break;
    }
  }
  return input;
}

}  // namespace

int main() {
  std::mt19937 random(20240117);
  size_t tried = 0;
  for (const std::string& seed : SeedInputs()) {
    Try(seed);
    for (size_t size = 0; size < seed.size(); size += 1 + seed.size() / 512, ++tried) Try(seed.substr(0, size));
    for (int round = 0; round < 500; ++round, ++tried) Try(Mutate(seed, random));
  }
  std::printf("%zu inputs were survived\n", tried);
  return tried > 500 ? 0 : 1;
}
