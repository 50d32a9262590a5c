// BitCast: reinterprets the bits of a tensor as another type of the same width.
#include <cstring>

#include "epiphyte/kit/signature/cast_type.hpp"
#include "plugins/cpu/kernel/kernel.h"

namespace epiphyte::cpu {
namespace {

ElementType TargetOf(const ir::Node& node) {
  const int64_t type = node.Int("to", EP_TYPE_UNDEFINED);
  // BitCast also supports complex numbers, unlike Cast.
  if (type == EP_TYPE_COMPLEX64 || type == EP_TYPE_COMPLEX128) return static_cast<ElementType>(type);
  return kit::CastType(node);
}

class BitCastKernel : public Kernel {
 public:
  explicit BitCastKernel(const KernelInit& init) : type_(TargetOf(init.node())) {
    const ElementType from = init.InputInfo(0).type;
    if (from != EP_TYPE_UNDEFINED) Check(from);
  }

  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    Check(x.type);
    Tensor& y = context.Output(0, type_, x.dims);
    if (const uint64_t bytes = x.Bytes(); bytes > 0) std::memcpy(y.data, x.data, bytes);
  }

 private:
  // Two types have the same width when eight elements take equal numbers of bytes.
  void Check(ElementType from) const {
    if (from != EP_TYPE_STRING && type_ != EP_TYPE_STRING && ElementBytes(from, 8) == ElementBytes(type_, 8)) return;
    FailOp("{} can't be taken for {}; two types of numbers of as many bits expected", TypeName(from), TypeName(type_));
  }

  ElementType type_;
};

}  // namespace

void Register_bit_cast(KernelRegistry& registry) { registry.Add<BitCastKernel>("BitCast", 26); }

}  // namespace epiphyte::cpu
