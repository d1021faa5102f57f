#include <arpa/inet.h>
#include <httplib.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <atomic>
#include <csignal>
#include <regex>
#include <thread>

#include "tests/pipe_trace/fixture.h"
#include "trace/sockets/owned_fd.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::StartsWith;

constexpr const char* kUi = "https://ui.perfetto.dev";

/// A connection to a port of this machine, which gives up after 5 s without an answer.
OwnedFd connectHere(int port) {
  OwnedFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval limit{.tv_sec = 5, .tv_usec = 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) fd.reset();
  return fd;
}

/// Whether the bytes could be sent.
bool say(const OwnedFd& connection, const std::string& bytes) {
  return ::send(connection.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0;
}

/// All that comes until the other side closes, or is silent for too long.
std::string allFrom(const OwnedFd& connection) {
  std::string text;
  std::array<char, 4096> piece{};
  ssize_t n = 0;
  while ((n = ::recv(connection.get(), piece.data(), piece.size(), 0)) > 0) {
    text.append(piece.data(), static_cast<std::size_t>(n));
  }
  return text;
}

std::string requestOf(const std::string& method, const std::string& path, int port) {
  return method + " " + path + " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port) + "\r\n";
}

/// Runs `pipe-trace open` and talks to it.
class OpenCommand : public PipeTrace {
 protected:
  /// Calls `talk` with the port and the path of the link. The program has to end by itself after
  /// that, unless stopAfterwards_ is set.
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
      if (stopAfterwards_ || HasFatalFailure()) ::kill(program, SIGTERM);
    };
    return run({"open", file, "--port", "0"},
               {.outFile = path("link"), .inChild = inChild_, .meanwhile = meanwhile});
  }

  /// Whether the program has ended; its exit code stays to be fetched.
  static bool hasEnded(pid_t program) {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(program), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == program;
  }

  std::string link_;
  bool stopAfterwards_ = false;
  std::function<void()> inChild_ = [] { ::unsetenv("DISPLAY"); };
};

