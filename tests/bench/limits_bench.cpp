// Reference figures for limits.sh: the peak rates of this machine, and the amount of work in a model.
//
//   epiphyte_limits_bench machine [--threads N]
//   epiphyte_limits_bench read --mb MB [--threads N]
//   epiphyte_limits_bench model MODEL --inputs DIR
//
// `machine`: GFLOP/s of multiply-adds in loops on registers only, with the CPU's widest instructions, and of oneDNN's
// best GEMM. An addition and a multiplication count one each. Each thread runs a GEMM by itself, so OMP_NUM_THREADS=1
// must be set. `read`: GB/s of reading MB of memory again and again. Both modes run all threads at once and report the
// best of several tries.
//
// `model`: operations of the model's convolutions and matrix products for the input shapes in DIR, and the bytes of
// their constant operands. Products without inferable shapes are left out and counted as unknown.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <dnnl.hpp>

#include "core/onnx/infer/inference.h"
#include "core/onnx/model_reader.h"
#include "epiphyte/kit/memory/heap.hpp"
#include "plugins/cpu/simd/gemm/amx.h"
#include "tests/onnx_backend/value_files.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace epiphyte::test {
namespace {

namespace fs = std::filesystem;

// --- the machine

constexpr size_t kCacheLine = 64;

double Seconds(const std::function<void()>& body) {
  const auto begin = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Returns the best of several tries, in units of `amount` per second, summed over the threads.
double BestRate(int threads, double amount, const std::function<void(int thread)>& body) {
  constexpr int kTries = 7;
  double best = 0;
  for (int i = 0; i < kTries; ++i) {
    const double seconds = Seconds([&] {
      std::vector<std::thread> others;
      for (int t = 1; t < threads; ++t) others.emplace_back(body, t);
      body(0);
      for (std::thread& other : others) other.join();
    });
    best = std::max(best, amount * threads / seconds);
  }
  return best;
}

struct RegisterLoop {
  std::string_view name = "none";
  double operations = 0;  // operations of one call
  void (*run)() = nullptr;
};

#if defined(__x86_64__)
constexpr int kSteps = 1 << 20;
constexpr int kSums = 16;

enum class Operands { kFloats, kBfloat16, kBytes };

// Keeps unused sums in registers, so that the compiler does not remove them.
template <Operands kOperands>
__attribute__((target("avx512f"))) void SumsOf512() {
  __m512i sums[kSums], a = _mm512_castps_si512(_mm512_set1_ps(0.5f));
  for (__m512i& sum : sums) sum = _mm512_setzero_si512();
  for (int i = 0; i < kSteps; ++i) {
    for (__m512i& sum : sums) {
      if constexpr (kOperands == Operands::kFloats) asm("vfmadd231ps %1, %1, %0" : "+v"(sum) : "v"(a));
      if constexpr (kOperands == Operands::kBfloat16) asm("vdpbf16ps %1, %1, %0" : "+v"(sum) : "v"(a));
      if constexpr (kOperands == Operands::kBytes) asm("vpdpbusd %1, %1, %0" : "+v"(sum) : "v"(a));
    }
  }
  for (__m512i& sum : sums) asm volatile("" : "+v"(sum));
}
__attribute__((target("avx2,fma"))) void FloatsOf256() {
  constexpr int kFew = 12;
  __m256 sums[kFew], a = _mm256_set1_ps(0.5f);
  for (__m256& sum : sums) sum = _mm256_setzero_ps();
  for (int i = 0; i < kSteps; ++i)
    for (__m256& sum : sums) asm("vfmadd231ps %1, %1, %0" : "+x"(sum) : "x"(a));
  for (__m256& sum : sums) asm volatile("" : "+x"(sum));
}

struct alignas(64) WholeTiles {
  uint8_t palette = 1, unused[15] = {};
  uint16_t bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
constexpr int kTileSteps = 1 << 16;

template <Operands kOperands>
void ProductsOfTiles() {
  const WholeTiles config;
  asm volatile("ldtilecfg %0" : : "m"(config));
  for (int i = 0; i < kTileSteps; ++i) {
    if constexpr (kOperands == Operands::kBfloat16)
      asm volatile(
          "tdpbf16ps %tmm6, %tmm4, %tmm0\n tdpbf16ps %tmm7, %tmm4, %tmm1\n"
          "tdpbf16ps %tmm6, %tmm5, %tmm2\n tdpbf16ps %tmm7, %tmm5, %tmm3");
    if constexpr (kOperands == Operands::kBytes)
      asm volatile(
          "tdpbusd %tmm6, %tmm4, %tmm0\n tdpbusd %tmm7, %tmm4, %tmm1\n"
          "tdpbusd %tmm6, %tmm5, %tmm2\n tdpbusd %tmm7, %tmm5, %tmm3");
  }
  asm volatile("tilerelease");
}

RegisterLoop Floats() {
  if (__builtin_cpu_supports("avx512f")) return {"avx512", 2.0 * 16 * kSums * kSteps, SumsOf512<Operands::kFloats>};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return {"avx2", 2.0 * 8 * 12 * kSteps, FloatsOf256};
  return {};
}
RegisterLoop Bfloat16() {
  if (cpu::simd::UsesAmxBfloat16())
    return {"amx", 2.0 * 16 * 16 * 32 * 4 * kTileSteps, ProductsOfTiles<Operands::kBfloat16>};
  if (__builtin_cpu_supports("avx512bf16"))
    return {"avx512", 2.0 * 32 * kSums * kSteps, SumsOf512<Operands::kBfloat16>};
  return {};
}
RegisterLoop Bytes() {
  if (cpu::simd::UsesAmxBytes()) return {"amx", 2.0 * 16 * 16 * 64 * 4 * kTileSteps, ProductsOfTiles<Operands::kBytes>};
  if (__builtin_cpu_supports("avx512vnni")) return {"avx512", 2.0 * 64 * kSums * kSteps, SumsOf512<Operands::kBytes>};
  return {};
}
#else
RegisterLoop Floats() { return {}; }
RegisterLoop Bfloat16() { return {}; }
RegisterLoop Bytes() { return {}; }
#endif

using Type = dnnl::memory::data_type;

// One thread's GEMM in oneDNN; oneDNN chooses the layout of the right operand.
class Product {
 public:
  Product(const dnnl::engine& engine, Type a, Type b, Type y, int64_t m, int64_t k, int64_t n) : stream_(engine) {
    using Tag = dnnl::memory::format_tag;
    const dnnl::memory::desc left({m, k}, a, Tag::ab), any({k, n}, b, Tag::any), result({m, n}, y, Tag::ab);
#if DNNL_VERSION_MAJOR >= 3
    const dnnl::matmul::primitive_desc desc(engine, left, any, result);
#else
    const dnnl::matmul::primitive_desc desc({left, any, result}, engine);
#endif
    product_ = dnnl::matmul(desc);
    for (const auto& [arg, memory] : {std::pair(DNNL_ARG_SRC, left), std::pair(DNNL_ARG_WEIGHTS, desc.weights_desc()),
                                      std::pair(DNNL_ARG_DST, result)}) {
      const dnnl::memory& made = args_.emplace(arg, dnnl::memory(memory, engine)).first->second;
      std::memset(made.get_data_handle(), 0, memory.get_size());
    }
  }
  void Run() {
    product_.execute(stream_, args_);
    stream_.wait();
  }

 private:
  dnnl::stream stream_;
  dnnl::matmul product_;
  std::unordered_map<int, dnnl::memory> args_;
};

double BestProduct(int threads, Type a, Type b, Type y) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  double best = 0;
  for (const auto& [m, k, n] : std::initializer_list<std::tuple<int64_t, int64_t, int64_t>>{
           {128, 768, 768}, {256, 1024, 1024}, {512, 1024, 512}, {1024, 1024, 1024}, {2048, 512, 512}}) {
    std::vector<std::unique_ptr<Product>> products;
    try {
      for (int t = 0; t < threads; ++t) products.push_back(std::make_unique<Product>(engine, a, b, y, m, k, n));
    } catch (const dnnl::error&) {
      continue;  // instructions for none of these types
    }
    const double operations = 2.0 * static_cast<double>(m * k * n);
    const int runs = std::max(1, static_cast<int>(2e9 / operations));
    best = std::max(best, BestRate(threads, operations * runs, [&](int t) {
                      for (int i = 0; i < runs; ++i) products[static_cast<size_t>(t)]->Run();
                    }));
  }
  return best;
}

// Reads memory as kStreams interleaved streams. No load depends on another.
template <typename V, size_t kStreams>
[[gnu::always_inline]] inline uint64_t ReadStreams(const std::byte* data, size_t bytes) {
  constexpr size_t kAtOnce = 2 * kCacheLine, kAhead = 32 * kCacheLine;
  const size_t stream = bytes / kStreams / kAtOnce * kAtOnce;
  V sums[kStreams] = {};
  for (size_t i = 0; i < stream; i += kAtOnce) {
    for (size_t s = 0; s < kStreams; ++s) {
      const std::byte* const at = data + s * stream + i;
      __builtin_prefetch(at + kAhead);
      __builtin_prefetch(at + kAhead + kCacheLine);
      for (size_t part = 0; part < kAtOnce; part += sizeof(V)) sums[s] |= *reinterpret_cast<const V*>(at + part);
    }
  }
  uint64_t sum = 0;
  for (const V& one : sums) sum |= one[0];
  return sum;
}
using ReadLoop = uint64_t (*)(const std::byte* data, size_t bytes);

#if defined(__x86_64__)
using Vector512 [[gnu::vector_size(64), gnu::may_alias]] = uint64_t;
template <size_t kStreams>
__attribute__((target("avx512f"))) uint64_t ReadBy512(const std::byte* data, size_t bytes) {
  return ReadStreams<Vector512, kStreams>(data, bytes);
}
#endif
using Vector128 [[gnu::vector_size(16), gnu::may_alias]] = uint64_t;
template <size_t kStreams>
ReadLoop ReaderOf() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return &ReadBy512<kStreams>;
#endif
  return [](const std::byte* data, size_t bytes) { return ReadStreams<Vector128, kStreams>(data, bytes); };
}

void PrintMachine(int threads) {
  std::printf("{\"threads\": %d", threads);
  const auto loop = [&](const char* name, const RegisterLoop& of) {
    const double rate = of.run == nullptr ? 0 : BestRate(threads, of.operations, [&](int) { of.run(); });
    std::printf(", \"%s_by\": \"%.*s\", \"%s_registers\": %.1f", name, static_cast<int>(of.name.size()), of.name.data(),
                name, rate / 1e9);
  };
  loop("f32", Floats());
  loop("bf16", Bfloat16());
  loop("int8", Bytes());
  const auto product = [&](const char* name, Type a, Type b, Type y) {
    std::printf(", \"%s_product\": %.1f", name, BestProduct(threads, a, b, y) / 1e9);
  };
  product("f32", Type::f32, Type::f32, Type::f32);
  product("bf16", Type::bf16, Type::bf16, Type::bf16);
  product("int8", Type::u8, Type::s8, Type::s32);
  std::printf("}\n");
}

// Reads large pages, in which the plugin keeps weights too, and prints the rate of the fastest number of streams.
void PrintRead(int threads, int64_t megabytes) {
  constexpr size_t kUnit = 8 * 2 * kCacheLine;  // divisible by every number of streams
  const size_t share = static_cast<size_t>(megabytes) * 1000000 / static_cast<size_t>(threads) / kUnit * kUnit;
  const std::shared_ptr<void> memory = kit::AllocateWeights(share * static_cast<size_t>(threads));
  const auto* const data = static_cast<const std::byte*>(memory.get());
  std::memset(memory.get(), 1, share * static_cast<size_t>(threads));
  std::vector<uint64_t> sums(static_cast<size_t>(threads));
  double best = 0;
  for (const ReadLoop read : {ReaderOf<1>(), ReaderOf<2>(), ReaderOf<4>(), ReaderOf<8>()}) {
    best = std::max(best, BestRate(threads, static_cast<double>(share), [&](int t) {
                      sums[static_cast<size_t>(t)] |= read(data + share * static_cast<size_t>(t), share);
                    }));
  }
  std::printf("{\"threads\": %d, \"read_gbs\": %.2f, \"sum\": %llu}\n", threads, best / 1e9,
              static_cast<unsigned long long>(sums[0]));
}

// --- the model

using core::Node;
using core::ValueDef;

// Throws when a dimension isn't known.
std::vector<int64_t> DimsOf(const ValueDef* value) {
  if (value == nullptr || value->type() == nullptr || !value->type()->IsStatic())
    throw std::runtime_error("the shape of '" + (value == nullptr ? "" : value->name()) + "' isn't known");
  std::vector<int64_t> dims;
  for (const core::Dim& dim : *value->type()->shape()) dims.push_back(dim.value);
  return dims;
}
double CountOf(const std::vector<int64_t>& dims, size_t first = 0) {
  double count = 1;
  for (size_t i = first; i < dims.size(); ++i) count *= static_cast<double>(dims[i]);
  return count;
}

bool IsOneOf(const Node& node, std::initializer_list<const char*> names) {
  return std::any_of(names.begin(), names.end(), [&](const char* name) { return node.op_type() == name; });
}

struct QuantizedOp {
  double operations = 0;
  double weight_bytes = 0;
};

// Returns the bytes of the constants from which `value` is made: of the value itself, or of the inputs of a chain of
// nodes that each have one use.
double ConstantBytes(const ValueDef* value) {
  if (value == nullptr) return 0;
  if (const core::ConstantPtr& constant = value->ResolvedConstant()) return static_cast<double>(constant->byte_size());
  const Node* const maker = value->producer();
  if (maker == nullptr || !IsOneOf(*maker, {"DequantizeLinear", "Reshape", "Transpose", "Cast"})) return 0;
  double bytes = 0;
  for (const ValueDef* input : maker->inputs()) bytes += ConstantBytes(input);
  return bytes;
}

bool IsProduct(const Node& node) {
  return IsOneOf(node, {"Conv", "ConvInteger", "QLinearConv", "ConvTranspose", "MatMul", "MatMulInteger",
                        "QLinearMatMul", "Gemm", "MatMulNBits"});
}

void Add(const Node& node, QuantizedOp* work) {
  double operations = 0;
  size_t first_weight = 1;
  if (node.op_type() == "QLinearMatMul") first_weight = 3;
  for (size_t i = first_weight; IsProduct(node) && i < node.inputs().size(); ++i)
    work->weight_bytes += ConstantBytes(node.input(i));
  if (IsOneOf(node, {"Conv", "ConvInteger", "QLinearConv"})) {
    const size_t w = node.op_type() == "QLinearConv" ? 3 : 1;
    operations = 2 * CountOf(DimsOf(node.output(0))) * CountOf(DimsOf(node.input(w)), 1);
  } else if (IsOneOf(node, {"ConvTranspose"})) {
    operations = 2 * CountOf(DimsOf(node.input(0))) * CountOf(DimsOf(node.input(1)), 1);
  } else if (IsOneOf(node, {"MatMul", "MatMulInteger", "QLinearMatMul"})) {
    operations = 2 * CountOf(DimsOf(node.output(0))) * static_cast<double>(DimsOf(node.input(0)).back());
  } else if (IsOneOf(node, {"Gemm"})) {
    const std::vector<int64_t> a = DimsOf(node.input(0));
    operations = 2 * CountOf(DimsOf(node.output(0))) * static_cast<double>(a[node.IntAttribute("transA", 0) ? 0 : 1]);
  } else if (IsOneOf(node, {"MatMulNBits"})) {
    operations = 2 * CountOf(DimsOf(node.input(0))) * static_cast<double>(node.IntAttribute("N", 0));
  } else {
    return;
  }
  work->operations += operations;
}

void PrintModel(const fs::path& path, const fs::path& folder) {
  core::Model model = core::ReadModelFile(path, {});
  const std::vector<core::ValuePtr> inputs = ReadTensorFiles(folder, "input_");
  for (size_t i = 0; i < inputs.size() && i < model.graph->inputs().size(); ++i) {
    core::Shape shape;
    for (const int64_t dim : inputs[i]->dims()) shape.emplace_back(dim);
    model.graph->inputs()[i]->set_type(core::Type::Tensor(inputs[i]->type(), shape));
  }
  core::InferTypes(*model.graph);
  QuantizedOp work;
  int unknown = 0;  // products with shapes known only at run time
  for (const auto& node : model.graph->nodes()) {
    if (node == nullptr) continue;
    try {
      Add(*node, &work);
    } catch (const std::runtime_error&) {
      ++unknown;
    }
  }
  std::printf("{\"gflop\": %.6f, \"weight_mb\": %.4f, \"unknown\": %d}\n", work.operations / 1e9,
              work.weight_bytes / 1e6, unknown);
}

constexpr const char* kUsage =
    "usage: epiphyte_limits_bench machine [--threads N]\n"
    "       epiphyte_limits_bench read --mb MB [--threads N]\n"
    "       epiphyte_limits_bench model MODEL --inputs DIR";

void Run(int argc, char** argv) {
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  const auto option = [&](std::string_view name, const char* otherwise) {
    const auto found = std::find(words.begin(), words.end(), name);
    return found == words.end() || found + 1 == words.end() ? otherwise : (found + 1)->data();
  };
  const int threads = std::max(1, std::atoi(option("--threads", "2")));
  if (!words.empty() && words[0] == "machine") return PrintMachine(threads);
  if (!words.empty() && words[0] == "read") return PrintRead(threads, std::max(1, std::atoi(option("--mb", "1024"))));
  if (words.size() == 4 && words[0] == "model" && words[2] == "--inputs") return PrintModel(words[1], words[3]);
  throw std::invalid_argument(kUsage);
}

}  // namespace
}  // namespace epiphyte::test

int main(int argc, char** argv) {
  try {
    epiphyte::test::Run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "epiphyte_limits_bench: %s\n", error.what());
    return 1;
  }
  return 0;
}
