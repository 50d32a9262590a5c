// NsdkBlobInfo with all that it points to.
#pragma once

#include "nsdk.h"
#include "plugins/npu/simulator/blob/blob.h"

namespace epiphyte::npusim {

// blob: as ReadDescription gives it. Owned by the caller until ReleaseBlobInfo; nothing of it points into the blob's
// bytes.
const NsdkBlobInfo* DescribeBlob(Blob blob);
void ReleaseBlobInfo(const NsdkBlobInfo* info);

}  // namespace epiphyte::npusim
