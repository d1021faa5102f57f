#include "apps/cli/program.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <atomic>
#include <csignal>
#include <exception>
#include <filesystem>
#include <new>

#include "apps/cli/command_app.h"
#include "apps/cli/print.h"
#include "trace/error.h"
#include "trace/files/standard_streams.h"
#include "trace/text/suggestions.h"

namespace pipetrace {

namespace {

std::atomic<const char*> doing = nullptr;

/// Says what took the memory, how much, and what people can do about it.
std::string outOfMemoryText() {
  const char* const what = doing;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const double gib = static_cast<double>(usage.ru_maxrss) / (1024 * 1024);
  return fmt::format(
      "memory ran out{}{}, with {:.2f} GiB in use; --steps and --ranks read less, and "
      "fewer threads (--threads) need less",
      what == nullptr ? "" : " while ", what == nullptr ? "" : what, gib);
}

}  // namespace

void nowDoing(const char* what) noexcept { doing = what; }

const Command* Program::find(std::string_view command) const {
  for (const Command& each : commands) {
    if (each.name == command) return &each;
  }
  return nullptr;
}

std::vector<std::string> Program::commandNames() const {
  std::vector<std::string> names;
  for (const Command& each : commands) names.push_back(each.name);
  return names;
}

std::string Program::commandList() const {
  std::string text;
  for (const Command& each : commands) {
    text += fmt::format("  {:<27} {}\n", fmt::format("{} {} ...", name, each.name), each.summary);
  }
  return text;
}

std::vector<FlagTable> Program::flagTables() const {
  CommandApp main(name);
  describe(main);
  std::vector<FlagTable> tables = {flagTableOf(main, "", "")};
  for (const Command& each : commands) {
    CommandApp app(name + " " + each.name);
    each.describe(app);
    tables.push_back(flagTableOf(app, each.name, each.summary));
    if (each.name != kHelpCommand) continue;
    for (Flag& flag : tables.back().flags) {
      if (flag.isPositional) flag.words = commandNames();
    }
  }
  return tables;
}

void refuseMistypedCommand(const Program& program, const std::string& word) {
  std::error_code ignored;
  const bool mayBeCommand = !word.starts_with('-') && word.find_first_of("./") == word.npos;
  if (!mayBeCommand || std::filesystem::exists(word, ignored)) return;
  std::string advice;
  for (const auto& [name, way] : program.insteadOf) {
    if (name == word) advice = way;
  }
  if (advice.empty()) {
    const std::string meant = nearestName(word, program.commandNames());
    if (meant.empty()) return;
    advice = fmt::format("did you mean {} {}?", program.name, meant);
    if (!program.firstMayBe.empty()) advice += " " + program.firstMayBe;
  }
  throw Error(fmt::format("there is no file and no command {}; {}", word, advice));
}

int runProgram(const Program& program, int argc, char** argv) {
  openClosedStreams();
  // write() then reports a closed pipe and a file that may not grow as errors.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  std::string name = program.name;
  try {
    const Command* const command = argc < 2 ? nullptr : program.find(argv[1]);
    if (command == nullptr) {
      if (argc >= 2) refuseMistypedCommand(program, argv[1]);
      return program.run(argc, argv);
    }
    name += " " + command->name;
    return command->run(argc - 1, argv + 1);
  } catch (const std::bad_alloc&) {
    printError(name + ": " + outOfMemoryText());
    return kExitCouldNot;
  } catch (const std::exception& error) {
    printError(name + ": " + error.what());
    return kExitCouldNot;
  }
}

}  // namespace pipetrace
