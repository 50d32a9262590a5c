#include "plugins/cpu/onednn/threading.h"

#include <dlfcn.h>

#include <atomic>
#include <string_view>

#include "plugins/cpu/onednn/compat.h"

namespace epiphyte::cpu {
namespace {

// Set once when oneDNN is bound to the program's own libgomp.
std::atomic<void (*)(int)> set_gomp_threads{nullptr};

}  // namespace

const char* BindOneDnnThreads() {
  // Making a descriptor queries the number of threads.
  const uint64_t before = EpiphyteOmpProbe();
  const int64_t dims[] = {64, 64};
  const MemoryDesc any = AnyDesc(EP_TYPE_FLOAT, dims);
  InnerProductDesc(any, any, nullptr, any, UserScratchpad());
  if (EpiphyteOmpProbe() != before) return nullptr;
  set_gomp_threads = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
  return "this program has an OpenMP runtime of its own, so oneDNN uses its threads beside the host's";
}

OneDnnThreads::OneDnnThreads(const kit::Threads& threads)
    : before_(EpiphyteOmpSetTeam({threads.services, threads.pool, threads.wanted <= 1 ? 1u : 0u, 0})) {
  if (auto* set = set_gomp_threads.load(std::memory_order_relaxed)) set(static_cast<int>(threads.Count()));
}

// oneDNN uses barriers in GEMMs by its own gemm code, which may divide a sum among threads, in recurrent networks, and
// in the computation of statistics. Its other generated code has none: a divided sum is combined in a second region.
bool MembersAreIndependent(const dnnl::primitive& primitive) {
  switch (primitive.get_kind()) {
    case dnnl::primitive::kind::batch_normalization:
    case dnnl::primitive::kind::inner_product:
    case dnnl::primitive::kind::rnn: return false;
    default: break;
  }
  const char* name = nullptr;
  if (dnnl_primitive_desc_query(primitive.get_primitive_desc(), dnnl_query_impl_info_str, 0, &name) != dnnl_success ||
      name == nullptr)
    return false;
  const std::string_view implementation = name;  // "brgconv:avx512_core", "jit:uni", "gemm:jit", …
  return implementation.starts_with("brg") || implementation.starts_with("jit");
}

}  // namespace epiphyte::cpu
