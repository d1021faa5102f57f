// Commands of pipe-trace and pipe-run, and the sources that they reach.
#include <gmock/gmock.h>

#include <map>
#include <regex>
#include <set>

#include "tests/layers/layer_table.h"
#include "tests/layers/source_tree.h"

namespace pipetrace::layers {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Sources by their paths.
using Tree = std::map<std::string, std::string>;
using Paths = std::set<std::string>;

Tree treeOf(const std::vector<std::string>& folders) {
  Tree tree;
  for (const std::string& folder : folders) {
    for (const SourceFile& source : sourcesIn(folder)) tree.emplace(source.path, source.text);
  }
  return tree;
}

/// The headers that `path` includes, the sources beside these, and what all of them include.
Paths reachedFrom(const Tree& tree, const std::string& path) {
  Paths reached = {path};
  std::vector<std::string> todo = {path};
  const auto add = [&](const std::string& file) {
    if (tree.count(file) > 0 && reached.insert(file).second) todo.push_back(file);
  };
  while (!todo.empty()) {
    const std::string file = todo.back();
    todo.pop_back();
    for (const std::string& header : ownIncludesOf(tree.at(file))) add(header);
    if (file.ends_with(".h")) add(file.substr(0, file.size() - 2) + ".cpp");
  }
  return reached;
}

/// The headers that declare a command, such as `int reportCommand(int argc, char** argv);`.
Paths commandHeaders(const Tree& tree) {
  static const std::regex kCommand(R"(\nint \w+Command\(int argc, char\*\* argv[,)])");
  Paths headers;
  for (const auto& [path, text] : tree) {
    if (path.ends_with(".h") && std::regex_search(text, kCommand)) headers.insert(path);
  }
  return headers;
}

/// Headers that the command should not reach: those of other commands, and the list of all.
std::vector<std::string> othersReached(const Tree& tree, const std::string& command) {
  const Paths commands = commandHeaders(tree);
  std::vector<std::string> others;
  for (const std::string& file :
       reachedFrom(tree, command.substr(0, command.size() - 2) + ".cpp")) {
    const bool isOther = commands.count(file) > 0 && file != command;
    if (isOther || file.ends_with("/commands.h")) others.push_back(file);
  }
  return others;
}

TEST(CommandsTest, NoCommandReachesAnother) {
  const Tree tree = treeOf({"apps"});
  const Paths commands = commandHeaders(tree);
  EXPECT_GE(commands.size(), 10U);
  for (const std::string& command : commands) {
    EXPECT_THAT(othersReached(tree, command), IsEmpty()) << command;
  }
}

TEST(CommandsTest, TheListOfCommandsReachesAll) {
  const Tree tree = treeOf({"apps"});
  const Paths reached = reachedFrom(tree, "apps/pipe_trace/main.cpp");
  for (const std::string& command : commandHeaders(tree)) {
    if (!command.starts_with("apps/pipe_trace/")) continue;
    EXPECT_EQ(reached.count(command), 1U) << command;
  }
}

TEST(CommandsTest, ACommandThatReachesAnotherThroughASharedHeaderIsFound) {
  const std::string declared = "\nint xCommand(int argc, char** argv);\n";
  const Tree tree = {{"a/one.h", declared},
                     {"a/one.cpp", "#include \"a/one.h\"\n#include \"a/shared.h\"\n"},
                     {"a/shared.h", ""},
                     {"a/shared.cpp", "#include \"a/two.h\"\n#include \"a/commands.h\"\n"},
                     {"a/commands.h", ""},
                     {"a/two.h", declared},
                     {"a/two.cpp", "#include \"a/two.h\"\n"}};
  EXPECT_THAT(othersReached(tree, "a/one.h"), ElementsAre("a/commands.h", "a/two.h"));
  EXPECT_THAT(othersReached(tree, "a/two.h"), IsEmpty());
}

TEST(Commands, TextForPeopleLeavesInOnePlace) {
  static const std::regex kPrints(R"((^|[^/\w])(stderr|stdout)\b|std::(cerr|cout)\b)");
  std::vector<std::string> others;
  for (const auto& [path, text] : treeOf({"apps"})) {
    const bool isForPeople =
        path.ends_with(".cpp") && !path.ends_with("_test.cpp") && path.find("/bench/") == path.npos;
    std::string code = std::regex_replace(text, std::regex("//[^\n]*"), "");
    if (isForPeople && std::regex_search(code, kPrints)) others.push_back(path);
  }
  EXPECT_THAT(others, ElementsAre("apps/cli/print.cpp")) << "through fitToPrint()";
}

}  // namespace
}  // namespace pipetrace::layers