TEST_F(OpenCommand, TheUiGetsTheFileAndThenItEnds) {
  const std::string bytes(1'000'000, 'x');
  write("my profile.json", bytes);
  const ProgramRun result = open(path("my profile.json"), [&](int port, const std::string& name) {
    EXPECT_THAT(name, MatchesRegex("/[0-9a-f]{32}/my_profile\\.json"));
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

TEST_F(OpenCommand, ARangeIsCutAtTheEndOfTheFileAndOneBehindItIsRefused) {
  write("a.pftrace", "0123456789");
  const ProgramRun result = open(path("a.pftrace"), [&](int port, const std::string& name) {
    const auto get = [&](const std::string& range) {
      return httplib::Client("127.0.0.1", port).Get(name, {{"Origin", kUi}, {"Range", range}});
    };
    for (const auto& [range, part] : {std::pair("bytes=1-99999999999", "123456789"),
                                      {"bytes=1-99999999999999999999999", "123456789"},
                                      {"bytes=-3", "789"},
                                      {"bytes=-99999999999", "0123456789"}}) {
      const auto answer = get(range);
      ASSERT_TRUE(answer) << range;
      EXPECT_EQ(answer->status, 206) << range;
      EXPECT_EQ(answer->get_header_value("Content-Length"), std::to_string(answer->body.size()));
      EXPECT_EQ(answer->body, part) << range;
    }
  });
  EXPECT_EQ(result.exitCode, 0) << result.err;
  stopAfterwards_ = true;
  open(path("a.pftrace"), [&](int port, const std::string& name) {
    for (const char* range : {"bytes=10-", "bytes=99999999999-", "bytes=-0"}) {
      httplib::Client client("127.0.0.1", port);
      const auto answer = client.Get(name, {{"Origin", kUi}, {"Range", range}});
      ASSERT_TRUE(answer) << range;
      EXPECT_EQ(answer->status, 416) << range;
      EXPECT_EQ(answer->get_header_value("Content-Range"), "bytes */10");
    }
  });
}

TEST_F(OpenCommand, OnlyTheLinkLeadsToTheFile) {
  write("a.json", "secret");
  const std::string file = path("a.json");
  std::string earlier;
  for (int i = 0; i < 2; ++i) {
    const ProgramRun result = open(file, [&](int port, const std::string& name) {
      std::string almost = name;
      almost[1] = almost[1] == '0' ? '1' : '0';
      for (const std::string& other :
           {std::string("/a.json"), name.substr(0, 34), name.substr(0, 33), almost, earlier}) {
        if (other.empty()) continue;
        httplib::Client client("127.0.0.1", port);
        const auto answer = client.Get(other);
        ASSERT_TRUE(answer) << other;
        EXPECT_EQ(answer->status, 404) << other;
        EXPECT_THAT(answer->body, IsEmpty());
      }
      httplib::Client client("127.0.0.1", port);
      const auto answer = client.Get(name, {{"Origin", kUi}});
      ASSERT_TRUE(answer);  // none of these was the one fetch
      EXPECT_EQ(answer->body, "secret");
      earlier = name;
    });
    EXPECT_EQ(result.exitCode, 0) << result.err;
  }
}

TEST_F(OpenCommand, AnotherUserWhoSeesTheLinkAsAnArgumentCannotFetchTheFile) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can connect as another user";
  write("a.json", "secret");
  write("xdg-open", "#!/bin/sh\n");
  std::filesystem::permissions(path("xdg-open"), std::filesystem::perms::owner_all);
  inChild_ = [programs = folder_.string()] {
    ::setenv("DISPLAY", ":99", 1);
    ::setenv("PATH", (programs + ":/usr/bin:/bin").c_str(), 1);
  };
  const ProgramRun result = open(path("a.json"), [&](int port, const std::string& name) {
    const std::string request = requestOf("GET", name, port) + "\r\n";
    const pid_t stranger = ::fork();
    if (stranger == 0) {
      constexpr uid_t kNobody = 65534;
      if (::setuid(kNobody) != 0) ::_exit(2);
      const OwnedFd connection = connectHere(port);
      say(connection, request);
      ::_exit(allFrom(connection).starts_with("HTTP/1.1 403 ") ? 0 : 1);
    }
    int status = -1;
    ::waitpid(stranger, &status, 0);
    EXPECT_EQ(status, 0);
    const OwnedFd own = connectHere(port);
    say(own, request);
    EXPECT_THAT(allFrom(own), StartsWith("HTTP/1.1 200 "));
  });
  EXPECT_EQ(result.exitCode, 0) << result.err;
}

TEST_F(OpenCommand, ABodyIsNotWaitedFor) {
  write("a.json", "[]");
  stopAfterwards_ = true;
  open(path("a.json"), [&](int port, const std::string& name) {
    for (const auto& [path, status] : {std::pair(name, "405"), {std::string("/"), "404"}}) {
      const OwnedFd connection = connectHere(port);
      say(connection, requestOf("POST", path, port) + "Content-Length: 629145600\r\n\r\nfirst");
      EXPECT_THAT(allFrom(connection), StartsWith(std::string("HTTP/1.1 ") + status));
    }
  });
}

TEST_F(OpenCommand, ARequestWithoutAnEndIsNotKept) {
  write("a.json", "[]");
  stopAfterwards_ = true;
  open(path("a.json"), [&](int port, const std::string& name) {
    const OwnedFd connection = connectHere(port);
    const std::string line = "X: " + std::string(1021, 'x') + "\r\n";
    say(connection, requestOf("GET", name, port));
    int lines = 0;
    while (lines < 10'000 && say(connection, line)) ++lines;
    EXPECT_LT(lines, 10'000);
  });
}

TEST_F(OpenCommand, ConnectionsThatSayNothingOrLittleDelayNeitherTheUiNorTheEnd) {
  write("a.json", "[]");
  std::vector<OwnedFd> strangers;
  std::thread dripping;
  std::atomic<bool> dripsToTheEnd = false;
  const ProgramRun result = open(path("a.json"), [&](int port, const std::string& name) {
    for (int i = 0; i < 80; ++i) {
      strangers.push_back(connectHere(port));
      if (i % 2 == 0) say(strangers.back(), requestOf("GET", "/", port) + "X: ");
    }
    dripping = std::thread([&] {
      constexpr int kDrips = 200;
      int drips = 0;
      while (drips < kDrips && say(strangers.front(), "x")) {
        ++drips;
        ::usleep(100'000);
      }
      dripsToTheEnd = drips == kDrips;
    });
    httplib::Client client("127.0.0.1", port);  // which waits 5 s for an answer
    const auto answer = client.Get(name, {{"Origin", kUi}});
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->body, "[]");
  });
  EXPECT_EQ(result.exitCode, 0) << result.err;
  dripping.join();
  EXPECT_FALSE(dripsToTheEnd);  // the program ended while they were still there
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
    for (const char* other : {"/", "/a.json", "/b.json", "/../b.json", "/%2e%2e/a.json", "//a.json",
                              "/status", "/a.json/", "/a.json/../b.json"}) {
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
    EXPECT_EQ(posted->status, 405);
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
