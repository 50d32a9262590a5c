#include "epiphyte/type.hpp"

#include "core/graph/type.h"
#include "host/api/access.h"

namespace epiphyte {
namespace {

std::shared_ptr<const core::Type> OrUnknown(const std::shared_ptr<const core::Type>& type) {
  return type != nullptr ? type : core::Type::Unknown();
}

}  // namespace

std::string_view ElementTypeName(ElementType type) { return core::DataTypeName(static_cast<core::DataType>(type)); }

TypeInfo TypeInfo::Tensor(ElementType element, std::optional<std::vector<Dimension>> shape) {
  return Translate([&] {
    std::optional<core::Shape> dims;
    if (shape) {
      dims.emplace();
      for (const Dimension& dimension : *shape) {
        if (dimension.size >= 0) {
          dims->emplace_back(dimension.size);
        } else {
          dims->push_back(dimension.symbol.empty() ? core::Dim() : core::Dim::Symbol(dimension.symbol));
        }
      }
    }
    return TypeInfo(core::Type::Tensor(static_cast<core::DataType>(element), std::move(dims)));
  });
}

TypeInfo TypeInfo::Sequence(const TypeInfo& element) {
  return Translate([&] { return TypeInfo(core::Type::Sequence(OrUnknown(element.type_))); });
}

TypeInfo TypeInfo::Optional(const TypeInfo& element) {
  return Translate([&] { return TypeInfo(core::Type::Optional(OrUnknown(element.type_))); });
}

ValueKind TypeInfo::kind() const {
  return type_ == nullptr ? ValueKind::kEmpty : static_cast<ValueKind>(type_->kind());
}

ElementType TypeInfo::element_type() const {
  return type_ == nullptr ? ElementType::kUndefined : static_cast<ElementType>(type_->element_type());
}

std::optional<std::vector<Dimension>> TypeInfo::shape() const {
  if (type_ == nullptr || !type_->shape()) return std::nullopt;
  std::vector<Dimension> shape;
  for (const core::Dim& dim : *type_->shape()) shape.push_back({dim.value, dim.symbol});
  return shape;
}

TypeInfo TypeInfo::element() const { return type_ == nullptr ? TypeInfo() : TypeInfo(type_->element()); }

std::string TypeInfo::ToString() const { return OrUnknown(type_)->ToString(); }

}  // namespace epiphyte
