#include "epiphyte/kit/shape/depth_space.hpp"

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/shape/arithmetic.hpp"

namespace epiphyte::kit {

int64_t CheckedBlockSize(int64_t size) {
  if (size < 1 || size > INT32_MAX) FailArgument("blocksize ", size, " found, at least 1 expected");
  return size;
}

BlockMove DepthToSpaceMove(const Dims& x, int64_t block, bool depth_first) {
  CheckedBlockSize(block);
  const int64_t square = block * block;
  if (x.size() != 4 || x[1] % square != 0)
    FailArgument("input of shape ", ShapeText(x), " found, rank 4 and a multiple of ", square, " channels expected");
  const int64_t n = x[0], c = x[1] / square, h = x[2], w = x[3];
  BlockMove move;
  move.split = depth_first ? Dims{n, block, block, c, h, w} : Dims{n, c, block, block, h, w};
  move.order = depth_first ? Dims{0, 3, 4, 1, 5, 2} : Dims{0, 1, 4, 2, 5, 3};
  move.dims = {n, c, CheckedMultiply(h, block), CheckedMultiply(w, block)};
  CheckedCount(move.dims);
  return move;
}

BlockMove SpaceToDepthMove(const Dims& x, int64_t block) {
  CheckedBlockSize(block);
  if (x.size() != 4 || x[2] % block != 0 || x[3] % block != 0)
    FailArgument("input of shape ", ShapeText(x), " found, rank 4 and height and width that are multiples of ", block,
                 " expected");
  const int64_t n = x[0], c = x[1], h = x[2] / block, w = x[3] / block;
  BlockMove move;
  move.split = {n, c, h, block, w, block};
  move.order = {0, 3, 5, 1, 2, 4};
  move.dims = {n, CheckedMultiply(c, block * block), h, w};
  CheckedCount(move.dims);
  return move;
}

}  // namespace epiphyte::kit
