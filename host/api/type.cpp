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
  return WithPublicErrors([&] {
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
  return WithPublicErrors([&] { return TypeInfo(core::Type::Sequence(OrUnknown(Access::Of(element)))); });
}

TypeInfo TypeInfo::Optional(const TypeInfo& element) {
  return WithPublicErrors([&] { return TypeInfo(core::Type::Optional(OrUnknown(Access::Of(element)))); });
}

TypeInfo::TypeInfo(std::shared_ptr<const core::Type> type) {
  if (type == nullptr) return;
  std::optional<std::vector<Dimension>> shape;
  if (type->shape()) {
    shape.emplace();
    for (const core::Dim& dim : *type->shape()) shape->push_back({dim.value, dim.symbol});
  }
  TypeInfo element(type->element());
  impl_ = std::make_shared<const Impl>(Impl{std::move(type), std::move(shape), std::move(element)});
}

ValueKind TypeInfo::kind() const {
  return impl_ == nullptr ? ValueKind::kEmpty : static_cast<ValueKind>(impl_->type->kind());
}

ElementType TypeInfo::element_type() const {
  return impl_ == nullptr ? ElementType::kUndefined : static_cast<ElementType>(impl_->type->element_type());
}

const std::optional<std::vector<Dimension>>& TypeInfo::shape() const& {
  static const auto* const kUnknownRank = new std::optional<std::vector<Dimension>>;
  return impl_ == nullptr ? *kUnknownRank : impl_->shape;
}

// The element of an unknown type is unknown, too.
const TypeInfo& TypeInfo::element() const& { return impl_ == nullptr ? *this : impl_->element; }

std::string TypeInfo::ToString() const { return OrUnknown(Access::Of(*this))->ToString(); }

}  // namespace epiphyte
