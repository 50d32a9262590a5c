#include "core/base/cpu_count.h"

#include <algorithm>
#include <thread>

#if defined(__linux__)
#include <sched.h>

#include <fstream>
#include <set>
#include <string>
#include <vector>
#endif

namespace epiphyte::core {

#if defined(__linux__)
namespace {

// The processors of the affinity mask. The size of the mask is unknown; the kernel refuses a buffer that is too small.
std::vector<int> AffinityMask() {
  constexpr int kMostCpus = 1 << 16;
  for (int capacity = 1024; capacity <= kMostCpus; capacity *= 2) {
    std::vector<cpu_set_t> mask((CPU_ALLOC_SIZE(capacity) + sizeof(cpu_set_t) - 1) / sizeof(cpu_set_t));
    const size_t bytes = mask.size() * sizeof(cpu_set_t);
    if (sched_getaffinity(0, bytes, mask.data()) != 0) continue;
    std::vector<int> cpus;
    for (int cpu = 0; cpu < capacity; ++cpu) {
      if (CPU_ISSET_S(cpu, bytes, mask.data())) cpus.push_back(cpu);
    }
    return cpus;
  }
  return {};
}

// A text that is equal for all hardware threads of one core and differs between cores.
std::string CoreOf(int cpu) {
  const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
  for (const char* name : {"core_cpus_list", "thread_siblings_list"}) {
    std::string siblings;
    if (std::getline(std::ifstream(folder + name), siblings) && !siblings.empty()) return siblings;
  }
  return "cpu" + std::to_string(cpu);
}

}  // namespace

CpuCount UsableCpus() {
  const std::vector<int> cpus = AffinityMask();
  std::set<std::string> cores;
  for (const int cpu : cpus) cores.insert(CoreOf(cpu));
  if (cpus.empty()) {
    const uint32_t count = std::max(1u, std::thread::hardware_concurrency());
    return {count, count};
  }
  return {static_cast<uint32_t>(cpus.size()), static_cast<uint32_t>(cores.size())};
}
#else
CpuCount UsableCpus() {
  const uint32_t count = std::max(1u, std::thread::hardware_concurrency());
  return {count, count};
}
#endif

}  // namespace epiphyte::core
