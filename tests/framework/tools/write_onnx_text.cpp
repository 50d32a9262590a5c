// write_onnx_text FILE TEXT: writes a model given in ONNX's textual syntax. For test scripts.
#include <cstdio>
#include <exception>
#include <fstream>

#include "tests/framework/onnx_text.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: write_onnx_text FILE TEXT\n");
    return 2;
  }
  try {
    std::ofstream file(argv[1], std::ios::binary);
    file << epiphyte::test::OnnxFromText(argv[2]);
    return file.flush() ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "write_onnx_text: %s\n", error.what());
    return 1;
  }
}
