#include "tests/fuzz/plan/plan_mutation.h"

#include <algorithm>
#include <limits>

#include "epiphyte/kit/container/layout.hpp"
#include "epiphyte/kit/shape/dims.hpp"
#include "plugins/cpu/kernel/kernel.h"
#include "tests/framework/sealed_container.h"

namespace epiphyte::fuzz {
namespace {

namespace ir = kit::ir;
using Storage = ir::Constant::Storage;

class Mutator {
 public:
  Mutator(PlanFile& file, std::mt19937& random) : file_(file), random_(random) {}

  void Change() {
    if (file_.plans.empty()) return;
    kit::StoredGraph& stored = Any(file_.plans);
    ir::Graph& plan = stored.graph;
    switch (random_() % 12) {
      case 0: return ChangeValue(plan);
      case 1:
      case 2: return RetypeConstant(plan);
      case 3: return ReshapeConstant(plan);
      case 4: return ChangeConstant(plan);
      case 5:
      case 6: return ChangeOperands(plan);
      case 7: return ChangeOperator(plan);
      case 8:
      case 9: return ChangeAttribute(plan);
      case 10: return ChangePacked(stored);
      default: return ChangeBytesOrEnds(stored);
    }
  }

 private:
  template <typename T>
  T& Any(std::vector<T>& list) {
    return list[random_() % list.size()];
  }
  bool Sometimes() { return random_() % 4 == 0; }

  int32_t AnyType() {
    static constexpr int32_t kLikely[] = {EP_TYPE_UNDEFINED, EP_TYPE_STRING, EP_TYPE_INT8,    EP_TYPE_DOUBLE,
                                          EP_TYPE_FLOAT,     EP_TYPE_INT64,  EP_TYPE_FLOAT16, EP_TYPE_BOOL};
    if (Sometimes()) return static_cast<int32_t>(random_() % 30) - 1;
    return kLikely[random_() % std::size(kLikely)];
  }
  int64_t AnyNumber() {
    static constexpr int64_t kNumbers[] = {
        0,         1,    2,    3,         4,         5,         7,  8,  16, 17,  -1, -2, 31, 64,
        255,       1000, 4096, INT32_MAX, INT32_MIN, INT64_MAX, -7, 32, 12, 128, 6,  9,  10, int64_t{1} << 32,
        INT64_MIN, 100};
    return kNumbers[random_() % std::size(kNumbers)];
  }
  float AnyFloat() {
    static constexpr float kNumbers[] = {0,
                                         1,
                                         -1,
                                         0.5f,
                                         2,
                                         1e30f,
                                         -1e30f,
                                         std::numeric_limits<float>::infinity(),
                                         std::numeric_limits<float>::quiet_NaN(),
                                         100};
    return kNumbers[random_() % std::size(kNumbers)];
  }
  int32_t AnyValue(const ir::Graph& plan) {
    if (Sometimes() && Sometimes()) return static_cast<int32_t>(AnyNumber());
    return static_cast<int32_t>(random_() % (plan.values.size() + 1)) - 1;
  }
  template <typename T, typename Make>
  void ChangeList(std::vector<T>& list, const Make& make) {
    const size_t at = list.empty() ? 0 : random_() % list.size();
    switch (random_() % 5) {
      case 0: list.insert(list.begin() + static_cast<ptrdiff_t>(at), make()); break;
      case 1:
        if (!list.empty()) list.erase(list.begin() + static_cast<ptrdiff_t>(at));
        break;
      case 2:
        if (!list.empty()) std::swap(list[at], Any(list));
        break;
      default:
        if (!list.empty()) list[at] = make();
    }
  }

  // Returns a changed shape: usually small dimensions, sometimes any numbers.
  std::vector<int64_t> AnyShape(std::vector<int64_t> dims) {
    ChangeList(dims, [&] { return static_cast<int64_t>(random_() % 9); });
    if (Sometimes()) ChangeList(dims, [&] { return AnyNumber(); });
    return dims;
  }

  void ChangeValue(ir::Graph& plan) {
    if (plan.values.empty()) return;
    ir::Value& value = Any(plan.values);
    switch (random_() % 5) {
      case 0: value.kind = random_() % 7; break;
      case 1:
        value.dims = AnyShape(value.dims);
        value.rank = static_cast<int32_t>(value.dims.size());
        break;
      case 2:
        value.rank = -1;
        value.dims.clear();
        if (Sometimes()) value.kind = EP_KIND_UNKNOWN;
        break;
      case 3: value.rank = static_cast<int32_t>(AnyNumber()); break;
      default: value.type = AnyType();
    }
  }

