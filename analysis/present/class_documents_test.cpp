// The documents name the classes of bubbles and the kinds of doubts that there are.

#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "trace/bubble_class.h"
#include "trace/doubt_kind.h"
#include "trace/testing/folders.h"

namespace pipetrace {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::UnorderedElementsAreArray;

std::string document(const std::string& name) {
  std::ifstream file(test::inSources("docs/") + name);
  EXPECT_TRUE(file) << name;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The names of the classes, but those that few runs have where `onlyUsual`.
std::vector<std::string> namesOf(bool onlyUsual = false) {
  std::vector<std::string> names;
  for (const BubbleClass c : kReportedClasses) {
    if (!onlyUsual || isReported(c, 0)) names.emplace_back(bubbleClassName(c));
  }
  return names;
}

std::vector<std::string> textsOf(const json& list) { return list; }

TEST(ClassDocuments, SchemasHaveEachClass) {
  const json report = json::parse(document("report.schema.json"));
  EXPECT_THAT(textsOf(report["$defs"]["class"]["enum"]), UnorderedElementsAreArray(namesOf()));
  const json& ofRank = report["properties"]["ranks"]["items"]["properties"]["bubbles"];
  EXPECT_THAT(textsOf(ofRank["required"]), UnorderedElementsAreArray(namesOf(true)));
  std::vector<std::string> keys;
  for (const auto& [key, value] : ofRank["properties"].items()) keys.push_back(key);
  EXPECT_THAT(keys, UnorderedElementsAreArray(namesOf()));
  const json diff = json::parse(document("diff.schema.json"));
  EXPECT_THAT(textsOf(diff["properties"]["parts"]["items"]["properties"]["class"]["enum"]),
              UnorderedElementsAreArray(namesOf()));
}

TEST(ClassDocuments, PagesForPeopleNameEachClass) {
  for (const std::string& name : namesOf()) {
    EXPECT_THAT(document("metrics.md"), HasSubstr("`" + name + "`"));
    EXPECT_THAT(document("profile-format.md"), HasSubstr("`" + name + "`"));
  }
}

TEST(ClassDocuments, EachKindOfDoubtsIsInTheSchemaAndInTheTableOfDoubts) {
  std::vector<std::string> names;
  for (const DoubtRow& row : kDoubtKinds) {
    if (row.of != DoubtKind::kNone) names.emplace_back(row.name);
  }
  const json report = json::parse(document("report.schema.json"));
  const json& doubt = report["properties"]["trust"]["items"]["properties"];
  EXPECT_THAT(textsOf(doubt["kind"]["enum"]), UnorderedElementsAreArray(names));
  const std::string metrics = document("metrics.md");
  for (const std::string& name : names) EXPECT_THAT(metrics, HasSubstr("\n| `" + name + "` | "));
}

}  // namespace
}  // namespace pipetrace
