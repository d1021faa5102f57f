#include <httplib.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <csignal>
#include <regex>

#include "tests/pipe_trace/fixture.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kUi = "https://ui.perfetto.dev";

/// Runs `pipe-trace open` and talks to it.
class OpenCommand : public PipeTrace {
 protected:
  /// Calls `talk` with the port and the path of the link; the program is ended if it does not end
  /// by itself after that.
  ProgramRun open(const std::string& file,
                  const std::function<void(int port, const std::string& path)>& talk) {
    write("link", "");
    const auto meanwhile = [&](pid_t program) {
      std::smatch match;
      const std::regex link(
          R"(https://ui\.perfetto\.dev/#!/\?url=http://127\.0\.0\.1:(\d+)(/\S+)\n)");
      for (int tries = 0; tries < 60'000; ++tries) {
        link_ = contents(path("link"));
        if (std::regex_match(link_, match, link)) break;
        ::usleep(1000);
      }
      if (!match.empty()) talk(std::stoi(match[1]), match[2]);
      if (stopAfterwards_) ::kill(program, SIGTERM);
    };
    return run({"open", file, "--port", "0"}, {.outFile = path("link"),
                                               .inChild = [] { ::unsetenv("DISPLAY"); },
                                               .meanwhile = meanwhile});
  }

  /// Whether the program has ended; its exit code stays to be fetched.
  static bool hasEnded(pid_t program) {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(program), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == program;
  }

  std::string link_;
  bool stopAfterwards_ = false;
};

TEST_F(OpenCommand, TheUiGetsTheFileAndThenItEnds) {
  const std::string bytes(1'000'000, 'x');
  write("my profile.json", bytes);
  const ProgramRun result = open(path("my profile.json"), [&](int port, const std::string& name) {
    EXPECT_EQ(name, "/my_profile.json");
    httplib::Client client("127.0.0.1", port);
    const auto answer = client.Get(name, {{"Origin", kUi}});
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 200);
    EXPECT_EQ(answer->get_header_value("Access-Control-Allow-Origin"), kUi);
    EXPECT_EQ(answer->get_header_value("Content-Length"), "1000000");
    EXPECT_EQ(answer->body == bytes, true);
  });
  EXPECT_EQ(result.exitCode, 0) << result.err;
  EXPECT_THAT(result.err, IsEmpty());
}

TEST_F(OpenCommand, RangesAndHeadsAreServedAndTogetherTheyAreTheFile) {
  write("a.pftrace", "0123456789");
  const ProgramRun result = open(path("a.pftrace"), [&](int port, const std::string& name) {
    httplib::Client client("127.0.0.1", port);
    const auto head = client.Head(name, {{"Origin", kUi}});
    ASSERT_TRUE(head);
    EXPECT_EQ(head->get_header_value("Content-Length"), "10");
    EXPECT_THAT(head->body, IsEmpty());
    for (const auto& [range, part] :
         {std::pair("bytes=0-3", "0123"), {"bytes=2-5", "2345"}, {"bytes=6-", "6789"}}) {
      const auto answer = client.Get(name, {{"Origin", kUi}, {"Range", range}});
      ASSERT_TRUE(answer) << range;
      EXPECT_EQ(answer->status, 206);
      EXPECT_EQ(answer->body, part);
    }
  });
  EXPECT_EQ(result.exitCode, 0) << result.err;
}

TEST_F(OpenCommand, RangesMayComeInAnyOrder) {
  write("a.pftrace", "0123456789");
  const ProgramRun result = open(path("a.pftrace"), [&](int port, const std::string& name) {
    httplib::Client client("127.0.0.1", port);
    for (const char* range : {"bytes=6-", "bytes=3-5", "bytes=0-2"}) {
      const auto answer = client.Get(name, {{"Origin", kUi}, {"Range", range}});
      ASSERT_TRUE(answer) << range;
      EXPECT_EQ(answer->status, 206);
    }
  });
  EXPECT_EQ(result.exitCode, 0) << result.err;
}

