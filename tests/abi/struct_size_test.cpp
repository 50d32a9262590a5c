// struct_size works in both directions. The host fills no more than the plugin has room for, and reports how far it
// filled. It refuses a struct that is too short.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "core/abi/host_tables.h"
#include "core/base/abi_fill.h"
#include "core/graph/graph.h"

namespace epiphyte::core {
namespace {

using testing::HasSubstr;

std::string MessageOf(EpStatus* status) {
  if (status == nullptr) return "";
  EXPECT_EQ(HostInfo()->status->GetCode(status), EP_STATUS_INVALID_ARGUMENT);
  std::string message = HostInfo()->status->GetMessage(status);
  HostInfo()->status->Release(status);
  return message;
}

// An info struct as a plugin of a later ABI declares it.
struct LaterGraphInfo {
  EpGraphInfo known;
  uint64_t later;
};

TEST(StructSize, IsLoweredToWhatTheHostFilled) {
  Graph graph("g");
  graph.Finalize();
  LaterGraphInfo info;
  std::memset(&info, 0x5A, sizeof info);
  info.known.struct_size = sizeof info;
  EXPECT_EQ(MessageOf(HostInfo()->graph->GetGraphInfo(ToAbi(&graph), &info.known)), "");
  EXPECT_EQ(info.known.struct_size, sizeof(EpGraphInfo));
  EXPECT_STREQ(info.known.name, "g");
  EXPECT_EQ(info.later, 0x5A5A5A5A5A5A5A5Au) << "what the host doesn't know it leaves alone";
}

TEST(StructSize, TooLittleRoomIsRefusedAndNothingIsFilled) {
  Graph graph("g");
  graph.Finalize();
  for (const uint32_t room : {0u, 4u, static_cast<uint32_t>(sizeof(EpGraphInfo)) - 1}) {
    EpGraphInfo info = {};
    info.struct_size = room;
    EXPECT_THAT(MessageOf(HostInfo()->graph->GetGraphInfo(ToAbi(&graph), &info)),
                HasSubstr("set it to sizeof(EpGraphInfo)"));
    EXPECT_EQ(info.struct_size, room);
    EXPECT_EQ(info.name, nullptr);
  }
}

TEST(StructSize, OfAPluginsStructIsCheckedWithWhatItReserves) {
  EpContextNodeDesc node = {};
  EXPECT_THAT(AbiProblem(node), HasSubstr("EpContextNodeDesc::struct_size is 0, at least "));
  node.struct_size = sizeof node;
  EXPECT_EQ(AbiProblem(node), "");
  node.struct_size += 64;
  EXPECT_EQ(AbiProblem(node), "") << "of a later ABI";
  node.reserved = 3;
  EXPECT_THAT(AbiProblem(node), HasSubstr("EpContextNodeDesc::reserved is 3, 0 expected"));
  node.struct_size = UINT32_MAX;
  EXPECT_THAT(AbiProblem(node), HasSubstr("at most 65536 expected"));
}

}  // namespace
}  // namespace epiphyte::core
