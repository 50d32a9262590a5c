// The device of the faulty plugin, and the kernels on it. The plugin has a device only if EPIPHYTE_FAULT names a rule
// from 1201 on, "device" or "device_adopts". With "device_adopts" the kernels supply the buffers of their outputs.
#pragma once

#include <cstddef>
#include <functional>

#include "epiphyte/draft/ep_device.h"
#include "tests/conformance/faulty/faulty.h"

const EpDeviceApi* DeviceTable();

void Submit(EpStream* stream, std::function<void()> work);
EpBuffer* AllocateBuffer(uint64_t size);
std::byte* AddressOf(EpBuffer* buffer);
// Sets all bytes of all buffers to zero.
void WipeBuffers();

EpStatus* EP_CALL DescribeKernel(EpKernel* kernel, EpKernelInfo* info);
EpStatus* ExecuteOnDevice(EpKernel* kernel, EpRun* run);
