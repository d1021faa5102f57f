#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "tests/layers/layer_table.h"
#include "tests/layers/source_tree.h"

namespace pipetrace::layers {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Rooms = std::map<std::string, std::set<std::string>>;

const LayerTable& realTable() {
  static const LayerTable table = parseLayerTable(architecture());
  return table;
}

/// Checks a made-up file that includes one header.
std::vector<std::string> complaints(const std::string& path, const std::string& header) {
  return checkIncludes(realTable(), path, "#include \"" + header + "\"\n");
}

bool isIn(const std::string& room, const std::string& outer) {
  return room == outer || room.rfind(outer + "/", 0) == 0;
}

/// The format of a room of parser/; "" for one that serves all formats.
std::string formatOf(const std::string& room) {
  if (isIn(room, "parser/foreign/names")) return "";
  for (const char* format : {"chrome", "perfetto", "sqlite", "paddle", "foreign"}) {
    if (isIn(room, std::string("parser/") + format)) return format;
  }
  return isIn(room, "parser/job_log") || isIn(room, "parser/ring") ? "job_log" : "";
}

/// The rooms of a circle, in their order; none where there is no circle. A room and what it lies in
/// may include each other.
std::vector<std::string> circleIn(const Rooms& rooms) {
  std::vector<std::string> path;
  std::set<std::string> done;
  const std::function<bool(const std::string&)> visit = [&](const std::string& room) {
    const auto seen = std::find(path.begin(), path.end(), room);
    if (seen != path.end()) {
      path.erase(path.begin(), seen);
      return true;
    }
    if (!done.insert(room).second) return false;
    path.push_back(room);
    const auto row = rooms.find(room);
    if (row != rooms.end()) {
      for (const std::string& target : row->second) {
        if (!isIn(room, target) && !isIn(target, room) && visit(target)) return true;
      }
    }
    path.pop_back();
    return false;
  };
  for (const auto& [room, allowed] : rooms) {
    if (visit(room)) return path;
  }
  return {};
}

TEST(RoomsTest, EveryRoomOfTheTableHasSources) {
  std::set<std::string> found;
  for (const auto& [folder, allowed] : realTable().mayInclude) {
    for (const SourceFile& source : sourcesIn(folder)) found.insert(roomOf(source.path));
  }
  for (const auto& [room, allowed] : realTable().rooms) {
    EXPECT_EQ(found.count(room), 1U) << room << "/ is in the table, but has no sources";
    for (const std::string& target : allowed) EXPECT_EQ(found.count(target), 1U) << target;
  }
}

TEST(RoomsTest, TheTableAllowsNoIncludeThatNoFileNeeds) {
  Rooms needed;
  for (const auto& [folder, allowed] : realTable().mayInclude) {
    for (const SourceFile& source : sourcesIn(folder)) {
      if (isTest(source.path)) continue;
      for (const std::string& header : ownIncludesOf(source.text)) {
        needed[roomOf(source.path)].insert(roomOf(header));
      }
    }
  }
  for (const auto& [room, allowed] : realTable().rooms) {
    for (const std::string& target : allowed) {
      EXPECT_EQ(needed[room].count(target), 1U) << room << " needs nothing of " << target;
    }
  }
}

TEST(RoomsTest, IncludesBetweenRoomsPointOneWay) {
  EXPECT_THAT(circleIn(realTable().rooms), IsEmpty());
}

TEST(RoomsTest, ACircleOfRoomsIsFound) {
  const Rooms rooms = {{"a/x", {"a", "a/y"}}, {"a/y", {"a/z"}}, {"a/z", {"a/x"}}, {"a", {"a/x"}}};
  EXPECT_THAT(circleIn(rooms), ElementsAre("a/x", "a/y", "a/z"));
  EXPECT_THAT(circleIn({{"a", {"a/x"}}, {"a/x", {"a"}}}), IsEmpty());
}

TEST(RoomsTest, OnlyRoomsOfTestsMayIncludeEveryRoom) {
  for (const std::string& room : realTable().openRooms) {
    EXPECT_TRUE(isTest(room + "/x.cpp")) << room;
  }
}

TEST(RoomsTest, NoFormatMayIncludeAnotherAndNothingBelowTheFormatsMayIncludeOne) {
  for (const auto& [room, allowed] : realTable().rooms) {
    if (room == "parser" || !isIn(room, "parser")) continue;
    for (const std::string& target : allowed) {
      const std::string format = formatOf(target);
      const bool isAllowed = format.empty() || format == formatOf(room) ||
                             (isIn(room, "parser/chrome") && format == "foreign");
      EXPECT_TRUE(isAllowed) << room << " may include " << target;
    }
  }
}

TEST(RoomsTest, AFormatThatIncludesAnotherIsFound) {
  EXPECT_THAT(complaints("parser/perfetto/x.cpp", "parser/chrome/format.h"),
              ElementsAre("parser/perfetto/x.cpp: parser/perfetto/ may not include "
                          "\"parser/chrome/format.h\""));
  for (const char* path :
       {"parser/sqlite/x.h", "parser/paddle/x.h", "parser/job_log/x.h", "parser/ring/x.h",
        "parser/job_log/lines/x.h", "parser/foreign/x.h", "parser/foreign/logs/x.h"}) {
    for (const char* header : {"parser/chrome/event.h", "parser/perfetto/event.h"}) {
      EXPECT_THAT(complaints(path, header), ElementsAre(HasSubstr("may not"))) << path;
    }
  }
  for (const char* header : {"parser/job_log/lines/rank_part.h", "parser/ring/log_rings.h",
                             "parser/sqlite/format.h", "parser/paddle/python_json.h"}) {
    for (const char* path : {"parser/chrome/x.cpp", "parser/foreign/logs/x.cpp"}) {
      EXPECT_THAT(complaints(path, header), ElementsAre(HasSubstr("may not"))) << header;
    }
  }
  EXPECT_THAT(complaints("parser/chrome/x.cpp", "parser/foreign/foreign_trace.h"), IsEmpty());
  EXPECT_THAT(complaints("parser/job_log/x.cpp", "parser/ring/log_rings.h"), IsEmpty());
}

TEST(RoomsTest, ARoomThatServesAllFormatsMayIncludeNone) {
  for (const char* room : {"parser/json/", "parser/profile/", "parser/foreign/names/"}) {
    for (const char* header :
         {"parser/job_log/job_log_reader.h", "parser/job_log/lines/rank_part.h",
          "parser/ring/log_rings.h", "parser/chrome/format.h", "parser/chrome/write/writer.h",
          "parser/perfetto/format.h", "parser/sqlite/format.h", "parser/paddle/python_json.h",
          "parser/foreign/kineto_trace.h", "parser/foreign/logs/megatron_reader.h"}) {
      EXPECT_THAT(complaints(std::string(room) + "x.h", header), ElementsAre(HasSubstr("may not")))
          << room << " " << header;
    }
  }
}

TEST(RoomsTest, BuildersThatIncludeTheSearchAreFound) {
  EXPECT_THAT(complaints("schedule/builders/x.cpp", "schedule/search/placement_search.h"),
              ElementsAre(HasSubstr("may not include \"schedule/search/placement_search.h\"")));
  EXPECT_THAT(complaints("schedule/search/x.cpp", "schedule/builders/squeeze.h"), IsEmpty());
}

TEST(RoomsTest, ARoomThatIsNotInTheTableIsFound) {
  EXPECT_THAT(complaints("parser/new_room/x.cpp", "parser/byte_source.h"),
              ElementsAre("parser/new_room/x.cpp: room parser/new_room/ is not in the table"));
}

TEST(RoomsTest, ASourceThatIncludesHelpersOfTestsIsFound) {
  EXPECT_THAT(complaints("parser/x.cpp", "parser/testing/files.h"),
              ElementsAre(HasSubstr("may not")));
  EXPECT_THAT(complaints("parser/x_test.cpp", "parser/testing/files.h"), IsEmpty());
}

TEST(RoomsTest, ATestOfAFormatMayIncludeOtherFormats) {
  EXPECT_THAT(complaints("parser/perfetto/x_test.cpp", "parser/chrome/reader.h"), IsEmpty());
}

}  // namespace
}  // namespace pipetrace::layers
