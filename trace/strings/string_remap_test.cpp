#include "trace/strings/string_table.h"

#include <gmock/gmock.h>

namespace pipetrace {
namespace {

TEST(StringRemapTest, NewStringsAreAddedAndSharedOnesKeepTheirId) {
  StringTable from;
  StringTable to;
  const StringId shared = to.intern("forward");
  const StringId own = from.intern("loss");
  const StringId sharedInPart = from.intern("forward");
  ASSERT_NE(sharedInPart, shared);
  StringRemap remap;
  remap.grow(from, to);
  EXPECT_EQ(remap[0], 0U);
  EXPECT_EQ(remap[sharedInPart], shared);
  EXPECT_EQ(to[remap[own]], "loss");
  EXPECT_EQ(to.size(), 3U);
  EXPECT_FALSE(remap.isIdentity());
}

TEST(StringRemapTest, StringsThatComeLaterAreAddedByTheNextCall) {
  StringTable from;
  StringTable to;
  to.intern("first of the other table");
  StringRemap remap;
  const StringId first = from.intern("first");
  remap.grow(from, to);
  const StringId knownId = remap[first];
  to.intern("added to the other table meanwhile");
  const StringId second = from.intern("second");
  remap.grow(from, to);
  EXPECT_EQ(remap[first], knownId);
  EXPECT_EQ(to[remap[second]], "second");
}

TEST(StringRemapTest, TablesWithTheSameStringsInTheSameOrderHaveTheSameIds) {
  StringTable from;
  StringTable to;
  StringRemap remap;
  for (const char* text : {"forward", "backward"}) from.intern(text);
  remap.grow(from, to);
  EXPECT_TRUE(remap.isIdentity());
  to.intern("only there");
  remap.grow(from, to);
  EXPECT_TRUE(remap.isIdentity());
  from.intern("only here");
  remap.grow(from, to);
  EXPECT_FALSE(remap.isIdentity());
}

}  // namespace
}  // namespace pipetrace
