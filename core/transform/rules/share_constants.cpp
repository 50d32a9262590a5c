// Constant sharing: merges equal small constants, and constants that view the same memory, into one value.
#include <string>
#include <unordered_map>

#include "core/transform/edit.h"
#include "core/transform/rules/rules.h"

namespace epiphyte::core {
namespace {

// Limit in bytes; comparing larger constants would cost more than it saves.
constexpr uint64_t kComparedBytes = 1024;

template <typename T>
void Append(std::string* key, const T& value) {
  key->append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string KeyOf(const Constant& constant) {
  std::string key;
  Append(&key, constant.type());
  Append(&key, constant.dims().size());
  for (const int64_t dim : constant.dims()) Append(&key, dim);
  if (constant.byte_size() <= kComparedBytes) {
    key.append(static_cast<const char*>(constant.bytes()), constant.byte_size());
  } else {
    Append(&key, constant.bytes());
  }
  return key;
}

class ShareConstants final : public Transform {
 public:
  std::string_view name() const override { return "ShareConstants"; }
  TransformLevel level() const override { return TransformLevel::kBasic; }
  bool tells_history() const override { return true; }

  bool Apply(Graph& graph, const TransformContext&) override {
    std::unordered_map<std::string, ValueDef*> first_of;
    bool changed = false;
    for (const std::unique_ptr<ValueDef>& value : graph.values()) {
      if (value == nullptr || !value->IsConstant() || value->IsOutput()) continue;
      if (value->constant()->type() == DataType::kString) continue;
      const auto [found, added] = first_of.try_emplace(KeyOf(*value->constant()), value.get());
      if (added) continue;
      graph.ReplaceAllUses(value.get(), found->second);
      graph.RemoveValue(value.get());
      changed = true;
    }
    return changed;
  }
};

}  // namespace

std::unique_ptr<Transform> MakeShareConstants() { return std::make_unique<ShareConstants>(); }

}  // namespace epiphyte::core