  std::string AnyBytes(uint64_t size) {
    std::string bytes(size, '\0');
    switch (random_() % 3) {
      case 0:
        for (char& byte : bytes) byte = static_cast<char>(random_());
        break;
      case 1:  // small numbers, for elements of any width
        for (size_t i = 0; i < size; i += 8) bytes[i] = static_cast<char>(random_() % 6);
        break;
      default: break;
    }
    return bytes;
  }
  static std::shared_ptr<void> Own(std::string bytes, const void** data) {
    const auto owner = std::make_shared<std::string>(std::move(bytes));
    *data = owner->data();
    return owner;
  }
  // Gives a tensor new data for its type and shape. Returns false, and leaves the tensor unchanged, when it would have
  // too many elements.
  bool Refill(ir::Tensor& tensor, std::shared_ptr<void>* owner) {
    uint64_t count = 0;
    for (const int64_t dim : tensor.dims)
      if (dim < 0) return false;
    if (!kit::CountElements(tensor.dims, &count) || count > 1 << 16) return false;
    tensor.data = nullptr;
    tensor.strings.reset();
    if (tensor.type == EP_TYPE_STRING) {
      tensor.strings = std::make_shared<const std::vector<std::string>>(count, "a");
    } else {
      *owner = Own(AnyBytes(kit::ElementBytes(tensor.type, count)), &tensor.data);
    }
    return true;
  }
  static ir::Value* ValueOf(ir::Graph& plan, const ir::Constant& constant) {
    const auto index = static_cast<size_t>(constant.value);
    return constant.value >= 0 && index < plan.values.size() ? &plan.values[index] : nullptr;
  }
  // Replaces `constant` with the changed one. Returns false if the changed one can't get data.
  bool Commit(ir::Constant changed, bool refill, ir::Constant& constant) {
    if ((changed.storage != Storage::kDropped || refill) && !Refill(changed.tensor, &changed.owner)) return false;
    constant = std::move(changed);
    return true;
  }

  // Changes the type of the constant and of its value alike. Checks that only look at the constant can't detect that.
  void RetypeConstant(ir::Graph& plan) {
    if (plan.constants.empty()) return;
    ir::Constant& constant = Any(plan.constants);
    ir::Value* const value = ValueOf(plan, constant);
    if (value == nullptr) return;
    ir::Constant changed = constant;
    changed.tensor.type = AnyType();
    if (Commit(std::move(changed), false, constant)) value->type = constant.tensor.type;
  }
  void ReshapeConstant(ir::Graph& plan) {
    if (plan.constants.empty()) return;
    ir::Constant& constant = Any(plan.constants);
    ir::Value* const value = ValueOf(plan, constant);
    if (value == nullptr) return;
    const std::vector<int64_t> dims = AnyShape(value->dims);
    ir::Constant changed = constant;
    changed.tensor.dims.assign(dims.data(), dims.size());
    if (!Commit(std::move(changed), false, constant)) return;
    value->dims = dims;
    value->rank = static_cast<int32_t>(dims.size());
  }
  void ChangeConstant(ir::Graph& plan) {
    if (plan.constants.empty()) return;
    ir::Constant& constant = Any(plan.constants);
    ir::Constant changed = constant;
    switch (random_() % 5) {
      case 0:
        changed.storage = changed.storage == Storage::kDropped ? Storage::kOwned : Storage::kDropped;
        changed.tensor.data = nullptr;
        changed.tensor.strings.reset();
        Commit(std::move(changed), false, constant);
        break;
      case 1: constant.value = AnyValue(plan); break;
      case 2: {  // takes type or shape of another constant
        const ir::Constant& other = Any(plan.constants);
        changed.tensor = other.tensor;
        changed.owner = other.owner;
        changed.storage = other.storage;
        constant = std::move(changed);
        break;
      }
      default: Commit(std::move(changed), true, constant);
    }
  }

  void ChangeOperands(ir::Graph& plan) {
    if (plan.nodes.empty()) return;
    ir::Node& node = Any(plan.nodes);
    const auto make = [&] { return AnyValue(plan); };
    if (random_() % 3 == 0) {
      ChangeList(node.outputs, make);
    } else {
      ChangeList(node.inputs, make);
    }
  }

  void ChangeOperator(ir::Graph& plan) {
    if (plan.nodes.empty()) return;
    ir::Node& node = Any(plan.nodes);
    switch (random_() % 5) {
      case 0: node.since_version = AnyNumber(); break;
      case 1: node.domain = node.domain.empty() ? "epiphyte.kit" : ""; break;
      case 2: std::swap(Any(plan.nodes), Any(plan.nodes)); break;
      case 3: {
        const ir::Node& other = Any(plan.nodes);
        node.op_type = other.op_type;
        node.domain = other.domain;
        node.since_version = other.since_version;
        break;
      }
      default: {
        const auto signatures = kit::OnnxSignatures();
        const cpu::Signature& signature = signatures[random_() % signatures.size()];
        node.op_type = signature.op_type;
        node.domain.clear();
        node.since_version = signature.since_version;
      }
    }
  }

