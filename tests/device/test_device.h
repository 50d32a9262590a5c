// The test device is a plugin with memory of its own. The host can't dereference its buffer handles. One thread for
// each device does the work later. Waits between streams, losses, failures and memory shortage occur when a test asks
// for them, and everything is counted.
//
// The library `epiphyte_test_device.so` serves the manifests "test_device" and "test_device_b", which are two plugins
// with two devices each ("test 0", "test 1"). Memories of a device: 0 "arena", LOCAL, exports and imports OPAQUE_FD; 1
// "shared", MAPPABLE, imports HOST_POINTER and OPAQUE_FD. Offsets are aligned to 256 bytes. A kernel's intermediate
// values are the plugin's own and are not counted.
//
//   TestDeviceControl& control = TestDevice();          // of the library in this process
//   control.Reset();
//   control.delay_us[0] = 20000;
//   … run sessions with provider "test_device" …
//   EXPECT_EQ(control.copied_bytes, 0u);
//
// Options of the provider
//   claims: comma-separated operators; default: all supported ones, which are Add, Sub, Mul, Neg, Relu, Identity,
//           MatMul (of float), and TensorScatter (of float, along the second last axis, as for a KV cache; it writes
//           over its first input if the host allows it)
//   each:   1: every node becomes a partition of its own (default 0)
//   second: comma-separated operators: a partition that starts with one of these runs on the second of the provider's
//           devices (option `device: "0,1"` of the host), all others on the first (default: none)
//   memory: arena, shared, both or host: the memory that kernels declare for inputs and outputs (default arena). With
//           host, no input or output is on the device
//   host_io: 1: kernels accept host memory, too (default 0); TensorScatter always accepts it for its write indices and
//           its update
//   async:  0: the work is done when Execute returns (default 1)
//   aliases: 1: Add, Mul, Neg and Relu may write over their first input (default 0)
//   adopt:  1: the plugin allocates the buffers of outputs itself and passes them to AdoptOutput
//   state:  1: kernels keep values in their states. States detect concurrent use, and use while submitted work still
//           needs them. With the manifest's parameter `states: "0"` kernels have no states
//   exclusive: 1: kernels report EP_KERNEL_EXCLUSIVE; two concurrent Executes of a provider are then a violation
//   fault:  name of a way to misbehave, see kTestDeviceFaults
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

namespace epiphyte::test {

struct TestDeviceSpan {
  int plugin = 0;  // 0 for "test_device", 1 for "test_device_b"
  int device = 0;
  std::string what;  // operators of the program, such as "Add", or "copy"
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

struct TestDeviceControl {
  static constexpr int kDevices = 4;  // index: plugin * 2 + device

  // --- settings of tests
  std::atomic<uint64_t> delay_us[kDevices];  // duration of each kernel's work on the device's thread
  std::atomic<uint64_t> capacity[kDevices];  // size of memory 0 in bytes
  // Number of the submission that fails or loses the device, counted from 0 for the next one; < 0: none. Submissions
  // are Executes and calls of Copy.
  std::atomic<int64_t> fail_in[kDevices];      // that submission fails with EP_FAIL
  std::atomic<int64_t> lose_in[kDevices];      // the device is lost at that submission
  std::atomic<int64_t> hold[kDevices];         // 1: work waits until this is 0 again
  std::atomic<uint32_t> return_on_new_stream;  // 1: a lost device comes back when a stream is created

  // --- counters of the device since Reset; adopted buffers count, too
  std::atomic<uint64_t> allocations, frees, imports, exports, maps, trims;
  std::atomic<uint64_t> copies, copied_bytes, copy_calls;  // number of single copies, their bytes, and calls of Copy
  std::atomic<uint64_t> signals, waits, synchronizes, executes;
  std::atomic<uint64_t> bindings_seen;    // Executes with a binding number other than 0
  std::atomic<uint64_t> bindings_broken;  // binding numbers that came with changed addresses
  std::atomic<uint64_t> violations;       // violations of the ABI by the host, described in `complaints`
  std::atomic<int64_t> live_buffers, live_streams, live_states, live_bytes;  // kept by Reset
  std::mutex mutex;
  std::vector<std::string> complaints;  // guarded by `mutex`
  std::vector<TestDeviceSpan> spans;    // guarded by `mutex`; in the order in which work ended

  // Resets settings and counters. Call it only while no work is pending.
  void Reset() {
    for (int i = 0; i < kDevices; ++i) {
      delay_us[i] = 0;
      capacity[i] = uint64_t{1} << 30;
      fail_in[i] = -1;
      lose_in[i] = -1;
      hold[i] = 0;
    }
    return_on_new_stream = 1;
    for (std::atomic<uint64_t>* count :
         {&allocations, &frees, &imports, &exports, &maps, &trims, &copies, &copied_bytes, &copy_calls, &signals,
          &waits, &synchronizes, &executes, &bindings_seen, &bindings_broken, &violations}) {
      *count = 0;
    }
    const std::lock_guard lock(mutex);
    complaints.clear();
    spans.clear();
  }
};

// Values of the provider's option `fault`.
inline constexpr const char* kTestDeviceFaults[] = {
    "points_go_back",      // Signal gives a smaller point than before
    "point_zero",          // Signal gives 0
    "null_stream",         // CreateStream succeeds without a stream
    "same_stream",         // CreateStream gives the same stream twice
    "null_buffer",         // Allocate succeeds without a buffer
    "same_buffer",         // Allocate gives the same buffer twice
    "adopt_foreign",       // AdoptOutput with a buffer that the host owns
    "adopt_null",          // AdoptOutput with null
    "adopt_short",         // AdoptOutput with a buffer that is too small
    "adopt_other_memory",  // AdoptOutput in a memory that the device doesn't have
    "unknown_memory",      // DescribeKernel names memory 7
    "unknown_device",      // DescribeKernel names device 9
    "bad_alias",           // DescribeKernel names input 99
    "other_type",          // AllocateOutput of the device's table with a type other than the declared one
    "output_missing",      // Execute sets no output
    "output_twice",        // Execute allocates an output twice
    "map_null",            // Map succeeds without an address
    "no_memories",         // GetMemories reports 0 memories
    "many_memories",       // GetMemories reports 4000 memories
    "bad_alignment",       // GetMemories reports an alignment of 3
    "throws",              // Copy throws a C++ exception
    "status_of_other",     // Signal returns a status that it has released already
};
// "no_memories", "many_memories" and "bad_alignment" are values of the manifest's parameter `fault` instead, because
// the host calls GetMemories before there is a provider.

#ifdef EPIPHYTE_TEST_DEVICE
// Returns the library's control; opens the library if it isn't open yet. EPIPHYTE_TEST_DEVICE is its path.
inline TestDeviceControl& TestDevice() {
  void* library = dlopen(EPIPHYTE_TEST_DEVICE, RTLD_NOW | RTLD_LOCAL);
  void* control = library == nullptr ? nullptr : dlsym(library, "EpTestDeviceControl");
  if (control == nullptr) throw std::runtime_error(dlerror());
  return *reinterpret_cast<TestDeviceControl* (*)()>(control)();
}
#endif

}  // namespace epiphyte::test
