#include "tests/testing/program_run.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

namespace pipetrace {
namespace {

/// An unnamed file: unlike a pipe, it takes any amount without a reader.
class Scratch {
 public:
  explicit Scratch(const std::string& text = {}) : file_(std::tmpfile()) {
    std::fwrite(text.data(), 1, text.size(), file_);
    std::rewind(file_);
  }
  ~Scratch() { std::fclose(file_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  int fd() const { return ::fileno(file_); }
  std::string text() const {
    std::string all;
    char buffer[4096];
    ssize_t n = 0;
    off_t at = 0;
    while ((n = ::pread(fd(), buffer, sizeof buffer, at)) > 0) {
      all.append(buffer, static_cast<std::size_t>(n));
      at += n;
    }
    return all;
  }

 private:
  std::FILE* file_;
};

}  // namespace

ProgramRun runProgram(const std::vector<std::string>& arguments, const ProgramSetting& setting) {
  const Scratch in(setting.input);
  const Scratch out;
  const Scratch err;
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);

  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(in.fd(), STDIN_FILENO);
    ::dup2(out.fd(), STDOUT_FILENO);
    ::dup2(err.fd(), STDERR_FILENO);
    if (!setting.outFile.empty()) {
      ::dup2(::open(setting.outFile.c_str(), O_WRONLY), STDOUT_FILENO);
    }
    if (setting.inChild) setting.inChild();
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  if (setting.meanwhile) setting.meanwhile(child);
  int status = 0;
  ::waitpid(child, &status, 0);
  ProgramRun run;
  if (WIFEXITED(status)) run.exitCode = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) run.signal = WTERMSIG(status);
  run.out = out.text();
  run.err = err.text();
  return run;
}

}  // namespace pipetrace
