#include <gmock/gmock.h>

#include <filesystem>
#include <map>
#include <regex>

#include "tests/layers/layer_table.h"
#include "tests/layers/source_tree.h"

namespace pipetrace::layers {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAreArray;

TEST(LayersTest, EveryIncludeOfTheTreeFollowsTheTable) {
  const LayerTable table = parseLayerTable(architecture());
  int files = 0;
  for (const auto& [folder, allowed] : table.mayInclude) {
    for (const SourceFile& source : sourcesIn(folder)) {
      ++files;
      EXPECT_THAT(checkIncludes(table, source.path, source.text), IsEmpty());
    }
  }
  EXPECT_GT(files, 40);
}

TEST(LayersTest, EveryFolderWithSourcesIsInTheTable) {
  const LayerTable table = parseLayerTable(architecture());
  for (const auto& folder : fs::directory_iterator(kRoot)) {
    if (!folder.is_directory() || folder.path().filename().string()[0] == '.' ||
        folder.path().filename() == "build") {
      continue;
    }
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.path().extension() != ".cpp") continue;
      EXPECT_EQ(table.mayInclude.count(folder.path().filename().string()), 1U) << entry.path();
    }
  }
}

TEST(LayersTest, NoTwoHeadersDefineATypeOfTheSameName) {
  // All share a namespace: two such types in one program are undefined behaviour, and no compiler
  // says so.
  const std::regex definition(R"((?:^|\n)(?:struct|class|enum class) (\w+)(?: final)?\s*[:{])");
  std::map<std::string, std::string> headerOf;
  for (const auto& [folder, allowed] : parseLayerTable(architecture()).mayInclude) {
    for (const auto& [name, text] : sourcesIn(folder)) {
      const bool forTests = name.find("test") != std::string::npos;
      if (!name.ends_with(".h") || forTests) continue;
      for (std::sregex_iterator it(text.begin(), text.end(), definition), end; it != end; ++it) {
        const auto [known, isNew] = headerOf.emplace((*it)[1], name);
        EXPECT_TRUE(isNew) << (*it)[1] << " is defined in " << known->second << " and in " << name;
      }
    }
  }
  EXPECT_GT(headerOf.size(), 100U);
}

TEST(LayersTest, HeadersOfCuptiAndNcclAreIncludedByTheNamedFilesAlone) {
  const std::regex include(R"((?:^|\n)\s*#\s*include\s*[<"]([^>"]+)[>"])");
  const std::map<std::string, std::vector<std::string>> placesOf = {
      {"cupti.h", {"profiler/kernels/cupti_api.cpp", "tests/gpu/cuda_waits.cpp"}},
      {"nccl.h", {"tests/gpu/nccl_test.cpp"}},
      {"torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp", {"runtime/transport/nccl_group.cpp"}}};
  std::map<std::string, std::vector<std::string>> found;
  for (const auto& [folder, allowed] : parseLayerTable(architecture()).mayInclude) {
    for (const auto& [name, text] : sourcesIn(folder)) {
      for (std::sregex_iterator it(text.begin(), text.end(), include), end; it != end; ++it) {
        const std::string header = (*it)[1];
        if (placesOf.count(header) > 0 || header.ends_with("/ProcessGroupNCCL.hpp")) {
          found[header].push_back(name);
        }
      }
    }
  }
  for (const auto& [header, places] : placesOf) {
    EXPECT_THAT(found[header], UnorderedElementsAreArray(places)) << header;
    std::string named = "`" + header + "` (";
    for (const std::string& place : places) {
      named += (place == places.front() ? "`" : ", `") + place + "`";
    }
    EXPECT_THAT(architecture(), HasSubstr(named + ")"));
  }
  EXPECT_EQ(found.size(), placesOf.size());
}

TEST(LayersTest, NoFolderMayIncludeOneOfItsOwnOrAHigherLayer) {
  // The table itself points one way: what it allows would pass every other check.
  const LayerTable table = parseLayerTable(architecture());
  for (const auto& [folder, allowed] : table.mayInclude) {
    for (const std::string& target : allowed) {
      if (table.layer.count(target) == 0) continue;  // "standard library"
      EXPECT_LT(table.layer.at(target), table.layer.at(folder)) << folder << " and " << target;
    }
  }
  for (const auto& [folder, allowed] : table.mayInclude) {
    for (const char* top : {"samples", "tests", "python"})
      EXPECT_EQ(allowed.count(top), 0U) << folder;
    // The C ABI answers with the commands' own code, so that its figures are theirs.
    EXPECT_EQ(allowed.count("apps"), folder == "python" ? 1U : 0U) << folder;
  }
}

TEST(LayersTest, AnIncludeThatPointsUpwardsIsFound) {
  const LayerTable table = parseLayerTable(architecture());
  EXPECT_THAT(checkIncludes(table, "trace/event.cpp", "#include \"parser/load_timeline.h\"\n"),
              ElementsAre(HasSubstr("trace/ may not include \"parser/load_timeline.h\"")));
  EXPECT_THAT(checkIncludes(table, "parser/x.cpp", "#include \"trace/event.h\"\n"), IsEmpty());
}

TEST(LayersTest, ALibraryOutsideItsFoldersIsFound) {
  const LayerTable table = parseLayerTable(architecture());
  EXPECT_THAT(checkIncludes(table, "schedule/x.cpp", "#include <torch/torch.h>\n"),
              ElementsAre(HasSubstr("schedule/ may not use <torch/torch.h>")));
  EXPECT_THAT(checkIncludes(table, "chart/x.h", "  #  include <QWidget>\n"),
              ElementsAre(HasSubstr("chart/ may not use <QWidget>")));
  EXPECT_THAT(checkIncludes(table, "chart/x.h", "#include <boost/any.hpp>\n"),
              ElementsAre(HasSubstr("in no row")));
  EXPECT_THAT(checkIncludes(table, "trace/x.cpp", "#include <gtest/gtest.h>\n"),
              ElementsAre(HasSubstr("belongs in tests")));
  EXPECT_THAT(checkIncludes(table, "trace/x.cpp", "#include \"event.h\"\n"),
              ElementsAre(HasSubstr("not written from the root")));
}

}  // namespace
}  // namespace pipetrace::layers
