#include "tests/pipe_run/made_up_hosts.h"

#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/pipe_run/run_pipe_run.h"
#include "trace/testing/folders.h"
#include "trace/testing/has_ended.h"

namespace pipetrace {
namespace {

// Variables of this name reach ranks on all hosts.
constexpr const char* kVariable = "PIPETRACE_TEST_RUN";

int count = 0;

}  // namespace

bool waitUntil(const std::function<bool()>& condition, double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

MadeUpHosts::MadeUpHosts()
    : folder_(scratch_.folder() + "/it's my run"),
      token_(std::to_string(getpid()) + "-" + std::to_string(++count)) {
  std::filesystem::create_directory(folder_);
}

std::string MadeUpHosts::logOf(int rank) const {
  return test::fileText(path("logs/workerlog." + std::to_string(rank)));
}

std::string MadeUpHosts::agentFolder() const {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(scratch_.folder(), error), end;
       !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with("pipe-run.")) return entry->path().string();
  }
  return {};
}

std::string MadeUpHosts::cable() const { return test::fileText(scratch_.folder() + "/cable"); }

std::string MadeUpHosts::here() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::string MadeUpHosts::script(const std::string& name, const std::string& text) const {
  std::string file = scratch_.folder() + "/" + name;
  std::ofstream(file) << "#!/bin/sh\n" << text << '\n';
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  return file;
}

std::string MadeUpHosts::plainShell() const {
  return script("plain-shell", "exec /bin/sh -c \"$2\"");
}

std::string MadeUpHosts::shellWithCable() const {
  return script(
      "shell-with-cable",
      "cd '" + scratch_.folder() +
          "' && rm -f in out cable && mkfifo in out && exec 3<&0 && echo $$ > cable.new && "
          "mv cable.new cable\n"
          "setsid /bin/sh -c \"$2\" <in >out 3<&- &\n"
          "cat <&3 >in &\nexec cat out");
}

std::vector<std::string> MadeUpHosts::arguments(const std::string& hosts,
                                                const std::string& remoteShell,
                                                const std::string& script) const {
  return {"--hosts",    hosts, "--remote-shell", remoteShell, "--log-dir",
          path("logs"), "--",  "/bin/sh",        "-c",        script};
}

ProgramRun MadeUpHosts::run(std::vector<std::string> arguments, ProgramSetting setting) const {
  const auto before = setting.inChild;
  setting.inChild = [&] {
    setenv(kVariable, token_.c_str(), 1);
    setenv("TMPDIR", scratch_.folder().c_str(), 1);  // where agents keep logs
    if (before) before();
  };
  arguments.insert(arguments.begin(), test::inBuild("bin/pipe-run"));
  return runProgram(arguments, setting);
}

int MadeUpHosts::processes() const {
  const std::string wanted = std::string(kVariable) + "=" + token_;
  int found = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc", error), end; !error && entry != end;
       entry.increment(error)) {
    const int pid = std::atoi(entry->path().filename().c_str());
    if (pid <= 0 || pid == getpid()) continue;
    const std::string variables = test::fileText(entry->path() / "environ");
    const std::size_t at = variables.find(wanted);
    if (at == std::string::npos || variables[at + wanted.size()] != '\0') continue;
    if (!test::hasEnded(pid)) ++found;
  }
  return found;
}

bool MadeUpHosts::endWithin(double seconds) const {
  return waitUntil([&] { return processes() == 0; }, seconds);
}

}  // namespace pipetrace
