// DeviceRun: the part of an Execute that only a kernel on a device has: buffers for its values, which are filled before
// and guarded at both ends, and the stream to which it submits.
//
//   DeviceRun on_device(devices, stream, places, inputs, declared, {});
//   DebugRun run(inputs, declared, 0xCD, &on_device);
//   …Execute…
//   on_device.Finish(succeeded);         // the work is done, outputs are back
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/abi/kernel_places.h"
#include "host/conformance/graphs/graph_spec.h"
#include "host/conformance/graphs/tensor.h"
#include "host/conformance/memory/lent_memory.h"
#include "host/conformance/plugin/plugin_devices.h"

namespace epiphyte::conformance {

class DeviceRun {
 public:
  struct Setting {
    size_t input_memory = 0;   // index into the memories that the kernel names for a value, modulo their number
    size_t output_memory = 0;  // the same for outputs
    bool aliases = false;      // true: an output gets the memory of the input that the kernel names for it
    unsigned char fill = 0xCD;
  };
  // Location of a tensor, as in a view.
  struct Piece {
    EpBuffer* buffer;
    uint32_t device;
    uint32_t memory;
    uint64_t offset;
  };
  // Memory for an output: on the device, the host memory of an input, or new host memory.
  struct Room {
    const Piece* piece = nullptr;
    int input = -1;
  };

  DeviceRun(PluginDevices& devices, Stream& stream, const core::KernelPlaces& places, const std::vector<Tensor>& inputs,
            const std::vector<ValueSpec>& declared, Setting setting);
  DeviceRun(const DeviceRun&) = delete;
  DeviceRun& operator=(const DeviceRun&) = delete;

  Stream& stream() const { return stream_; }
  bool async() const { return places_.async; }
  // Returns null for an input in host memory.
  const Piece* Input(size_t index) const;
  const Tensor& given(size_t input) const { return given_[input]; }
  // Returns whether the input is in host memory and the plugin may get that memory for an output.
  bool MayBeOverwritten(size_t input) const;
  Room RoomFor(uint32_t output, uint64_t bytes);
  // Takes over a buffer of the plugin for an output.
  EpStatus* Adopt(uint32_t output, uint64_t bytes, uint32_t memory, EpBuffer* buffer, uint64_t size, uint64_t offset);

  // Waits until all submitted work is done. Afterwards the stream has no work, even if it failed.
  DebugHost::Failure Finish(bool succeeded);
  // Returns the bytes of an output on the device. Call after Finish.
  std::vector<std::byte> Output(uint32_t output, uint64_t bytes) const;
  bool has_adopted() const { return has_adopted_; }
  bool has_aliased() const { return has_aliased_; }

 private:
  struct Slot {
    std::unique_ptr<Buffer> buffer;  // null: the value is not on the device
    Piece piece = {};
    uint64_t size = 0;                     // size of the value, which begins at piece.offset
    std::unique_ptr<LentMemory> sent;      // contents of the whole buffer before; null: unknown
    std::unique_ptr<LentMemory> received;  // contents of the whole buffer after the run
  };
  Slot Make(uint32_t memory, uint64_t bytes);
  void Send(Slot& slot, std::span<const std::byte> bytes, unsigned char fill, std::vector<EpCopy>* copies);
  bool CanAlias(size_t output, size_t input) const;
  void Compare() const;
  bool SameAround(const Slot& slot) const;

  PluginDevices& devices_;
  Stream& stream_;
  const core::KernelPlaces places_;
  const Setting setting_;
  std::vector<Tensor> given_;
  std::vector<Slot> inputs_;
  std::vector<Slot> outputs_;
  std::vector<Slot> unused_;  // slots of outputs for which the kernel supplied its own buffer
  std::vector<int> aliased_;  // for each output, the input that shares its memory, or -1
  bool has_adopted_ = false;
  bool has_aliased_ = false;
};

}  // namespace epiphyte::conformance
