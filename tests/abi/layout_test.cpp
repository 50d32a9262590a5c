// The layout of every ABI struct is compared with a table in the repository: a field may be appended, never moved,
// resized or removed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "epiphyte/draft/ep_device.h"
#include "epiphyte/draft/ep_explain.h"
#include "epiphyte/ep_onnx.h"
#include "epiphyte/ep_options.h"
#include "epiphyte/ep_plugin.h"
#include "epiphyte/ep_profile.h"
#include "epiphyte/ep_run_limits.h"
#include "epiphyte/ep_schema.h"
#include "epiphyte/ep_share.h"

namespace {

struct Field {
  std::string name;
  size_t offset;
  size_t size;
};

struct Layout {
  std::string name;
  size_t size = 0;
  std::vector<Field> fields;
};

std::vector<Layout> Compiled() {
  std::vector<Layout> layouts;
#define EP_STRUCT(type) layouts.push_back({#type, sizeof(type), {}});
#define EP_FIELD(type, field) layouts.back().fields.push_back({#field, offsetof(type, field), sizeof(type::field)});
#define EP_STRUCT_END(type, last_field)
#include "abi_fields.inc"  // made from the headers by abi_fields.sh
#undef EP_STRUCT
#undef EP_FIELD
#undef EP_STRUCT_END
  return layouts;
}

std::string GoldenPath() { return std::string(EPIPHYTE_SOURCE_DIR) + "/tests/abi/layout_lp64.txt"; }

std::vector<Layout> Golden() {
  std::vector<Layout> layouts;
  std::ifstream file(GoldenPath());
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string name;
    size_t offset = 0;
    size_t size = 0;
    words >> name >> offset >> size;
    size_t dot = name.find('.');
    if (dot == std::string::npos) {
      layouts.push_back({name, offset, {}});
    } else {
      layouts.back().fields.push_back({name.substr(dot + 1), offset, size});
    }
  }
  return layouts;
}

// Structs keep their order; new ones are appended.
void WriteGolden(std::vector<Layout> layouts) {
  const std::vector<Layout> golden = Golden();
  std::ranges::stable_sort(layouts, {}, [&](const Layout& layout) {
    return std::ranges::find(golden, layout.name, &Layout::name) - golden.begin();
  });
  std::ofstream file(GoldenPath());
  file << "# Layout of the C ABI on LP64: a struct and its size, then each field with offset and size. Lines are "
          "added, not changed.\n";
  for (const Layout& layout : layouts) {
    file << layout.name << ' ' << layout.size << '\n';
    for (const Field& field : layout.fields) {
      file << layout.name << '.' << field.name << ' ' << field.offset << ' ' << field.size << '\n';
    }
  }
}

TEST(AbiLayout, FieldsNeverMoveAndStructsOnlyGrow) {
  if (std::getenv("EPIPHYTE_WRITE_GOLDEN") != nullptr) WriteGolden(Compiled());
  std::map<std::string, Layout> compiled;
  for (const Layout& layout : Compiled()) compiled[layout.name] = layout;
  std::vector<Layout> golden = Golden();
  ASSERT_GT(golden.size(), 20u) << GoldenPath() << " is missing or empty";
  for (const Layout& expected : golden) {
    ASSERT_TRUE(compiled.contains(expected.name)) << expected.name << " was removed from the ABI";
    const Layout& found = compiled[expected.name];
    ASSERT_GE(found.fields.size(), expected.fields.size()) << expected.name << " lost a field";
    EXPECT_GE(found.size, expected.size) << expected.name << " shrank";
    for (size_t i = 0; i < expected.fields.size(); ++i) {
      EXPECT_EQ(found.fields[i].name, expected.fields[i].name) << expected.name << " field " << i;
      EXPECT_EQ(found.fields[i].offset, expected.fields[i].offset) << expected.name << '.' << expected.fields[i].name;
      EXPECT_EQ(found.fields[i].size, expected.fields[i].size) << expected.name << '.' << expected.fields[i].name;
    }
  }
  EXPECT_EQ(golden.size(), compiled.size()) << "a struct is not in the table yet: run with EPIPHYTE_WRITE_GOLDEN=1";
}

TEST(AbiLayout, EveryFieldIsInTheGoldenTable) {
  std::map<std::string, std::vector<std::string>> compiled, golden;
  for (const Layout& layout : Compiled())
    for (const Field& field : layout.fields) compiled[layout.name].push_back(field.name);
  for (const Layout& layout : Golden())
    for (const Field& field : layout.fields) golden[layout.name].push_back(field.name);
  EXPECT_EQ(compiled, golden) << "a field is not in the table yet: run with EPIPHYTE_WRITE_GOLDEN=1";
}

TEST(AbiLayout, FieldListIsComplete) {
  // A field that abi_fields.sh missed would leave a gap of 8 bytes or more, or more than padding at the end.
  for (const Layout& layout : Compiled()) {
    size_t end = 0;
    for (const Field& field : layout.fields) {
      EXPECT_LT(field.offset - end, 8u) << layout.name << " before " << field.name;
      end = field.offset + field.size;
    }
    EXPECT_LT(layout.size - end, 8u) << layout.name << " after its last listed field";
  }
}

TEST(AbiLayout, EveryTableAndInfoStructBeginsWithItsSize) {
  // Plugins and hosts pass arrays of these structs, so their stride must never change.
  const std::set<std::string> frozen = {"EpString", "EpKeyValue", "EpCopyEnd", "EpCopy"};
  for (const Layout& layout : Compiled()) {
    if (frozen.contains(layout.name)) continue;
    ASSERT_FALSE(layout.fields.empty());
    EXPECT_EQ(layout.fields[0].name, "struct_size") << layout.name;
    EXPECT_EQ(layout.fields[0].size, 4u) << layout.name;
  }
}

TEST(AbiLayout, ElementTypesAndStatusCodesKeepTheirNumbers) {
  EXPECT_EQ(EP_TYPE_FLOAT, 1);
  EXPECT_EQ(EP_TYPE_STRING, 8);
  EXPECT_EQ(EP_TYPE_BFLOAT16, 16);
  EXPECT_EQ(EP_TYPE_INT4, 22);
  EXPECT_EQ(EP_STATUS_FAIL, 1);
  EXPECT_EQ(EP_STATUS_INVALID_ARGUMENT, 2);
  EXPECT_EQ(EP_STATUS_NO_SUCHFILE, 3);
  EXPECT_EQ(EP_STATUS_INVALID_PROTOBUF, 7);
  EXPECT_EQ(EP_STATUS_NOT_IMPLEMENTED, 9);
  EXPECT_EQ(EP_STATUS_INVALID_GRAPH, 10);
  EXPECT_EQ(EP_STATUS_EP_FAIL, 11);
  EXPECT_EQ(EP_CONTEXT_OPTIMAL, 1u);
  EXPECT_EQ(EP_CONTEXT_UNSUPPORTED, 3u);
  EXPECT_EQ(EP_ATTRIBUTE_GRAPHS, 10);
}

}  // namespace
