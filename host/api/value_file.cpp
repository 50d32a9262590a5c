#include "epiphyte/value_file.hpp"

#include <fmt/format.h>

#include "core/onnx/write/tensor_io.h"
#include "host/api/access.h"

namespace epiphyte {
namespace {

// `value` names the value in the error.
std::shared_ptr<const core::Type> Known(const TypeInfo& type, std::string_view value,
                                        const std::filesystem::path& file) {
  if (type.kind() == ValueKind::kEmpty) {
    throw Error(
        StatusCode::kInvalidArgument,
        fmt::format("the type of {} in file '{}' is unknown: the model declares none; pass the type that it has", value,
                    file.string()));
  }
  return Access::Of(type);
}

// Returns the declared type. A tensor without a declared type gets its own element type.
TypeInfo TypeOf(const Value& value, const TypeInfo& declared) {
  const bool known = declared.kind() != ValueKind::kEmpty || !value.IsTensor();
  return known ? declared : TypeInfo::Tensor(value.element_type());
}

}  // namespace

Value LoadValue(const std::filesystem::path& path, const TypeInfo& type) {
  return WithPublicErrors([&] { return Access::Wrap(core::ReadValueFile(path, *Known(type, "the value", path))); });
}

void SaveValue(const std::filesystem::path& path, const Value& value, const TypeInfo& type, std::string_view name) {
  if (!value) throw Error(StatusCode::kInvalidArgument, fmt::format("'{}' has no value to write", name));
  const auto known = Known(TypeOf(value, type), fmt::format("value '{}'", name), path);
  WithPublicErrors([&] { core::WriteValueFile(path, *Access::ShareOnHost(value), *known, name); });
}

}  // namespace epiphyte
