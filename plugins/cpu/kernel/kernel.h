// Kernel: the implementation of one operator for one node. Each file in ops/ holds kernels of one family.
//
// A kernel is made once, when a partition is compiled or its context is loaded. It runs many times and on many threads
// at once, so Run is const. State between calls (such as oneDNN primitives for the current shapes) lives in the frame:
// OpContext::State.
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
// and a row in kit/signature/onnx.cpp: {"Relu", 1, "X:T -> Y:T", ""}. The build collects the Register_<stem> functions
// automatically. Arguments of Run have the types of the signature and of the registry entry that made the kernel.
//
// Errors: throw kit::Error. Shapes and data come from files, so the kernel checks them.
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

#include "epiphyte/ep_graph.h"
#include "epiphyte/ep_status.h"
#include "epiphyte/kit/abi/error.hpp"
#include "epiphyte/kit/graph/ir.hpp"
#include "epiphyte/kit/signature/signature.hpp"
#include "plugins/cpu/kernel/format.h"
#include "plugins/cpu/kernel/tensor.h"
#include "plugins/cpu/kernel/type_set.h"

namespace epiphyte::cpu {

using kit::ArgumentType;
using kit::AttributeContent;
using kit::DescribeArguments;
using kit::Signature;
using kit::ToArgument;

// Throws the error that the kit throws for invalid shapes and attributes. The message says what was found and what was
// expected; the executor puts the node's name and operator in front.
template <typename... Args>
[[noreturn]] void FailOp(fmt::format_string<Args...> format, Args&&... args) {
  throw kit::Error(EP_STATUS_INVALID_ARGUMENT, FormatText(format, std::forward<Args>(args)...));
}
template <typename... Args>
[[noreturn]] void NotImplemented(fmt::format_string<Args...> format, Args&&... args) {
  throw kit::Error(EP_STATUS_NOT_IMPLEMENTED, FormatText(format, std::forward<Args>(args)...));
}

// The node and its environment for a kernel's constructor. Valid only during construction.
class KernelInit {
 public:
  virtual ~KernelInit() = default;
  virtual const ir::Node& node() const = 0;
  // Known properties of input and output i; kind UNKNOWN for one that is left out.
  virtual const ir::Value& InputInfo(size_t i) const = 0;
  virtual const ir::Value& OutputInfo(size_t i) const = 0;
  virtual bool HasInput(size_t i) const = 0;
  // The constant at input i, or null. Its memory outlives the kernel. In a loaded context, a dropped constant (see
  // Drop) has type and dims, but null data.
  virtual const Tensor* Constant(size_t i) const = 0;
  // Returns packed data that is saved in the context. `fill` makes it, unless a loaded context already holds it. `key`
  // names the data within the node. `format` describes the byte layout exactly: data of another format or size is made
  // anew. The result is 64-byte aligned, outlives the kernel and is never null. A `fill` that needs a dropped constant
  // throws kit::Error(EP_STATUS_INVALID_GRAPH).
  virtual const void* Packed(std::string_view key, std::string_view format, uint64_t bytes,
                             const std::function<void(void*)>& fill) const = 0;
  // Like Constant, but the data is valid only during construction. It avoids a copy for kernels that pack a constant
  // and drop it.
  virtual const Tensor* PeekConstant(size_t i) const { return Constant(i); }
  // Returns the data that a loaded context holds under `key`, in any format, or null. For kernels that convert between
  // formats. The bytes come from a file: check them.
  virtual const void* StoredPacked(std::string_view /*key*/, std::string* /*format*/, uint64_t* /*bytes*/) const {
    return nullptr;
  }
  // True when the packed data comes from a context that this version made on this kind of machine with these options.
  // Its layout is then the one that the kernel would choose now.
  virtual bool PackedIsCurrent() const { return false; }
  // True when bfloat16 multiplication is allowed: by the option `precision: bf16`, or because the model multiplies only
  // bfloat16.
  virtual bool AllowsBfloat16() const { return false; }
  // True when multiplications may have a relative error of 2^-16, because the model multiplies only float16.
  virtual bool AllowsSplitFloats() const { return false; }
  // True when all readers of output i take floats in a bfloat16 layout (Kernel::kTakesBfloat16Layouts).
  virtual bool OutputMayBeBfloat16(size_t /*i*/) const { return false; }
  // Declares that this kernel no longer needs the plain bytes of constant input i.
  virtual void Drop(size_t i) const = 0;
  // Allows constant input i to stay mapped from the model's file, aligned only for its elements. For a kernel that only
  // moves elements, few in each run.
  virtual void MayStayInPlace(size_t /*i*/) const {}
  // Threads that a run may use.
  virtual uint32_t thread_count() const = 0;
  // Parallel loop over [0, count) on the host's threads; may be used while packing.
  virtual void ParallelFor(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body) const = 0;
};

// The inputs, outputs, memory and threads for a kernel's Run.
class OpContext {
 public:
  virtual ~OpContext() = default;

