#include "epiphyte/value_file.hpp"

#include <fmt/format.h>

#include "core/onnx/tensor_io.h"
#include "host/api/access.h"

namespace epiphyte {
namespace {

const core::Type& Known(const TypeInfo& type) {
  if (Access::Of(type) == nullptr) {
    throw Error(StatusCode::kInvalidArgument,
                "the type of the value is unknown; pass the type that the model declares");
  }
  return *Access::Of(type);
}

}  // namespace

Value LoadValue(const std::filesystem::path& path, const TypeInfo& type) {
  return Translate([&] { return Access::Wrap(core::ReadValueFile(path, Known(type))); });
}

void SaveValue(const std::filesystem::path& path, const Value& value, const TypeInfo& type, std::string_view name) {
  if (!value) throw Error(StatusCode::kInvalidArgument, fmt::format("'{}' has no value to write", name));
  Translate([&] { core::WriteValueFile(path, *Access::Of(value), Known(type), name); });
}

}  // namespace epiphyte
