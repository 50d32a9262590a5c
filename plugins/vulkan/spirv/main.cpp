// epiphyte_khr_matrices FILE: rewrites the SPIR-V module in the file, in place, to the cooperative matrices of KHR
// (khr_matrices.h).
#include <cstdio>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <vector>

#include "plugins/vulkan/spirv/khr_matrices.h"

namespace {

std::vector<uint32_t> Read(const char* path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) throw std::runtime_error("it can't be read");
  std::vector<uint32_t> words(static_cast<size_t>(file.tellg()) / sizeof(uint32_t));
  file.seekg(0).read(reinterpret_cast<char*>(words.data()),
                     static_cast<std::streamsize>(words.size() * sizeof(uint32_t)));
  if (!file) throw std::runtime_error("it can't be read");
  return words;
}

void Write(const char* path, const std::vector<uint32_t>& words) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(words.data()),
             static_cast<std::streamsize>(words.size() * sizeof(uint32_t)));
  if (!file.flush()) throw std::runtime_error("it can't be written");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: epiphyte_khr_matrices FILE\n");
    return 2;
  }
  try {
    Write(argv[1], epiphyte::vulkan::ToKhrMatrices(Read(argv[1])));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "epiphyte_khr_matrices: %s: %s\n", argv[1], error.what());
    return 1;
  }
}
