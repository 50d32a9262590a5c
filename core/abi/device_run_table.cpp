// The table of ep_device.h that kernels on devices use during Execute.
#include "core/abi/handles.h"
#include "core/abi/run_checks.h"

namespace epiphyte::core {
namespace {

// Throws INVALID_ARGUMENT for a run with a kernel that is on no device.
Submission& OnDevice(const EpRun* run) {
  if (run == nullptr) NullRunArgument();
  if (run->submission == nullptr || run->submission->stream == nullptr) {
    Fail(StatusCode::kInvalidArgument,
         "the kernel is on no device: its DescribeKernel names no memories and doesn't say ASYNC; let it, or use "
         "EpRunApi");
  }
  return *run->submission;
}

EpStatus* EP_CALL GetStream(EpRun* run, EpStream** stream) {
  return Guard([&] {
    const Submission& submission = OnDevice(run);
    if (stream == nullptr) NullRunArgument();
    *stream = submission.stream;
  });
}

EpStatus* EP_CALL AllocateOutput(EpRun* run, uint32_t index, EpElementType element_type, const int64_t* dims,
                                 uint32_t rank, const EpTensorView** output) {
  return Guard([&] {
    const Submission& submission = OnDevice(run);
    if (output == nullptr) NullRunArgument();
    CheckIndex(*run, index);
    CheckShape(dims, rank);
    CheckNumbers(element_type, dims, rank);
    ValuePtr value = submission.outputs->Make(index, static_cast<DataType>(element_type), {dims, rank});
    // The value owns this view and stays in the run's outputs until Execute has returned.
    *output = value->abi()->tensor;
    run->outputs[index] = std::move(value);
  });
}

EpStatus* EP_CALL AdoptOutput(EpRun* run, uint32_t index, EpElementType element_type, const int64_t* dims,
                              uint32_t rank, uint32_t memory, EpBuffer* buffer, uint64_t size, uint64_t offset) {
  return Guard([&] {
    const Submission& submission = OnDevice(run);
    if (buffer == nullptr) NullRunArgument();
    CheckIndex(*run, index);
    CheckShape(dims, rank);
    const uint64_t needed = CheckNumbers(element_type, dims, rank);
    // Checked before the host takes the buffer over: a refused buffer stays the plugin's.
    if (offset > size || needed > size - offset) {
      Fail(StatusCode::kInvalidArgument,
           "AdoptOutput was given a buffer of {} bytes for output {}, which begins at {} and needs {} bytes", size,
           index, offset, needed);
    }
    run->outputs[index] = submission.outputs->Adopt(index, static_cast<DataType>(element_type), {dims, rank}, memory,
                                                    buffer, size, offset);
  });
}

}  // namespace

const EpDeviceRunApi kDeviceRunApi = {sizeof(EpDeviceRunApi), 0, GetStream, AllocateOutput, AdoptOutput};

}  // namespace epiphyte::core
