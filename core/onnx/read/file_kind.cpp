#include "core/onnx/read/file_kind.h"

#include <array>
#include <cstddef>

#include "core/base/error.h"

namespace epiphyte::core {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kLfsPointer = "version https://git-lfs";

struct Signature {
  size_t offset;
  std::string_view bytes;
  std::string_view kind;
};

constexpr auto kSignatures = std::to_array<Signature>({
    {0, "PK\x03\x04"sv, "a PyTorch checkpoint or another zip archive"sv},
    {0, "\x80\x02"sv, "a Python pickle, perhaps a PyTorch checkpoint"sv},
    {0, "\x89HDF"sv, "an HDF5 file, perhaps a Keras model"sv},
    {4, "TFL3"sv, "a TensorFlow Lite model"sv},
    {4, "ORTM"sv, "a model in ONNX Runtime's own format"sv},
    {0, "GGUF"sv, "a GGUF file"sv},
    {8, "{\""sv, "a safetensors file"sv},
    {0, kLfsPointer, "a Git LFS pointer; fetch the file itself with 'git lfs pull'"sv},
    {0, "\x1f\x8b"sv, "a gzip archive; unpack it first"sv},
    {0,
     "\x7f"
     "ELF"sv,
     "a program or shared library"sv},
    {0, "MZ"sv, "a program or shared library"sv},
    {0, "\x89PNG"sv, "an image"sv},
    {0, "\xff\xd8\xff"sv, "an image"sv},
    {0, "%PDF"sv, "a PDF document"sv},
    {0, "<"sv, "an HTML or XML page, perhaps a failed download"sv},
    {0, "{"sv, "a JSON text"sv},
});

}  // namespace

std::string_view GuessFileKind(std::string_view bytes) {
  for (const Signature& signature : kSignatures) {
    if (bytes.size() >= signature.offset && bytes.substr(signature.offset).starts_with(signature.bytes)) {
      return signature.kind;
    }
  }
  return {};
}

void RefuseLfsPointer(std::string_view bytes, std::string_view what) {
  if (!bytes.starts_with(kLfsPointer)) return;
  Fail(StatusCode::kInvalidGraph, "{} is {}", what, GuessFileKind(bytes));
}

}  // namespace epiphyte::core
