// Replays deterministic mutations of a target's seeds: every truncation of the small ones, and flipped, removed,
// repeated and overwritten bytes. What matters is that the target returns.
//
//   model_replay                  replays
//   model_replay FILE...          tries these inputs alone, such as one that a fuzzer found
//   model_replay --seeds FOLDER   writes the seeds there, for a fuzzer to begin with
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
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

int WriteSeeds(const std::string& folder) {
  int number = 0;
  for (const std::string& seed : SeedInputs()) {
    std::ofstream file(folder + "/seed_" + std::to_string(number++), std::ios::binary);
    if (!file.write(seed.data(), static_cast<std::streamsize>(seed.size())).flush()) {
      std::fprintf(stderr, "seeds can't be written to '%s'; give a folder that exists\n", folder.c_str());
      return 1;
    }
  }
  return 0;
}

int TryFiles(char** names, int count) {
  for (int i = 0; i < count; ++i) {
    std::ifstream file(names[i], std::ios::binary);
    if (!file) {
      std::fprintf(stderr, "'%s' can't be read\n", names[i]);
      return 1;
    }
    Try({std::istreambuf_iterator<char>(file), {}});
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--seeds") == 0) return WriteSeeds(argv[2]);
  if (argc > 1) return TryFiles(argv + 1, argc - 1);
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
