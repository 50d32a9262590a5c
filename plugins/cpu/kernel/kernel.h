// Kernel: the implementation of one operator for one node. Each file of ops/ holds some of one family.
//
// A kernel is made once, when a partition is compiled or its context is loaded, and runs many times, on many threads at
// once: Run is const. What a run must remember between calls (oneDNN primitives for the shapes at hand) lives in the
// frame: OpContext::State.
//
// Adding an operator: a file ops/<family>/<stem>.cpp with
//
//     namespace epiphyte::cpu {
//     namespace {
//     class ReluKernel : public Kernel {
//      public:
//       explicit ReluKernel(const KernelInit& init) {}
//       void Run(OpContext& context) const override {
//         const Tensor& x = context.Input(0);
//         Tensor& y = context.Output(0, x.type, x.dims);
//         …
//       }
//     };
//     }  // namespace
//     void Register_relu(KernelRegistry& registry) { registry.Add<ReluKernel>("Relu", 1, {kFloats}); }
//     }  // namespace epiphyte::cpu
//
// and a row in signatures_onnx.cpp: {"Relu", 1, "X:T -> Y:T", ""}. The build collects the Register_<stem> functions by
// itself. What arrives in Run has the types of the signature, and the type of the entry that the kernel was made for.
//
// Errors: throw kit::Error. Shapes and data are checked by the kernel: they come from files.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>
#include <vector>

// GCC 14 takes the length of a number's text in fmt 10 for -1.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Warray-bounds"
#include <fmt/format.h>
#pragma GCC diagnostic pop

#include "epiphyte/ep_graph.h"
#include "epiphyte/ep_status.h"
#include "epiphyte/kit/abi/error.hpp"
#include "epiphyte/kit/graph/ir.hpp"
#include "epiphyte/kit/signature/signature.hpp"
#include "plugins/cpu/kernel/tensor.h"
#include "plugins/cpu/kernel/type_set.h"