  virtual size_t InputCount() const = 0;
  virtual size_t OutputCount() const = 0;
  virtual bool HasInput(size_t i) const = 0;
  virtual bool HasOutput(size_t i) const = 0;

  // Input i, row-major. Throws when it is absent or not a tensor.
  virtual const Tensor& Input(size_t i) = 0;
  // Input i in the layout that it has.
  virtual const Tensor& AnyLayoutInput(size_t i) = 0;
  // Input i, or null when it is left out.
  const Tensor* OptionalInput(size_t i) { return HasInput(i) ? &Input(i) : nullptr; }
  // Input i, which may be any kind of value.
  virtual const Datum& InputDatum(size_t i) = 0;

  // Makes output i with uninitialised row-major memory (for strings: a vector of that many empty strings). An output
  // that is left out gets scratch memory, so kernels need not distinguish. References to inputs and outputs stay valid
  // until Run returns.
  virtual Tensor& Output(size_t i, ElementType type, std::span<const int64_t> dims) = 0;
  // Makes output i in a layout that takes `bytes` bytes.
  virtual Tensor& OutputWithLayout(size_t i, ElementType type, std::span<const int64_t> dims,
                                   std::shared_ptr<const Layout> layout, uint64_t bytes) = 0;
  // Makes output i in the memory of input j, in its layout and with its contents, when this node is the last reader of
  // input j and the sizes are equal. Otherwise returns null, and the kernel calls Output.
  virtual Tensor* OutputInPlace(size_t i, size_t j, ElementType type, std::span<const int64_t> dims) = 0;
  // Makes output i an alias of input j with other or equal dimensions. It copies only if the memory's owner requires
  // it.
  virtual void OutputAlias(size_t i, size_t j, std::span<const int64_t> dims) = 0;
  virtual void SetOutput(size_t i, Datum datum) = 0;

  // Scratch memory until Run returns, 64-byte aligned.
  virtual void* Scratch(uint64_t bytes) = 0;
  // Counts memory that a kernel allocates itself and that grows with the data (tables, texts). Call it before the
  // allocation. Throws when the run's memory limit does not allow it.
  virtual void CountMemory(uint64_t bytes) = 0;

  virtual uint32_t thread_count() const = 0;
  // Runs body(begin, end) over [0, count) in chunks of at least `grain`. Bodies must not throw.
  virtual void ParallelFor(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body) = 0;

  // Parallel loop for any callable without an allocation. A loop too short to split runs on the calling thread.
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
  // True when a reader of output i needs row-major data, so that another layout would cost a reorder.
  virtual bool WantsRowMajor(size_t /*i*/) const { return true; }

  // Returns this node's state object in this frame; the first call makes it. A frame serves one run at a time, and all
  // its runs have equal input shapes. Shapes of inner values may still differ: check them before reuse.
  template <typename T>
  T& State() {
    std::shared_ptr<void>& slot = StateSlot();
    if (!slot) slot = std::make_shared<T>();
    return *static_cast<T*>(slot.get());
  }