  void ChangeAttribute(ir::Graph& plan) {
    if (plan.nodes.empty()) return;
    ir::Node& node = Any(plan.nodes);
    if (node.attributes.empty() || Sometimes()) {
      const ir::Node& other = Any(plan.nodes);
      if (!other.attributes.empty()) {
        const ir::Attribute copy = other.attributes[random_() % other.attributes.size()];
        node.attributes.push_back(copy);
      }
      if (node.attributes.empty()) return;
    }
    ir::Attribute& attribute = Any(node.attributes);
    switch (random_() % 8) {
      case 0:
        do attribute.type = static_cast<int32_t>(random_() % 16);
        while (attribute.type == EP_ATTRIBUTE_GRAPH ||
               attribute.type == EP_ATTRIBUTE_GRAPHS);  // graph attributes are never stored
        break;
      case 1:
        node.attributes.erase(node.attributes.begin() + static_cast<ptrdiff_t>(random_() % node.attributes.size()));
        break;
      case 2:
        if (!attribute.strings.empty()) {
          std::string& text = Any(attribute.strings);
          if (!text.empty()) text[random_() % text.size()] = static_cast<char>(random_());
          if (Sometimes()) ChangeList(attribute.strings, [] { return std::string("a"); });
        }
        break;
      case 3:
        if (!attribute.tensors.empty()) {
          ir::Tensor& tensor = Any(attribute.tensors);
          ir::Tensor changed = tensor;
          std::shared_ptr<void> owner;
          if (Sometimes()) changed.type = AnyType();
          if (Sometimes()) {
            const std::vector<int64_t> dims = AnyShape({changed.dims.begin(), changed.dims.end()});
            changed.dims.assign(dims.data(), dims.size());
          }
          if (!Refill(changed, &owner)) break;
          tensor = std::move(changed);
          attribute.tensor_data.push_back(std::move(owner));
          break;
        }
        [[fallthrough]];
      default:
        if (!attribute.floats.empty()) {
          ChangeList(attribute.floats, [&] { return AnyFloat(); });
        } else if (attribute.ints.size() == 1 && !Sometimes()) {
          attribute.ints[0] = AnyNumber();
        } else {
          ChangeList(attribute.ints, [&] { return AnyNumber(); });
        }
    }
  }

  void ChangePacked(kit::StoredGraph& plan) {
    if (plan.packed.empty()) return;
    kit::PackedData& packed = Any(plan.packed);
    switch (random_() % 7) {
      case 0: packed.node = static_cast<int32_t>(AnyNumber()); break;
      case 1: {
        const kit::PackedData& other = Any(plan.packed);
        packed.data = other.data;
        packed.bytes = other.bytes;
        packed.owner = other.owner;
        break;
      }
      case 2: packed.key = Any(plan.packed).key; break;
      case 3: SetBytes(packed, AnyBytes(random_() % 4096)); break;
      case 4: plan.packed.erase(plan.packed.begin() + static_cast<ptrdiff_t>(random_() % plan.packed.size())); break;
      default:
        if (!packed.format.empty()) {
          static constexpr char kSigns[] = "0123456789,;-";
          packed.format[random_() % packed.format.size()] = kSigns[random_() % (sizeof kSigns - 1)];
        }
    }
  }
  static void SetBytes(kit::PackedData& packed, std::string bytes) {
    packed.bytes = bytes.size();
    packed.owner = Own(std::move(bytes), &packed.data);
  }

  void ChangeBytesOrEnds(kit::StoredGraph& plan) {
    const auto make = [&] { return AnyValue(plan.graph); };
    switch (random_() % 5) {
      case 0: return ChangeList(plan.graph.inputs, make);
      case 1: return ChangeList(plan.graph.outputs, make);
      case 2: return ChangeNumbersOfConstant(plan.graph);
      default: break;
    }
    if (plan.packed.empty()) return;
    kit::PackedData& packed = Any(plan.packed);
    std::string bytes(static_cast<const char*>(packed.data), packed.bytes);
    if (bytes.empty()) return;
    switch (random_() % 4) {
      case 0: bytes.resize(random_() % (bytes.size() * 2)); break;
      case 1: bytes = AnyBytes(bytes.size()); break;
      default: bytes[random_() % bytes.size()] = static_cast<char>(random_());
    }
    SetBytes(packed, std::move(bytes));
  }
  void ChangeNumbersOfConstant(ir::Graph& plan) {
    if (plan.constants.empty()) return;
    ir::Constant& constant = Any(plan.constants);
    if (constant.tensor.data == nullptr || constant.tensor.Bytes() == 0) return;
    std::string bytes(constant.tensor.as<char>(), constant.tensor.Bytes());
    bytes[random_() % bytes.size()] = static_cast<char>(random_());
    constant.owner = Own(std::move(bytes), &constant.tensor.data);
  }

  PlanFile& file_;
  std::mt19937& random_;
};

}  // namespace

std::string MutatePlan(PlanFile file, std::mt19937& random) {
  Mutator mutator(file, random);
  for (uint32_t change = random() % 4 + 1; change-- > 0;) mutator.Change();
  std::string bytes = BytesOf(file);
  if (random() % 8 != 0) return bytes;
  // Mutations that no writer makes: one byte of the table, of a graph's description or of the data that it refers to.
  const size_t header = sizeof(kit::container::Header);
  bytes[header + random() % (bytes.size() - header)] = static_cast<char>(random());
  return test::Sealed(std::move(bytes));
}

}  // namespace epiphyte::fuzz