namespace epiphyte::cpu {

using kit::ArgumentType;
using kit::AttributeContent;
using kit::DescribeArguments;
using kit::Signature;
using kit::ToArgument;

// What the kit throws for shapes and attributes that make no sense is what kernels throw, too.
// Message: what was found and what was expected; the executor adds the node's name and operator in front.
template <typename... Args>
[[noreturn]] void FailOp(fmt::format_string<Args...> format, Args&&... args) {
  throw kit::Error(EP_STATUS_INVALID_ARGUMENT, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
[[noreturn]] void NotImplemented(fmt::format_string<Args...> format, Args&&... args) {
  throw kit::Error(EP_STATUS_NOT_IMPLEMENTED, fmt::format(format, std::forward<Args>(args)...));
}

// What a kernel's constructor gets. Valid during construction only.
class KernelInit {
 public:
  virtual ~KernelInit() = default;
  virtual const ir::Node& node() const = 0;
  // What is known of input and output i; kind UNKNOWN for one that is left out.
  virtual const ir::Value& InputInfo(size_t i) const = 0;
  virtual const ir::Value& OutputInfo(size_t i) const = 0;
  virtual bool HasInput(size_t i) const = 0;
  // The constant that input i is, or null. Its memory outlives the kernel. When a context is loaded and the constant
  // was dropped (see Drop), data is null but type and dims are there.
  virtual const Tensor* Constant(size_t i) const = 0;
  // Packed data that goes into the context: `fill` makes it, unless a context was loaded that holds it already. `key`
  // names it within the node; `format` says exactly how the bytes are laid out: data of another format or size is made
  // anew. 64-byte aligned, outlives the kernel, never null. A `fill` that needs a constant which was dropped throws
  // kit::Error(EP_STATUS_INVALID_GRAPH).
  virtual const void* Packed(std::string_view key, std::string_view format, uint64_t bytes,
                             const std::function<void(void*)>& fill) const = 0;
  // As Constant, but its data is valid during construction only: for kernels that pack a constant and drop it, so that
  // it is never copied.
  virtual const Tensor* PeekConstant(size_t i) const { return Constant(i); }
  // What a loaded context holds under `key`, in whatever format: for a kernel that wants another one and can convert
  // it. Null when there is none. The bytes come from a file: check them.
  virtual const void* StoredPacked(std::string_view /*key*/, std::string* /*format*/, uint64_t* /*bytes*/) const {
    return nullptr;
  }
  // The packed data comes from a context that this version made on this kind of machine with these options: it lies as
  // the kernel would pack it now.
  virtual bool PackedIsCurrent() const { return false; }
  // Products in bfloat16 are allowed: by the option `precision: bf16`, or as all that the model multiplies is bfloat16.
  virtual bool AllowsBfloat16() const { return false; }
  // Products may be off by 2^-16 of them: all that the model multiplies is float16.
  virtual bool AllowsSplitFloats() const { return false; }
  // Everybody who reads output i takes floats in a layout of bfloat16 (Kernel::kTakesBfloat16Layouts).
  virtual bool OutputMayBeBfloat16(size_t /*i*/) const { return false; }
  // The plain bytes of constant input i are no longer needed by this kernel.
  virtual void Drop(size_t i) const = 0;
  // Constant input i may stay where the model's file has it, at any address that its elements may have: the kernel
  // moves elements of it, and few in a run.
  virtual void MayStayInPlace(size_t /*i*/) const {}
  // Threads that a run may use.
  virtual uint32_t thread_count() const = 0;
  // Loop over [0,count) on the host's threads; usable while packing.
  virtual void ParallelFor(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body) const = 0;
};

// What a kernel's Run gets.
class OpContext {
 public:
  virtual ~OpContext() = default;

  virtual size_t InputCount() const = 0;
  virtual size_t OutputCount() const = 0;
  virtual bool HasInput(size_t i) const = 0;
  virtual bool HasOutput(size_t i) const = 0;

  // Input i, row-major. Throws when it is absent or no tensor.
  virtual const Tensor& Input(size_t i) = 0;
  // Input i in whatever layout it has.
  virtual const Tensor& AnyLayoutInput(size_t i) = 0;
  // Input i, or null when it is left out.
  const Tensor* OptionalInput(size_t i) { return HasInput(i) ? &Input(i) : nullptr; }
  // Any kind of value.
  virtual const Datum& InputDatum(size_t i) = 0;

  // Makes output i: uninitialised memory for row-major data (for strings: a vector of that many empty strings). Calling
  // it for an output that is left out gives scratch memory, so kernels need not care. References to inputs and outputs
  // stay valid until Run returns.
  virtual Tensor& Output(size_t i, ElementType type, std::span<const int64_t> dims) = 0;
  // Output i in a layout that takes `bytes` bytes.
  virtual Tensor& OutputWithLayout(size_t i, ElementType type, std::span<const int64_t> dims,
                                   std::shared_ptr<const Layout> layout, uint64_t bytes) = 0;
  // Output i in the memory of input j, in its layout, if nobody needs input j afterwards and sizes agree; else null and
  // the kernel calls Output. The contents are those of the input.
  virtual Tensor* OutputInPlace(size_t i, size_t j, ElementType type, std::span<const int64_t> dims) = 0;
  // Output i is input j under another shape (or the same one): no copy where the memory's owner allows it.
  virtual void OutputAlias(size_t i, size_t j, std::span<const int64_t> dims) = 0;
  virtual void SetOutput(size_t i, Datum datum) = 0;

  // Scratch memory until Run returns, 64-byte aligned.
  virtual void* Scratch(uint64_t bytes) = 0;
  // Of memory that a kernel takes by itself and that grows with the data (tables, texts), before it is taken: throws
  // when the run may not have so much.
  virtual void CountMemory(uint64_t bytes) = 0;

  virtual uint32_t thread_count() const = 0;
  // Runs body(begin, end) over [0, count) in shares of at least `grain`. Bodies must not throw.
  virtual void ParallelFor(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body) = 0;

  // As above for any callable, without an allocation: loops too short to share run right here.
  template <typename Body>
  void ParallelFor(int64_t count, int64_t grain, Body&& body) {
    if (count <= 0) return;
    if (count <= grain) {
      body(int64_t{0}, count);
    } else {
      const std::function<void(int64_t, int64_t)> function = std::ref(body);
      ParallelFor(count, grain, function);
    }
  }
  // True when somebody reads output i as row-major data, so that making it in another layout costs a reorder.
  virtual bool WantsRowMajor(size_t /*i*/) const { return true; }

  // One object of this node in this frame, made on first use. A frame is used by one run at a time and by runs with the
  // same input shapes, but shapes of values inside may still differ: check before you reuse.
  template <typename T>
  T& State() {
    std::shared_ptr<void>& slot = StateSlot();
    if (!slot) slot = std::make_shared<T>();
    return *static_cast<T*>(slot.get());
  }

 protected:
  virtual std::shared_ptr<void>& StateSlot() = 0;
};

// What an operator makes of layouts: how its kernel reads its inputs, and what its output may be.
enum class LayoutUse : uint8_t {
  kRowMajor,  // reads row-major data
  kTakesAny,  // reads its inputs through AnyLayoutInput; its output is row-major
  kMakes,     // the same, and it chooses the layout of its output
  kPassesOn,  // the same, and the output has the layout of an input: whoever reads the output says what is wanted
};

// Whether a node of float16 or bfloat16 runs in float32 when its operator has a float32 kernel (exec/float_fallback.h).
enum class Float32Promotion : uint8_t {
  kFollowInputs,  // computes in float32 when its inputs were computed in float32
  kAlways,        // computes in float32: sums over much of the input pay for converting inputs and outputs
  kNever,         // computes in its own type: the result depends on the bits of the input
};

class Kernel {
 public:
  // A class that is registered with KernelRegistry::Add<K> says here what it does, by declaring what differs anew.
  static constexpr LayoutUse kLayoutUse = LayoutUse::kRowMajor;
  // Asked of kernels of 16-bit types.
  static Float32Promotion PromotionOf(const ir::Node& /*node*/) { return Float32Promotion::kFollowInputs; }
  // Of a kernel of floats: it multiplies in bfloat16 where KernelInit allows it.
  static constexpr bool kMultipliesBfloat16 = false;
  // Of a kernel of floats: what it reads through AnyLayoutInput may be of a layout whose numbers are bfloat16.
  static constexpr bool kTakesBfloat16Layouts = false;

  virtual ~Kernel() = default;
  virtual void Run(OpContext& context) const = 0;
};

// Which operators there are, from which version to which, and for which element types of the first input. What the
// other inputs and the outputs may be is the operator's signature.
class KernelRegistry {
 public:
  using Factory = std::function<std::unique_ptr<Kernel>(const KernelInit& init)>;
  struct Entry {
    int64_t first_version = 1;
    int64_t last_version = INT64_MAX;
    TypeSet types = kAnyType;  // of input 0, or of output 0 when there is no input
    Factory factory;
    LayoutUse layouts = LayoutUse::kRowMajor;
    Float32Promotion (*promotion)(const ir::Node& node) = &Kernel::PromotionOf;
    bool multiplies_bfloat16 = false;
    bool takes_bfloat16_layouts = false;
  };

  void Add(std::string_view op_type, std::string_view domain, Entry entry);
  template <typename K>
  void Add(std::string_view op_type, int64_t first_version = 1, TypeSet types = kAnyType,
           int64_t last_version = INT64_MAX, std::string_view domain = "") {
    Add(op_type, domain,
        Entry{first_version, last_version, types, [](const KernelInit& init) { return std::make_unique<K>(init); },
              K::kLayoutUse, &K::PromotionOf, K::kMultipliesBfloat16, K::kTakesBfloat16Layouts});
  }

  // The kernel for a node. Not `certain`: an input's type isn't known yet, so `entry` is no more than what may do, and
  // the kernel is chosen once more when inputs arrive.
  struct Choice {
    const Entry* entry = nullptr;
    const Signature* signature = nullptr;
    bool certain = false;
  };
  // The first entry that fits. A null entry with the reason in *why when there is none: no such operator or version
  // (then the signature is null too), or arguments that don't fit the signature or that no kernel takes.
  Choice Find(std::string_view domain, std::string_view op_type, int64_t since_version,
              std::span<const ArgumentType> inputs, std::span<const ArgumentType> outputs, std::string* why) const;
  // What stands for the operator's float kernels before one is chosen; null for an operator that has none.
  const Entry* FloatEntry(std::string_view domain, std::string_view op_type) const;
  // Calls visit(domain, op_type, entry) for every kernel.
  void ForEach(const std::function<void(std::string_view, std::string_view, const Entry&)>& visit) const;

 private:
  struct Key {
    std::string domain;
    std::string op_type;
  };
  struct Less {  // also compares with {domain, op_type}, so that looking up allocates nothing
    using is_transparent = void;
    using View = std::pair<std::string_view, std::string_view>;
    static View ToView(const Key& key) { return {key.domain, key.op_type}; }
    static View ToView(View view) { return view; }
    bool operator()(const auto& a, const auto& b) const { return ToView(a) < ToView(b); }
  };
  struct Operator {
    std::span<const Signature> signatures;
    std::vector<Entry> entries;  // in the order in which they were added
  };
  std::map<Key, Operator, Less> operators_;
};

// Every Register_<stem> of ops/; the build generates it.
void RegisterAllKernels(KernelRegistry& registry);

}  // namespace epiphyte::cpu
