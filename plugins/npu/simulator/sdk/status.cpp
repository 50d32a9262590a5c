#include "plugins/npu/simulator/sdk/status.h"

#include <cstddef>
#include <new>

#include "plugins/npu/simulator/blob/blob.h"
#include "plugins/npu/simulator/compiler/compiler.h"

namespace epiphyte::npusim {
namespace {

Failure Make(NsdkStatus status, const char* text) noexcept {
  try {
    return {status, text};
  } catch (...) {
    return {status, {}};
  }
}

}  // namespace

Failure CurrentFailure() noexcept {
  try {
    throw;
  } catch (const SdkError& e) {
    return Make(e.status, e.what());
  } catch (const BlobError& e) {
    return Make(e.kind == BlobError::kCorrupt ? NSDK_CORRUPT : NSDK_INCOMPATIBLE, e.what());
  } catch (const InvalidGraph& e) {
    return Make(NSDK_INVALID_ARGUMENT, e.what());
  } catch (const Unsupported& e) {
    return Make(NSDK_UNSUPPORTED, e.what());
  } catch (const Cancelled& e) {
    return Make(NSDK_CANCELLED, e.what());
  } catch (const std::bad_alloc&) {
    return Make(NSDK_OUT_OF_MEMORY, "there is not enough memory");
  } catch (const std::invalid_argument& e) {
    return Make(NSDK_INVALID_ARGUMENT, e.what());
  } catch (const std::exception& e) {
    return Make(NSDK_INTERNAL, e.what());
  } catch (...) {
    return Make(NSDK_INTERNAL, "an exception of an unknown kind");
  }
}

void WriteReason(NsdkReason* reason, const std::string& text) noexcept {
  constexpr size_t kBegin = offsetof(NsdkReason, text);
  if (reason == nullptr || reason->struct_size <= kBegin) return;
  const size_t room = std::min<size_t>(reason->struct_size - kBegin, sizeof(reason->text)) - 1;
  const size_t size = std::min(room, text.size());
  for (size_t i = 0; i < size; ++i) reason->text[i] = text[i] == '\n' || text[i] == '\0' ? ' ' : text[i];
  reason->text[size] = 0;
}

}  // namespace epiphyte::npusim
