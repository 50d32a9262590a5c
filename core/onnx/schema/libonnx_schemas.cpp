#include "core/onnx/schema/libonnx_schemas.h"

#include <onnx/defs/operator_sets.h>
#include <onnx/defs/operator_sets_ml.h>
#include <onnx/defs/operator_sets_preview.h>
#include <onnx/defs/schema.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>
#include <memory>
#include <tuple>

namespace epiphyte::core {
namespace {

struct Row {
  std::string_view domain;
  std::string_view op_type;
  int64_t since_version;
  onnx::OpSchema (*make)();

  constexpr auto key() const { return std::tie(domain, op_type, since_version); }
};

// Wrapper around libonnx's function. The dynamic linker then binds libonnx's function at its first call, not when this
// library is loaded.
template <typename Operator>
onnx::OpSchema Make() {
  return onnx::GetOpSchema<Operator>();
}

#define EPIPHYTE_OPERATOR(domain, op_type, version, Operator) {domain, #op_type, version, &Make<onnx::Operator>},
constexpr Row kRows[] = {
#include "libonnx_operators.inc"
};
#undef EPIPHYTE_OPERATOR
static_assert(std::is_sorted(std::begin(kRows), std::end(kRows),
                             [](const Row& a, const Row& b) { return a.key() < b.key(); }));

// Schemas by row index. They are never destroyed, because plans and graphs refer to them; a registry in libonnx does
// the same.
constinit std::array<std::atomic<const onnx::OpSchema*>, std::size(kRows)> schemas{};

// The row with the greatest version up to `opset`; null when there is none.
const Row* FindRow(std::string_view domain, std::string_view op_type, int64_t opset) {
  const auto after = std::upper_bound(std::begin(kRows), std::end(kRows), std::tie(domain, op_type, opset),
                                      [](const auto& wanted, const Row& row) { return wanted < row.key(); });
  if (after == std::begin(kRows)) return nullptr;
  const Row* const row = std::prev(after);
  return row->domain == domain && row->op_type == op_type ? row : nullptr;
}

}  // namespace

int64_t LibonnxSinceVersion(std::string_view domain, std::string_view op_type, int64_t opset) {
  const Row* const row = FindRow(domain, op_type, opset);
  return row == nullptr ? 0 : row->since_version;
}

const onnx::OpSchema* FindLibonnxSchema(std::string_view domain, std::string_view op_type, int64_t opset) {
  const Row* const row = FindRow(domain, op_type, opset);
  if (row == nullptr) return nullptr;
  std::atomic<const onnx::OpSchema*>& kept = schemas[static_cast<size_t>(row - std::begin(kRows))];
  if (const onnx::OpSchema* schema = kept.load(std::memory_order_acquire)) return schema;
  auto made = std::make_unique<onnx::OpSchema>(row->make());
  made->Finalize();
  const onnx::OpSchema* before = nullptr;
  if (!kept.compare_exchange_strong(before, made.get(), std::memory_order_acq_rel)) return before;
  return made.release();
}

std::vector<std::string_view> LibonnxOperators(std::string_view domain) {
  std::vector<std::string_view> names;
  for (const Row& row : kRows) {
    if (row.domain == domain && (names.empty() || names.back() != row.op_type)) names.push_back(row.op_type);
  }
  return names;
}

}  // namespace epiphyte::core