 protected:
  virtual std::shared_ptr<void>& StateSlot() = 0;
};

// How an operator treats layouts: the form in which its kernel reads inputs, and the layout of its output.
enum class LayoutUse : uint8_t {
  kRowMajor,  // reads row-major data
  kTakesAny,  // reads inputs through AnyLayoutInput; its output is row-major
  kMakes,     // reads inputs through AnyLayoutInput; it chooses the layout of its output
  kPassesOn,  // reads inputs through AnyLayoutInput; its output has an input's layout, which its readers choose
};

// Decides whether a float16 or bfloat16 node runs in float32 when its operator has a float32 kernel
// (exec/float_fallback.h).
enum class Float32Promotion : uint8_t {
  kFollowInputs,  // computes in float32 when its inputs were computed in float32
  kAlways,        // computes in float32: sums over much of the input pay for converting inputs and outputs
  kNever,         // computes in its own type: the result depends on the bits of the input
};

class Kernel {
 public:
  // A class registered with KernelRegistry::Add<K> redeclares the members below that differ for it.
  static constexpr LayoutUse kLayoutUse = LayoutUse::kRowMajor;
  // Called only for kernels of 16-bit types.
  static Float32Promotion PromotionOf(const ir::Node& /*node*/) { return Float32Promotion::kFollowInputs; }
  // For float kernels: true when the kernel multiplies in bfloat16 where KernelInit allows it.
  static constexpr bool kMultipliesBfloat16 = false;
  // For float kernels: true when inputs read through AnyLayoutInput may have a layout of bfloat16 numbers.
  static constexpr bool kTakesBfloat16Layouts = false;

  virtual ~Kernel() = default;
  virtual void Run(OpContext& context) const = 0;
};

// The known operators with their versions and the element types of their first input. The operator's signature
// determines the types of the other inputs and the outputs.
class KernelRegistry {
 public:
  using Factory = std::function<std::unique_ptr<Kernel>(const KernelInit& init)>;
  struct Entry {
    int64_t first_version = 1;
    int64_t last_version = INT64_MAX;
    TypeSet types = kAnyType;  // type of input 0, or of output 0 for an operator without inputs
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

  // The kernel for a node. If not `certain`, an input's type is unknown: `entry` is a candidate, and the kernel is
  // chosen again when the inputs arrive.
  struct Choice {
    const Entry* entry = nullptr;
    const Signature* signature = nullptr;
    bool certain = false;
  };
  // Returns the first entry that fits. Otherwise the entry is null and *why has the reason: an unknown operator or
  // version (the signature is null too), or arguments that do not fit the signature or any kernel.
  Choice Find(std::string_view domain, std::string_view op_type, int64_t since_version,
              std::span<const ArgumentType> inputs, std::span<const ArgumentType> outputs, std::string* why) const;
  // Returns an entry that represents the operator's float kernels before one is chosen; null when it has none.
  const Entry* FloatEntry(std::string_view domain, std::string_view op_type) const;
  // Calls visit(domain, op_type, entry) for every kernel.
  void ForEach(const std::function<void(std::string_view, std::string_view, const Entry&)>& visit) const;

 private:
  struct Key {
    std::string domain;
    std::string op_type;
  };
  struct Less {  // compares with {domain, op_type} too, so that a lookup allocates nothing
    using is_transparent = void;
    using View = std::pair<std::string_view, std::string_view>;
    static View ToView(const Key& key) { return {key.domain, key.op_type}; }
    static View ToView(View view) { return view; }
    bool operator()(const auto& a, const auto& b) const { return ToView(a) < ToView(b); }
  };
  struct Operator {
    std::span<const Signature> signatures;
    std::vector<Entry> entries;  // in the order of registration
  };
  std::map<Key, Operator, Less> operators_;
};

// Calls every Register_<stem> of ops/; the build generates it.
void RegisterAllKernels(KernelRegistry& registry);

}  // namespace epiphyte::cpu
