#include "tests/fuzz/plan/plan_mutation.h"

#include <algorithm>
#include <limits>

#include "plugins/cpu/kernel/kernel.h"

namespace epiphyte::fuzz {
namespace {

class Mutator {
 public:
  Mutator(PlanFile& file, std::mt19937& random) : file_(file), random_(random) {}

  void Change() {
    if (file_.context.plans.empty()) return;
    fb::PlanT& plan = *Any(file_.context.plans);
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
      case 10: return ChangePacked(plan);
      default: return ChangeSectionOrEnds(plan);
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
  int32_t AnyValue(const fb::PlanT& plan) {
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

  // A shape of about as many elements.
  std::vector<int64_t> AnyShape(std::vector<int64_t> dims) {
    ChangeList(dims, [&] { return static_cast<int64_t>(random_() % 9); });
    if (Sometimes()) ChangeList(dims, [&] { return AnyNumber(); });
    return dims;
  }

  void ChangeValue(fb::PlanT& plan) {
    if (plan.values.empty()) return;
    fb::ValueT& value = *Any(plan.values);
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

  static bool Count(const fb::TensorT& tensor, uint64_t* count) {
    *count = 1;
    for (int64_t dim : tensor.dims)
      if (dim < 0 || __builtin_mul_overflow(*count, static_cast<uint64_t>(dim), count) || *count > 1 << 16)
        return false;
    return true;
  }
  std::string AnyBytes(uint64_t size) {
    std::string bytes(size, '\0');
    switch (random_() % 3) {
      case 0:
        for (char& byte : bytes) byte = static_cast<char>(random_());
        break;
      case 1:  // small numbers, whatever their width
        for (size_t i = 0; i < size; i += 8) bytes[i] = static_cast<char>(random_() % 6);
        break;
      default: break;
    }
    return bytes;
  }
  // Gives a tensor as many elements as its type and shape ask for.
  void Refill(fb::TensorT& tensor) {
    uint64_t count = 0;
    if (!Count(tensor, &count)) return;
    tensor.text.clear();
    tensor.text_ends.clear();
    tensor.has_data = tensor.type != EP_TYPE_STRING;
    if (tensor.has_data) {
      tensor.section = file_.AddSection(AnyBytes(cpu::ElementBytes(tensor.type, count)));
      return;
    }
    tensor.text = std::string(count, 'a');
    for (uint64_t i = 0; i < count; ++i) tensor.text_ends.push_back(i + 1);
  }
  fb::ValueT* ValueOf(fb::PlanT& plan, const fb::ConstantT& constant) {
    const auto index = static_cast<size_t>(constant.value);
    return constant.value >= 0 && index < plan.values.size() ? plan.values[index].get() : nullptr;
  }

  // Consistently: such a change gets past everything that only looks at constants.
  void RetypeConstant(fb::PlanT& plan) {
    if (plan.constants.empty()) return;
    fb::ConstantT& constant = *Any(plan.constants);
    fb::ValueT* const value = ValueOf(plan, constant);
    if (value == nullptr) return;
    value->type = constant.tensor->type = AnyType();
    if (!constant.dropped || Sometimes()) Refill(*constant.tensor);
  }
  void ReshapeConstant(fb::PlanT& plan) {
    if (plan.constants.empty()) return;
    fb::ConstantT& constant = *Any(plan.constants);
    fb::ValueT* const value = ValueOf(plan, constant);
    if (value == nullptr) return;
    value->dims = constant.tensor->dims = AnyShape(value->dims);
    value->rank = static_cast<int32_t>(value->dims.size());
    if (!constant.dropped || Sometimes()) Refill(*constant.tensor);
  }
  void ChangeConstant(fb::PlanT& plan) {
    if (plan.constants.empty()) return;
    fb::ConstantT& constant = *Any(plan.constants);
    switch (random_() % 6) {
      case 0: constant.dropped = !constant.dropped; break;
      case 1: constant.value = AnyValue(plan); break;
      case 2: constant.tensor->section = static_cast<uint32_t>(random_() % (file_.sections.size() + 1)); break;
      case 3: constant.tensor->has_data = !constant.tensor->has_data; break;
      default: Refill(*constant.tensor);
    }
  }

  void ChangeOperands(fb::PlanT& plan) {
    if (plan.nodes.empty()) return;
    fb::NodeT& node = *Any(plan.nodes);
    const auto make = [&] { return AnyValue(plan); };
    if (random_() % 3 == 0) {
      ChangeList(node.outputs, make);
    } else {
      ChangeList(node.inputs, make);
    }
  }

  void ChangeOperator(fb::PlanT& plan) {
    if (plan.nodes.empty()) return;
    fb::NodeT& node = *Any(plan.nodes);
    switch (random_() % 5) {
      case 0: node.since_version = AnyNumber(); break;
      case 1: node.domain = node.domain.empty() ? "epiphyte.kit" : ""; break;
      case 2: std::swap(Any(plan.nodes), Any(plan.nodes)); break;
      case 3: {
        const fb::NodeT& other = *Any(plan.nodes);
        node.op_type = other.op_type;
        node.domain = other.domain;
        node.since_version = other.since_version;
        break;
      }
      default: {
        const auto signatures = cpu::OnnxSignatures();
        const cpu::Signature& signature = signatures[random_() % signatures.size()];
        node.op_type = signature.op_type;
        node.domain.clear();
        node.since_version = signature.since_version;
      }
    }
  }

  void ChangeAttribute(fb::PlanT& plan) {
    if (plan.nodes.empty()) return;
    fb::NodeT& node = *Any(plan.nodes);
    if (node.attributes.empty() || Sometimes()) {
      const fb::NodeT& other = *Any(plan.nodes);
      if (!other.attributes.empty())
        node.attributes.push_back(
            std::make_unique<fb::AttributeT>(*other.attributes[random_() % other.attributes.size()]));
      if (node.attributes.empty()) return;
    }
    fb::AttributeT& attribute = *Any(node.attributes);
    switch (random_() % 8) {
      case 0: attribute.type = static_cast<int32_t>(random_() % 16); break;
      case 1:
        node.attributes.erase(node.attributes.begin() + static_cast<ptrdiff_t>(random_() % node.attributes.size()));
        break;
      case 2:
        if (!attribute.text.empty()) attribute.text[random_() % attribute.text.size()] = static_cast<char>(random_());
        break;
      case 3:
        if (!attribute.tensors.empty()) {
          fb::TensorT& tensor = *Any(attribute.tensors);
          if (Sometimes()) tensor.type = AnyType();
          if (Sometimes()) tensor.dims = AnyShape(tensor.dims);
          Refill(tensor);
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

  void ChangePacked(fb::PlanT& plan) {
    if (plan.packed.empty()) return;
    fb::PackedT& packed = *Any(plan.packed);
    switch (random_() % 7) {
      case 0: packed.node = static_cast<int32_t>(AnyNumber()); break;
      case 1: packed.section = static_cast<uint32_t>(random_() % (file_.sections.size() + 1)); break;
      case 2: packed.key = Any(plan.packed)->key; break;
      case 3: packed.section = file_.AddSection(AnyBytes(random_() % 4096)); break;
      case 4: plan.packed.erase(plan.packed.begin() + static_cast<ptrdiff_t>(random_() % plan.packed.size())); break;
      default:
        if (!packed.format.empty()) {
          static constexpr char kSigns[] = "0123456789,;-";
          packed.format[random_() % packed.format.size()] = kSigns[random_() % (sizeof kSigns - 1)];
        }
    }
  }

  void ChangeSectionOrEnds(fb::PlanT& plan) {
    const auto make = [&] { return AnyValue(plan); };
    switch (random_() % 5) {
      case 0: return ChangeList(plan.inputs, make);
      case 1: return ChangeList(plan.outputs, make);
      default: break;
    }
    if (file_.sections.empty()) return;
    std::string& section = Any(file_.sections);
    if (section.empty()) return;
    switch (random_() % 4) {
      case 0: section.resize(random_() % (section.size() * 2)); break;
      case 1: section = AnyBytes(section.size()); break;
      default: section[random_() % section.size()] = static_cast<char>(random_());
    }
  }

  PlanFile& file_;
  std::mt19937& random_;
};

}  // namespace

void MutatePlan(PlanFile& file, std::mt19937& random) {
  Mutator mutator(file, random);
  for (uint32_t change = random() % 4 + 1; change-- > 0;) mutator.Change();
}

}  // namespace epiphyte::fuzz
