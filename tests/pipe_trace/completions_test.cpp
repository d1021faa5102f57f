#include <cctype>
#include <regex>
#include <set>

#include "tests/pipe_trace/fixture.h"
#include "tests/testing/shell_offers.h"
#include "trace/testing/folders.h"

namespace pipetrace {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;

/// Completion scripts and the manual page, compared with the output of --help.
class ShellFiles : public PipeTrace {
 protected:
  static std::vector<std::string> linesOf(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }

  /// The commands that the help lists, and "" for pipe-trace without one.
  static std::vector<std::string> commands() {
    std::vector<std::string> names = {""};
    const std::regex entry(R"(^  pipe-trace (\w+) \.\.\..*)");
    for (const std::string& line : linesOf(run({"--help"}).out)) {
      if (std::smatch match; std::regex_match(line, match, entry)) names.push_back(match[1]);
    }
    return names;
  }

  /// The options of a command, from its help.
  static std::set<std::string> optionsOf(const std::string& command) {
    std::set<std::string> names;
    std::vector<std::string> arguments = {"--help"};
    if (!command.empty()) arguments.insert(arguments.begin(), command);
    for (const std::string& line : linesOf(run(arguments).out)) {
      if (!line.starts_with("  -")) continue;
      const std::string entry = line.substr(2, line.find("  ", 2) - 2);
      const std::regex name(R"((?:^|,)(--?[A-Za-z][\w-]*))");
      for (std::sregex_iterator it(entry.begin(), entry.end(), name), end; it != end; ++it) {
        names.insert((*it)[1]);
      }
    }
    return names;
  }

  static std::string scriptFor(const std::string& shell) {
    const ProgramRun result = run({"completions", shell});
    EXPECT_EQ(result.exitCode, 0) << result.err;
    return result.out;
  }

  /// The words that bash offers for the last of these, in a folder with `a.json` and `my logs`.
  std::vector<std::string> offers(const std::vector<std::string>& words) const {
    write("a.json", "");
    std::filesystem::create_directory(path("my logs"));
    return shells_.bash(words);
  }

