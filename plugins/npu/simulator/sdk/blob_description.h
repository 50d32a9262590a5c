// NsdkBlobInfo with all the memory that it points to.
#pragma once

#include "nsdk.h"
#include "plugins/npu/simulator/blob/blob.h"

namespace epiphyte::npusim {

// `blob` is a result of ReadDescription. The caller owns the description until ReleaseBlobInfo. Nothing in it points
// into the blob's bytes.
const NsdkBlobInfo* DescribeBlob(Blob blob);
void ReleaseBlobInfo(const NsdkBlobInfo* info);

}  // namespace epiphyte::npusim
