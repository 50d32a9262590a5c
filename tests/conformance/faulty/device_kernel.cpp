// Kernels of the faulty plugin that run on its device.
#include "tests/conformance/faulty/device.h"

namespace {

// Location of a tensor, for work that runs after its view has been destroyed.
struct Where {
  explicit Where(const EpTensorView& view)
      : buffer(view.buffer), offset(view.offset), data(static_cast<std::byte*>(const_cast<void*>(view.data))) {}
  Where(EpBuffer* buffer, uint64_t offset) : buffer(buffer), offset(offset) {}
  float* address() const { return reinterpret_cast<float*>(buffer == nullptr ? data : AddressOf(buffer) + offset); }

  EpBuffer* buffer;
  uint64_t offset;
  std::byte* data = nullptr;
};

EpStatus* MakeOutput(const EpDeviceRunApi* device, EpRun* run, const EpTensorView& x, Where* where) {
  const bool foreign = Has("1270_adopts_an_input") && x.buffer != nullptr;
  if (!foreign && !Has("1271_adopts_too_little") && !Has("device_adopts")) {
    const EpTensorView* y = nullptr;
    if (EpStatus* status = device->AllocateOutput(run, 0, EP_TYPE_FLOAT, x.dims, x.rank, &y)) return status;
    *where = Where(*y);
    return nullptr;
  }
  const uint64_t size = x.byte_size + 256;
  EpBuffer* buffer = foreign ? x.buffer : AllocateBuffer(size);
  *where = Where(buffer, foreign ? x.offset : 256);
  return device->AdoptOutput(run, 0, EP_TYPE_FLOAT, x.dims, x.rank, 0, buffer,
                             Has("1271_adopts_too_little") ? 256 : size, where->offset);
}

}  // namespace

EpStatus* EP_CALL DescribeKernel(EpKernel* kernel, EpKernelInfo* info) {
  info->struct_size = sizeof(*info);
  if (!IsOnDevice()) return nullptr;
  kernel->memories[0] = kernel->memories[1] = EP_MEMORIES_HOST | 2 | 4;
  kernel->alias = 0;
  if (Has("1264_memory_seven")) kernel->memories[1] |= 1u << 8;
  if (Has("1265_alias_99")) kernel->alias = 99;
  info->flags = EP_KERNEL_ASYNC;
  info->device = Has("1262_device_nine") ? 9 : 0;
  info->input_count = Has("1263_three_inputs") ? 3 : 1;
  info->output_count = 1;
  info->reserved = Has("1263_reserved") ? 1 : 0;
  info->input_memories = &kernel->memories[0];
  info->output_memories = &kernel->memories[1];
  info->output_aliases = &kernel->alias;
  return nullptr;
}

EpStatus* ExecuteOnDevice(EpKernel* kernel, EpRun* run) {
  const EpHostInfo* host = kernel->provider->plugin->host;
  const auto* device = static_cast<const EpDeviceRunApi*>(host->GetExtension(host, EP_DEVICE_EXTENSION));
  EpRunInfo info = {};
  info.struct_size = sizeof(info);
  if (EpStatus* status = host->run->GetInfo(run, &info)) return status;
  EpStream* stream = nullptr;
  if (EpStatus* status = device->GetStream(run, &stream)) return status;
  const EpTensorView& x = *info.inputs[0]->tensor;
  const Where from(x);
  Where to(nullptr, 0);
  if (EpStatus* status = MakeOutput(device, run, x, &to)) return status;
  if (Has("1266_arrays_change")) kernel->memories[0] = 2;
  const bool wrong = Has("1267_wrong_in_shared") && x.buffer != nullptr && x.memory == 1;
  const size_t count = x.element_count;
  Submit(stream, [kernel, from, to, count, wrong] {
    static const volatile float* kept = nullptr;
    if (Has("1268_works_after_its_point") && kept != nullptr) (void)*kept;
    if (from.buffer == nullptr && count != 0) kept = from.address();
    if (Has("1269_overwrites_its_input")) std::memset(to.address(), 0, count * sizeof(float));
    Compute(kernel->program, {from.address(), count}, to.address());
    if (wrong && count != 0) to.address()[0] += 1;
  });
  return nullptr;
}
