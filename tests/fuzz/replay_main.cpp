// Replays deterministic mutations of a target's seeds: every truncation of small seeds, and changes. A case passes when
// the target returns.
//
//   model_replay                  replays
//   model_replay --cases N        replays N changes, spread over the seeds, and no truncations
//       [--from CASE]             … beginning with this one
//       [--keep FILE]             … and writes each input there before it is tried, so that the last one is a finding
//   model_replay FILE...          tries these inputs alone, such as one that a fuzzer found
//   model_replay --seeds FOLDER   writes the seeds there, for a fuzzer to begin with
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>

#include "tests/fuzz/fuzz_target.h"

namespace {

void Try(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

bool WriteTo(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  if (file.write(bytes.data(), static_cast<std::streamsize>(bytes.size())).flush()) return true;
  std::fprintf(stderr, "'%s' can't be written; give a folder that exists\n", path.c_str());
  return false;
}

int WriteSeeds(const std::string& folder) {
  int number = 0;
  for (const std::string& seed : SeedInputs())
    if (!WriteTo(folder + "/seed_" + std::to_string(number++), seed)) return 1;
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

// Each case has its own random numbers, so that it can be repeated without the cases before it.
int TryCases(size_t from, size_t cases, const std::string& keep) {
  const std::vector<std::string> seeds = SeedInputs();
  for (const std::string& seed : seeds) Try(seed);
  for (size_t number = from; number < from + cases; ++number) {
    std::mt19937 random(static_cast<uint32_t>(20240117 + number));
    const std::string input = Mutate(seeds[number % seeds.size()], random);
    if (!keep.empty() && !WriteTo(keep, input)) return 1;
    Try(input);
  }
  std::printf("%zu inputs were survived\n", cases);
  return 0;
}

int TryTruncationsAndChanges() {
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

}  // namespace

int main(int argc, char** argv) {
  if (argc == 1) return TryTruncationsAndChanges();
  if (argc == 3 && std::strcmp(argv[1], "--seeds") == 0) return WriteSeeds(argv[2]);
  if (std::strcmp(argv[1], "--cases") != 0) return TryFiles(argv + 1, argc - 1);
  size_t cases = 0, from = 0;
  std::string keep;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view option = argv[i];
    if (option == "--cases") cases = std::strtoull(argv[i + 1], nullptr, 10);
    if (option == "--from") from = std::strtoull(argv[i + 1], nullptr, 10);
    if (option == "--keep") keep = argv[i + 1];
  }
  if (cases == 0) {
    std::fprintf(stderr, "--cases needs a number above 0\n");
    return 1;
  }
  return TryCases(from, cases, keep);
}