  const ShellOffers shells_{test::inBuild("bin/pipe-trace"), folder_.string()};
};

TEST_F(ShellFiles, HelpListsTheCommandsThatThereAre) {
  EXPECT_THAT(commands(),
              IsSupersetOf({"", "plan", "show", "info", "open", "help", "completions", "man"}));
  EXPECT_THAT(optionsOf(""), IsSupersetOf({"-o", "--output", "-q", "--quiet", "--log_dir",
                                           "--log-dir", "--help", "-h", "-V", "--version"}));
}

TEST_F(ShellFiles, BashOffersEveryOptionOfEveryCommand) {
  for (const std::string& command : commands()) {
    std::vector<std::string> words = {"pipe-trace", command, "-"};
    if (command.empty()) words.erase(words.begin() + 1);
    EXPECT_THAT(offers(words), IsSupersetOf(optionsOf(command))) << command;
  }
  EXPECT_THAT(offers({"pipe-trace", "plan", "--sch"}),
              testing::UnorderedElementsAre("--schedule", "--schedule-file"));
}

TEST_F(ShellFiles, BashOffersCommandsValuesAndFiles) {
  EXPECT_THAT(offers({"pipe-trace", "sh"}), ElementsAre("show"));
  EXPECT_THAT(offers({"pipe-trace", "a."}), ElementsAre("a.json"));
  EXPECT_THAT(offers({"pipe-trace", "show", "my"}), ElementsAre("my logs"));
  EXPECT_THAT(offers({"pipe-trace", "--format", ""}), Contains("pftrace"));
  EXPECT_THAT(offers({"pipe-trace", "--format", "j"}), ElementsAre("json"));
  EXPECT_THAT(offers({"pipe-trace", "x", "-o", "a"}), ElementsAre("a.json"));
  EXPECT_THAT(offers({"pipe-trace", "plan", "--csv", "a"}), ElementsAre("a.json"));
  EXPECT_THAT(offers({"pipe-trace", "plan", "-o", "a"}), ElementsAre("a.json"));
  EXPECT_THAT(offers({"pipe-trace", "plan", "--output", "my"}), ElementsAre("my logs"));
}

TEST_F(ShellFiles, BashOffersValuesAfterAnEqualsSign) {
  // bash takes = for a word, unless COMP_WORDBREAKS lacks it.
  EXPECT_THAT(offers({"pipe-trace", "--format", "="}), IsSupersetOf({"json", "pftrace"}));
  EXPECT_THAT(offers({"pipe-trace", "--format", "=", "j"}), ElementsAre("json"));
  EXPECT_THAT(offers({"pipe-trace", "plan", "--csv", "=", "a"}), ElementsAre("a.json"));
  EXPECT_THAT(offers({"pipe-trace", "--format=j"}), ElementsAre("--format=json"));
  EXPECT_THAT(offers({"pipe-trace", "plan", "--schedule=1F"}), ElementsAre("--schedule=1F1B"));
}

TEST_F(ShellFiles, BashOffersNoFilesWhereTheWordsAreKnown) {
  EXPECT_THAT(offers({"pipe-trace", "help", "sh"}), ElementsAre("show"));
  EXPECT_THAT(offers({"pipe-trace", "completions", ""}),
              testing::UnorderedElementsAre("bash", "zsh", "fish"));
  EXPECT_THAT(offers({"pipe-trace", "--align", ""}),
              testing::UnorderedElementsAre("none", "log", "causal"));
  EXPECT_THAT(offers({"pipe-trace", "plan", "--buffers", ""}),
              testing::UnorderedElementsAre("unbounded", "blocking"));
  EXPECT_THAT(offers({"pipe-trace", "--paddle-style", ""}), ElementsAre("2023"));
  EXPECT_THAT(offers({"pipe-trace", "plan", "a"}), ElementsAre("")) << "plan takes no file";
  write("1F1B.txt", "");
  EXPECT_THAT(offers({"pipe-trace", "plan", "--schedule", "1F"}), ElementsAre("1F1B"));
  EXPECT_THAT(offers({"pipe-trace", "plan", "--schedule", ""}),
              IsSupersetOf({"ZB-H1", "GPipe", "auto"}));
}

TEST_F(ShellFiles, BashOffersPresetsAndFilesForKinds) {
  write("torch.json", "");
  EXPECT_THAT(offers({"pipe-trace", "show", "x", "--kinds", "tor"}),
              testing::UnorderedElementsAre("torch", "torchtitan", "torch.json"));
  EXPECT_THAT(offers({"pipe-trace", "--kinds", ""}),
              IsSupersetOf({"deepspeed", "megatron", "nemo", "paddle", "a.json"}));
}

TEST_F(ShellFiles, BashOffersForOpenWhatPerfettoLoads) {
  for (const char* name : {"a.csv", "a.sqlite", "a.pftrace", "a.json.gz"}) write(name, "");
  EXPECT_THAT(offers({"pipe-trace", "open", ""}),
              testing::UnorderedElementsAre("a.json", "a.json.gz", "a.pftrace", "my logs"));
  EXPECT_THAT(offers({"pipe-trace", "show", "a.c"}), ElementsAre("a.csv"));
  EXPECT_THAT(offers({"pipe-trace", "--pp", ""}), ElementsAre(""));  // a number
}

TEST_F(ShellFiles, FishOffersTheSame) {
  if (!ShellOffers::hasFish()) GTEST_SKIP() << "no fish on this system";
  for (const char* name : {"a.json", "a.csv", "b.pftrace", "b.json.gz"}) write(name, "");
  std::filesystem::create_directory(path("my logs"));
  const auto offered = [&](const std::string& line) { return shells_.fish(line); };
  EXPECT_THAT(offered("pipe-trace sh"), ElementsAre("show"));
  EXPECT_THAT(offered("pipe-trace --form"), ElementsAre("--format"));
  EXPECT_THAT(offered("pipe-trace --format "),
              testing::UnorderedElementsAre("json", "pftrace", "sqlite", "csv", "svg"));
  EXPECT_THAT(offered("pipe-trace plan --schedule 1F"), ElementsAre("1F1B"));
  EXPECT_THAT(offered("pipe-trace --kinds "), IsSupersetOf({"torch", "nemo", "a.json"}));
  EXPECT_THAT(offered("pipe-trace completions "),
              testing::UnorderedElementsAre("bash", "zsh", "fish"));
  EXPECT_THAT(offered("pipe-trace show a"), testing::UnorderedElementsAre("a.csv", "a.json"));
  EXPECT_THAT(offered("pipe-trace open "),
              testing::UnorderedElementsAre("a.json", "b.json.gz", "b.pftrace", "my logs/"));
  EXPECT_THAT(offered("pipe-trace open b"),
              testing::UnorderedElementsAre("b.json.gz", "b.pftrace"));
  EXPECT_THAT(offered("pipe-trace show my"), ElementsAre("my logs/"));
  EXPECT_THAT(offered("pipe-trace plan -o my"), ElementsAre("my logs/"));
  EXPECT_THAT(offered("pipe-trace plan --output=a.j"), ElementsAre("--output=a.json"));
  EXPECT_THAT(offered("pipe-trace plan a"), IsEmpty());
  EXPECT_THAT(offered("pipe-trace --pp "), IsEmpty());
}

TEST_F(ShellFiles, ZshOffersTheSame) {
  if (!ShellOffers::hasZsh()) GTEST_SKIP() << "no zsh on this system, or no pseudo terminal";
  std::filesystem::create_directory(path("my logs"));
  for (const char* name : {"a.json", "a.csv", "b.pftrace", "b.json.gz"}) write(name, "");
  const auto offered = [&](const std::string& line) { return shells_.zsh(line); };
  using Offers = std::set<std::string>;
  EXPECT_EQ(offered("pipe-trace --form"), Offers{"--format"});
  EXPECT_EQ(offered("pipe-trace --format "), (Offers{"json", "pftrace", "sqlite", "csv", "svg"}));
  EXPECT_EQ(offered("pipe-trace completions "), (Offers{"bash", "zsh", "fish"}));
  EXPECT_EQ(offered("pipe-trace plan --schedule 1F"), (Offers{"1F1B"}));
  EXPECT_THAT(offered("pipe-trace --kinds "), IsSupersetOf({"torch", "nemo", "a.json"}));
  EXPECT_EQ(offered("pipe-trace open b"), (Offers{"b.json.gz", "b.pftrace"}));
  EXPECT_EQ(offered("pipe-trace plan -o b"), (Offers{"b.json.gz", "b.pftrace"}));
  EXPECT_EQ(offered("pipe-trace plan --buffers b"), (Offers{"blocking"}));
  EXPECT_THAT(offered("pipe-trace sh"), Contains("show"));
}

TEST_F(ShellFiles, ZshAndFishScriptsHaveEveryOption) {
  const std::string zsh = scriptFor("zsh");
  const std::string fish = scriptFor("fish");
  for (const std::string& command : commands()) {
    EXPECT_THAT(zsh, HasSubstr(command));
    EXPECT_THAT(fish, HasSubstr(command));
    for (const std::string& option : optionsOf(command)) {
      EXPECT_THAT(zsh, HasSubstr("'*" + option + "["));
      const bool isLong = option.starts_with("--");
      EXPECT_THAT(fish,
                  HasSubstr((isLong ? " -l " : " -s ") + option.substr(isLong ? 2 : 1) + " "));
    }
  }
}

TEST_F(ShellFiles, ShellsFindNoFaultInTheirScripts) {
  for (const auto& [shell, program] :
       {std::pair("bash", "/bin/bash"), {"zsh", "/usr/bin/zsh"}, {"fish", "/usr/bin/fish"}}) {
    if (!std::filesystem::exists(program)) continue;  // bash is always there
    write("script", scriptFor(shell));
    const ProgramRun result = runProgram({program, "-n", path("script")});
    EXPECT_EQ(result.exitCode, 0) << result.err;
    EXPECT_THAT(result.err, IsEmpty());
  }
}

TEST_F(ShellFiles, OldSpellingsAreNotOffered) {
  EXPECT_THAT(offers({"pipe-trace", "plan", "--"}), Not(Contains("--stages")));
  EXPECT_THAT(offers({"pipe-trace", "plan", "--ran"}), ElementsAre("--ranks"));
}

TEST_F(ShellFiles, HelpOfACommandIsItsHelpOption) {
  EXPECT_EQ(run({"help"}).out, run({"--help"}).out);
  for (const std::string& command : commands()) {
    if (command.empty()) continue;
    const ProgramRun result = run({"help", command});
    EXPECT_EQ(result.exitCode, 0) << result.err;
    EXPECT_EQ(result.out, run({command, "--help"}).out);
    EXPECT_THAT(result.out, HasSubstr("pipe-trace " + command));
  }
  expectError(run({"help", "inof"}), "no command inof", "did you mean info?");
  expectError(run({"help", "nothing-like-it"}), "the commands are", "show");
}

TEST_F(ShellFiles, VersionHasAShortSpelling) {
  EXPECT_EQ(run({"-V"}).out, run({"--version"}).out);
  EXPECT_THAT(run({"-V"}).out, testing::StartsWith("pipe-trace "));
}

TEST_F(ShellFiles, AnotherShellIsAnError) {
  expectError(run({"completions", "tcsh"}), "tcsh", "fish");
}

TEST_F(ShellFiles, TheManualPageHasEveryOptionAndRoffFindsNoFault) {
  const ProgramRun page = run({"man"});
  EXPECT_EQ(page.exitCode, 0) << page.err;
  for (const std::string& command : commands()) {
    std::string heading = "PIPE\\-TRACE " + command;
    std::transform(heading.begin(), heading.end(), heading.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    const std::string words = command.empty() ? "" : " " + command;
    if (command.empty() || command == "info" || command == "show") {
      EXPECT_THAT(page.out, HasSubstr(".B pipe\\-trace" + words +
                                      "\n[\\fIOPTION\\fR]...\n\\fIINPUT\\fR...\n"));
    }
    if (command == "help") {
      EXPECT_THAT(page.out, HasSubstr(words + "\n[\\fIOPTION\\fR]...\n[\\fICOMMAND\\fR]\n"));
    }
    if (!command.empty()) {
      EXPECT_THAT(page.out, HasSubstr(".SH " + heading + "\n"));
    }
    for (const std::string& option : optionsOf(command)) {
      const std::string name = std::regex_replace(option, std::regex("-"), "\\-");
      EXPECT_THAT(page.out, HasSubstr("\\fB" + name + "\\fR"));
    }
  }
  EXPECT_THAT(page.out,
              testing::ContainsRegex("\n\\.SH EXIT STATUS\n[^@]*fB2[^@]*\n\\.SH EXAMPLES\n"));
  EXPECT_THAT(page.out, HasSubstr("pipe\\-trace show logs \\-\\-step 3\n"));
  if (!std::filesystem::exists("/usr/bin/groff")) GTEST_SKIP() << "no groff on this system";
  write("page.1", page.out);
  const ProgramRun checked =
      runProgram({"/usr/bin/groff", "-man", "-ww", "-z", "-Kutf8", "-Tutf8", path("page.1")});
  EXPECT_EQ(checked.exitCode, 0);
  EXPECT_THAT(checked.err, IsEmpty());
}

}  // namespace
}  // namespace pipetrace