TEST_F(OpenCommand, AFormatThatTheUiCannotShowIsNotServed) {
  for (const char* name : {"a.csv", "a.sqlite"}) {
    write(name, "some");
    expectError(run({"open", path(name), "--port", "0"}), name, "write NAME.pftrace");
  }
}

TEST_F(OpenCommand, AnInterruptEndsItInTheBackgroundOfAScriptToo) {
  write("a.json", "[]");
  write("link", "");
  const auto interrupt = [&](pid_t pid) {
    for (int tries = 0; tries < 60'000 && contents(path("link")).empty(); ++tries) ::usleep(1000);
    ::kill(pid, SIGINT);
    // If it goes on all the same, the test must not wait for ever.
    for (int tries = 0; tries < 5'000 && !hasEnded(pid); ++tries) ::usleep(1000);
    ::kill(pid, SIGKILL);
  };
  const ProgramRun result = run({"open", path("a.json"), "--port", "0", "--no-browser"},
                                {.outFile = path("link"),
                                 .inChild = [] { ::signal(SIGINT, SIG_IGN); },
                                 .meanwhile = interrupt});
  EXPECT_EQ(result.signal, SIGINT);
}

TEST_F(OpenCommand, OtherPagesAndPathsAreRefused) {
  write("a.json", "secret");
  write("b.json", "other");
  stopAfterwards_ = true;
  const ProgramRun result = open(path("a.json"), [&](int port, const std::string& name) {
    httplib::Client client("127.0.0.1", port);
    for (const char* other : {"/", "/b.json", "/../b.json", "/%2e%2e/a.json", "//a.json", "/status",
                              "/a.json/", "/a.json/../b.json"}) {
      const auto answer = client.Get(other, {{"Origin", kUi}});
      ASSERT_TRUE(answer) << other;
      EXPECT_EQ(answer->status, 404) << other;
      EXPECT_THAT(answer->body, IsEmpty());
    }
    const std::vector<httplib::Headers> strangers = {{{"Origin", "https://example.com"}},
                                                     {{"Origin", "null"}},
                                                     {{"Sec-Fetch-Site", "cross-site"}},
                                                     {{"Host", "example.com"}}};
    for (const httplib::Headers& headers : strangers) {
      const auto answer = client.Get(name, headers);
      ASSERT_TRUE(answer);
      EXPECT_EQ(answer->status, 403) << headers.begin()->second;
      EXPECT_THAT(answer->body, IsEmpty());
      EXPECT_FALSE(answer->has_header("Access-Control-Allow-Origin"));
    }
    const auto posted = client.Post(name, {{"Origin", kUi}}, "x", "text/plain");
    ASSERT_TRUE(posted);
    EXPECT_EQ(posted->status, 404);
    const auto preflight = client.Options(name, {{"Origin", kUi}});
    ASSERT_TRUE(preflight);
    EXPECT_EQ(preflight->status, 204);
    EXPECT_EQ(preflight->get_header_value("Access-Control-Allow-Private-Network"), "true");
  });
  EXPECT_EQ(result.signal, SIGTERM);  // it had not ended by itself
}

TEST_F(OpenCommand, AFileThatCannotBeServedIsAnError) {
  const auto open = [&](const std::string& file) { return run({"open", file, "--port", "0"}); };
  expectError(open(path("none.json")), path("none.json"), "No such file");
  expectError(open(folder_.string()), folder_.string(), "name a profile");
  write("empty.json", "");
  expectError(open(path("empty.json")), path("empty.json"), "it is empty");
  expectError(run({"open"}), "FILE", "--help");
}

TEST_F(OpenCommand, APortInUseIsAnError) {
  write("a.json", "{}");
  const int taken = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(taken, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(taken, 1), 0);
  ::getsockname(taken, reinterpret_cast<sockaddr*>(&address), &size);
  const std::string port = std::to_string(ntohs(address.sin_port));
  expectError(run({"open", path("a.json"), "--port", port}), "127.0.0.1:" + port, "in use");
  ::close(taken);
}

}  // namespace
}  // namespace pipetrace
