// Measures a lower bound of the time that loading a context takes: maps the files given, reads every byte of them once,
// and prints the milliseconds.
//
//   epiphyte_map_and_touch model_ctx.onnx model_cpu.bin
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <vector>

#include "core/base/mapped_file.h"

namespace {

// Sums 64-bit words. Four independent sums make memory the limit, not the latency of the adder.
uint64_t Touch(const uint8_t* data, uint64_t size) {
  uint64_t sums[4] = {0, 0, 0, 0};
  uint64_t i = 0;
  for (; i + sizeof(sums) <= size; i += sizeof(sums)) {
    uint64_t words[4];
    std::memcpy(words, data + i, sizeof(words));
    for (int k = 0; k < 4; ++k) sums[k] += words[k];
  }
  for (; i < size; ++i) sums[0] += data[i];
  return sums[0] + sums[1] + sums[2] + sums[3];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: epiphyte_map_and_touch FILE...\n");
    return 2;
  }
  try {
    const auto begin = std::chrono::steady_clock::now();
    uint64_t sum = 0;
    uint64_t bytes = 0;
    std::vector<std::shared_ptr<const epiphyte::core::MappedFile>> files;
    for (int i = 1; i < argc; ++i) {
      files.push_back(epiphyte::core::MappedFile::Open(argv[i]));
      sum += Touch(files.back()->data(), files.back()->size());
      bytes += files.back()->size();
    }
    const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - begin;
    std::printf("{\"bytes\": %llu, \"ms\": %.4f, \"sum\": %llu}\n", static_cast<unsigned long long>(bytes),
                spent.count(), static_cast<unsigned long long>(sum));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "epiphyte_map_and_touch: %s\n", error.what());
    return 1;
  }
  return 0;
}
