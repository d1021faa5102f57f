#include "tests/testing/shell_offers.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "tests/testing/program_run.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> linesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace

ShellOffers::ShellOffers(std::string program, std::string folder)
    : program_(std::move(program)),
      name_(fs::path(program_).filename()),
      folder_(std::move(folder)),
      scripts_((fs::temp_directory_path() / "shell-offers-XXXXXX").string()) {
  if (::mkdtemp(scripts_.data()) == nullptr) throw Error("cannot make " + scripts_);
}

ShellOffers::~ShellOffers() {
  std::error_code ignored;
  fs::remove_all(scripts_, ignored);
}

bool ShellOffers::hasFish() { return fs::exists("/usr/bin/fish"); }

bool ShellOffers::hasZsh() {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (terminal >= 0) ::close(terminal);
  return terminal >= 0 && fs::exists("/usr/bin/zsh");
}

void ShellOffers::write(const std::string& name, const std::string& text) const {
  fs::create_directories(fs::path(path(name)).parent_path());
  std::ofstream(path(name), std::ios::binary) << text;
}

void ShellOffers::writeScript(const std::string& shell, const std::string& name) const {
  const ProgramRun result = runProgram({program_, "completions", shell});
  EXPECT_EQ(result.exitCode, 0) << result.err;
  write(name, result.out);
}

std::vector<std::string> ShellOffers::bash(const std::vector<std::string>& words) const {
  writeScript("bash", "bash");
  std::string function = "_" + name_;
  std::replace(function.begin(), function.end(), '-', '_');
  std::string line = "cd \"$1\" && source \"$2\" && COMP_WORDS=(";
  for (const std::string& word : words) line += "'" + word + "' ";
  line += ") COMP_CWORD=" + std::to_string(words.size() - 1) + " && " + function +
          " && printf '%s\\n' \"${COMPREPLY[@]}\"";
  const ProgramRun result = runProgram({"/bin/bash", "-uc", line, "bash", folder_, path("bash")});
  EXPECT_EQ(result.exitCode, 0) << result.err;
  EXPECT_THAT(result.err, testing::IsEmpty());
  return linesOf(result.out);
}

std::vector<std::string> ShellOffers::fish(const std::string& line) const {
  writeScript("fish", "fish");
  const ProgramRun result =
      runProgram({"/usr/bin/fish", "--no-config", "-c",
                  "cd $argv[1]; source $argv[3]; complete -C $argv[2] | string replace -r "
                  "'\\t.*' ''",
                  folder_, line, path("fish")},
                 {.inChild = [this] { ::setenv("HOME", scripts_.c_str(), 1); }});
  EXPECT_THAT(result.err, testing::IsEmpty());
  return linesOf(result.out);
}

/// Runs zsh in a terminal of its own and sends the line and a tabulator.
std::set<std::string> ShellOffers::zsh(const std::string& line) const {
  writeScript("zsh", "functions/_" + name_);
  // Every offer goes through compadd.
  write("setting", "scripts=" + scripts_ +
                       "\nPS1=; autoload -Uz compinit; fpath=($scripts/functions $fpath)\n"
                       "compinit -u -d $scripts/dump\n"
                       "compadd() { local -a found; builtin compadd -A found \"$@\"\n"
                       "  print -rl -- $found >> $scripts/offered; builtin compadd \"$@\" }\n"
                       "finished() { print finished >> $scripts/offered; zle .kill-whole-line }\n"
                       "zle -N finished; bindkey '^I' complete-word '^X' finished\n");
  write("driver",
        "cd $1; zmodload zsh/zpty; zpty shell zsh -f -i\n"
        "zpty -w shell \"source $3/setting; print be''gun\"\n"
        "zpty -r -m shell seen '*begun*'; zpty -w -n shell $2$'\\t\\x18'\n"
        "for ((i = 0; i < 600; ++i)); do grep -qs finished $3/offered && break; sleep 0.1; done\n"
        "zpty -d shell\n");
  fs::remove(path("offered"));
  const ProgramRun result =
      runProgram({"/usr/bin/zsh", "-f", path("driver"), folder_, line, scripts_});
  EXPECT_EQ(result.exitCode, 0) << result.err;
  std::ifstream in(path("offered"));
  std::set<std::string> list;
  for (std::string entry; std::getline(in, entry);) list.insert(entry);
  EXPECT_EQ(list.erase("finished"), 1U) << line;
  list.erase("");
  return list;
}

}  // namespace pipetrace
