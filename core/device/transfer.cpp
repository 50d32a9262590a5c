#include "core/device/transfer.h"

#include <cstring>

#include "core/base/error.h"
#include "core/device/device_stream.h"

namespace epiphyte::core {
namespace {

// One end of a copy: host memory at `data`, or a buffer that only its plugin can reach.
struct End {
  DeviceAllocation* piece = nullptr;  // null if the memory is not a plugin's
  char* data = nullptr;               // null if there is no host address
};

End EndOf(const Value& value) {
  End end;
  end.piece = PieceOf(value);
  if (end.piece == nullptr) {
    RequireOnHost(value, "a tensor that no device of this environment has");
    end.data = static_cast<char*>(const_cast<void*>(value.data()));
  } else {
    end.piece->RequireAlive("a tensor to be copied");
    end.data = static_cast<char*>(end.piece->Map());
  }
  return end;
}

const LoadedPlugin& PluginOf(const DeviceAllocation& piece) { return piece.pool()->plugin(); }

PluginDevice& DeviceOf(const DeviceAllocation& piece, Devices& devices) {
  PluginDevice* device = devices.Find(PluginOf(piece), piece.device());
  if (device == nullptr) {
    Fail(StatusCode::kInvalidArgument, "a tensor is in the memory of provider '{}', which has none here",
         PluginOf(piece).name);
  }
  return *device;
}

EpCopyEnd ToAbi(const End& end, bool as_buffer) {
  if (!as_buffer) return {nullptr, end.data, 0};
  return {end.piece->buffer(), nullptr, end.piece->offset()};
}

// Copies on the device of `at`, which is one of the two ends.
void CopyOn(const DeviceAllocation& at, const End& from, const End& to, uint64_t bytes, Devices& devices) {
  const auto is_its = [&](const End& end) { return end.piece != nullptr && &PluginOf(*end.piece) == &PluginOf(at); };
  const EpCopy copy{ToAbi(from, is_its(from)), ToAbi(to, is_its(to)), bytes};
  DeviceStream stream(DeviceOf(at, devices));
  try {
    stream.Copy({&copy, 1});
    stream.Synchronize(stream.Signal());
  } catch (...) {
    stream.Drain();
    throw;
  }
}

}  // namespace

DeviceAllocation* PieceOf(const Value& value) {
  return value.IsOnDevice() ? dynamic_cast<DeviceAllocation*>(value.storage().get()) : nullptr;
}

ValuePtr ToHost(const ValuePtr& value, Devices& devices, MemoryBudget* budget) {
  if (!value || !value->IsOnDevice()) return value;
  ValuePtr copy = Value::Tensor(value->type(), value->dims(), budget);
  CopyValue(*value, *copy, devices);
  return copy;
}

ValuePtr ToDevice(const Value& value, DeviceMemory& memory, Devices& devices,
                  const std::shared_ptr<DeviceAccount>& account, std::string_view what) {
  if (!value.IsTensor() || value.type() == DataType::kString) {
    Fail(StatusCode::kInvalidArgument, "{} is no tensor of numbers, so it can't be in a device's memory", what);
  }
  ValuePtr copy = Value::OnDevice(value.type(), value.dims(), memory.Take(value.byte_size(), account, what));
  CopyValue(value, *copy, devices);
  return copy;
}

void CopyValue(const Value& from, Value& to, Devices& devices) {
  if (!from.IsTensor() || !to.IsTensor() || from.type() == DataType::kString || to.type() == DataType::kString ||
      from.byte_size() != to.byte_size()) {
    Fail(StatusCode::kInvalidArgument, "two tensors of numbers of one size expected, {} and {} bytes were given",
         from.IsTensor() ? from.byte_size() : 0, to.IsTensor() ? to.byte_size() : 0);
  }
  const uint64_t bytes = from.byte_size();
  if (bytes == 0) return;
  const End source = EndOf(from);
  const End target = EndOf(to);
  if (source.data != nullptr && target.data != nullptr) {
    std::memmove(target.data, source.data, bytes);
    return;
  }
  const bool same_place = source.piece != nullptr && target.piece != nullptr &&
                          source.piece->buffer() == target.piece->buffer() &&
                          &PluginOf(*source.piece) == &PluginOf(*target.piece);
  if (same_place && source.piece->offset() == target.piece->offset()) return;
  const bool between_plugins =
      source.data == nullptr && target.data == nullptr && &PluginOf(*source.piece) != &PluginOf(*target.piece);
  if (!between_plugins) {
    CopyOn(source.data == nullptr ? *source.piece : *target.piece, source, target, bytes, devices);
    return;
  }
  const int64_t count = static_cast<int64_t>(bytes);
  const ValuePtr between = Value::Tensor(DataType::kUint8, {&count, 1});
  CopyValue(from, *between, devices);
  CopyValue(*between, to, devices);
}

}  // namespace epiphyte::core
