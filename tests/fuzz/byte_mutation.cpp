// Mutations of inputs that are just bytes: some bytes are flipped, overwritten, removed, repeated or filled.
#include "tests/fuzz/fuzz_target.h"

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
