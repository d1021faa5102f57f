#include "apps/pipe_trace/open/trace_server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "trace/error.h"
#include "trace/nanoseconds.h"
#include "trace/sockets/owned_fd.h"
#include "trace/sockets/pending_connections.h"
#include "trace/sockets/process_sockets.h"
#include "trace/sockets/tcp.h"

namespace pipetrace {

namespace {

/// The lines of an HTTP/1 request before its body. The text must outlive the object.
class HttpRequest {
 public:
  /// With it the lines end.
  static constexpr std::string_view kEnd = "\r\n\r\n";

  explicit HttpRequest(std::string_view text);

  /// "GET"; empty where the first line is none of HTTP/1.
  std::string_view method() const { return method_; }
  std::string_view path() const { return path_; }
  /// The value of the first header of that name, in any case; empty: there is none.
  std::string_view header(std::string_view name) const;

 private:
  std::string_view method_;
  std::string_view path_;
  std::string_view headers_;
};

/// A part of a file: from `begin` up to `end`, which is not in it.
struct WantedBytes {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool isPart = false;  ///< a range was asked for
};

constexpr std::string_view kNewline = "\r\n";

/// The text before the first `mark`; both are removed from `text`.
std::string_view takeUntil(std::string_view& text, std::string_view mark) {
  const std::size_t at = std::min(text.find(mark), text.size());
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(std::min(at + mark.size(), text.size()));
  return taken;
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool isSameName(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

std::string_view withoutBlanks(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(" \t") + 1);  // npos + 1 is 0
}

/// A number of digits alone; the largest where it is larger.
std::optional<std::uint64_t> numberIn(std::string_view text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (stop != end || error == std::errc::invalid_argument) return std::nullopt;
  return error == std::errc() ? value : std::numeric_limits<std::uint64_t>::max();
}

HttpRequest::HttpRequest(std::string_view text) {
  std::string_view line = takeUntil(text, kNewline);
  const std::string_view method = takeUntil(line, " ");
  path_ = takeUntil(line, " ");
  if (line.starts_with("HTTP/1.")) method_ = method;
  headers_ = text;
}

std::string_view HttpRequest::header(std::string_view name) const {
  for (std::string_view rest = headers_; !rest.empty();) {
    std::string_view line = takeUntil(rest, kNewline);
    if (isSameName(takeUntil(line, ":"), name)) return withoutBlanks(line);
  }
  return {};
}

/// The part of `size` bytes that the value of a header `Range` names, cut at their end. All of them
/// for several ranges, and for a text that is none, as HTTP allows. Nothing where the range has no
/// byte of them.
std::optional<WantedBytes> wantedBytes(std::string_view range, std::size_t size) {
  constexpr std::string_view kUnit = "bytes=";
  const WantedBytes all{.begin = 0, .end = size, .isPart = false};
  const std::size_t dash = range.find('-');
  if (!range.starts_with(kUnit) || dash == std::string_view::npos) return all;
  const std::string_view before = range.substr(kUnit.size(), dash - kUnit.size());
  const std::string_view behind = range.substr(dash + 1);
  const auto first = numberIn(before);
  const auto last = numberIn(behind);
  if ((!first && !before.empty()) || (!last && !behind.empty()) || (!first && !last)) return all;
  if (first && last && *first > *last) return all;
  const std::size_t begin =
      first ? std::min<std::uint64_t>(*first, size) : size - std::min<std::uint64_t>(*last, size);
  const std::size_t end =
      first && last && *last < size ? static_cast<std::size_t>(*last) + 1 : size;
  if (begin >= end) return std::nullopt;
  return WantedBytes{.begin = begin, .end = end, .isPart = true};
}

constexpr const char* kAddress = "127.0.0.1";
constexpr std::size_t kPiece = std::size_t{1} << 18;
constexpr std::size_t kMostAnswers = 64;  // to programs that do not know the link
// Browsers open connections before they need them.
constexpr PendingConnections::Limits kLimits{
    .most = 128, .longest = std::size_t{1} << 14, .patience = 5 * kNsPerSecond};
constexpr Nanoseconds kFarewell = kNsPerSecond;    // for the other side to close
constexpr Nanoseconds kStall = 60 * kNsPerSecond;  // without a byte that goes out
constexpr int kTickMs = 200;

Nanoseconds now() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// A name that needs no escapes in a link.
std::string plainName(const std::string& file) {
  std::string name = std::filesystem::path(file).filename().string();
  for (char& c : name) {
    const bool isPlain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                         (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
    if (!isPlain) c = '_';
  }
  return name;
}

/// An open plain file.
class ServedFile {
 public:
  explicit ServedFile(const std::string& path)
      : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (!fd_.isOpen()) fail(path, std::strerror(errno));
    struct stat status {};
    if (::fstat(fd_.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
      fail(path, "it is no file; name a profile");
    }
    size_ = static_cast<std::size_t>(status.st_size);
    if (size_ == 0) fail(path, "it is empty");
  }

  std::size_t size() const { return size_; }

  /// A part of the file, which holds until the next call; empty where it cannot be read.
  std::string_view read(std::size_t offset, std::size_t length) {
    const ssize_t n = ::pread(fd_.get(), piece_.data(), std::min(length, piece_.size()),
                              static_cast<off_t>(offset));
    return {piece_.data(), static_cast<std::size_t>(std::max<ssize_t>(n, 0))};
  }

 private:
  [[noreturn]] static void fail(const std::string& path, const std::string& why) {
    throw Error("cannot open " + path + ": " + why);
  }

  OwnedFd fd_;
  std::size_t size_ = 0;
  std::array<char, kPiece> piece_{};
};

/// The bytes of a file that have been sent, in any order.
class SentBytes {
 public:
  void add(std::size_t begin, std::size_t end) {
    ahead_.emplace(begin, end);
    while (!ahead_.empty() && ahead_.begin()->first <= sent_) {
      sent_ = std::max(sent_, ahead_.begin()->second);
      ahead_.erase(ahead_.begin());
    }
  }
  /// Without a gap from the start.
  std::size_t sent() const { return sent_; }

 private:
  std::size_t sent_ = 0;
  std::set<std::pair<std::size_t, std::size_t>> ahead_;  // behind a gap
};

/// A connection whose request is there.
struct Answer {
  OwnedFd fd;
  std::string text;      // to be sent first
  WantedBytes bytes{};   // of the file, behind it
  bool isFetch = false;  // of the file
  bool hasSaidAll = false;
  Nanoseconds end = 0;
};

OwnedFd listenOn(int port) {
  try {
    return listenAt(kAddress, port);
  } catch (const SocketError& error) {
    if (error.number() != EADDRINUSE) throw;
    throw Error("cannot listen on " + std::string(kAddress) + ":" + std::to_string(port) +
                ": the port is in use; end the program that has it (another pipe-trace open, or "
                "trace_processor)");
  }
}

}  // namespace

class TraceServer::Impl {
 public:
  Impl(const std::string& file, int port)
      : file_(file),
        path_("/" + randomToken() + "/" + plainName(file)),
        listener_(listenOn(port)),
        port_(portOf(listener_)) {}

  std::string link() const {
    return std::string(kPerfettoOrigin) + "/#!/?url=http://" + kAddress + ":" +
           std::to_string(port_) + path_;
  }

  void refuseOtherUsers() { refusesOtherUsers_ = true; }

  void serve() {
    while (sent_.sent() < file_.size() || isFetching()) {
      await();
      const auto isRequest = [](const std::string& received) {
        return received.find(HttpRequest::kEnd) == std::string::npos
                   ? PendingConnections::Answer::kWait
                   : PendingConnections::Answer::kAdmit;
      };
      for (PendingConnections::Admitted& one : newcomers_.admit(listener_, now(), isRequest)) {
        begin(std::move(one));
      }
      std::erase_if(answers_, [this](Answer& answer) { return isOver(answer); });
    }
  }

 private:
  bool isFetching() const {
    return std::any_of(answers_.begin(), answers_.end(),
                       [](const Answer& answer) { return answer.isFetch; });
  }

  void await() {
    std::vector<pollfd> waiting{{.fd = listener_.get(), .events = POLLIN, .revents = 0}};
    newcomers_.addTo(waiting);
    for (const Answer& answer : answers_) {
      const short events = answer.hasSaidAll ? POLLIN : POLLOUT;
      waiting.push_back({.fd = answer.fd.get(), .events = events, .revents = 0});
    }
    ::poll(waiting.data(), waiting.size(), waiting.size() > 1 ? kTickMs : -1);
  }

  void begin(PendingConnections::Admitted one) {
    Answer answer{.fd = std::move(one.fd), .text = {}, .end = now() + kFarewell};
    answerTo(HttpRequest(one.received), answer);
    if (answer.isFetch) {
      answer.end = now() + kStall;
    } else {
      makeRoom();
    }
    answers_.push_back(std::move(answer));
  }

  void makeRoom() {
    const auto isOther = [](const Answer& answer) { return !answer.isFetch; };
    if (std::count_if(answers_.begin(), answers_.end(), isOther) <
        static_cast<std::ptrdiff_t>(kMostAnswers)) {
      return;
    }
    answers_.erase(std::find_if(answers_.begin(), answers_.end(), isOther));
  }

  void answerTo(const HttpRequest& request, Answer& answer) const {
    if (request.method().empty()) return say("400 Bad Request", {}, answer);
    if (!isAdmitted(request)) return say("403 Forbidden", {}, answer);
    const std::string forUi =
        std::string("Access-Control-Allow-Origin: ") + kPerfettoOrigin + "\r\nVary: Origin\r\n";
    if (request.path() != path_) return say("404 Not Found", forUi, answer);
    if (refusesOtherUsers_ && isOtherUsers(answer.fd)) return say("403 Forbidden", forUi, answer);
    const bool isGet = request.method() == "GET";
    if (isGet || request.method() == "HEAD") return sayFile(request, isGet, forUi, answer);
    constexpr std::string_view kMethods = "GET, HEAD, OPTIONS\r\n";
    if (request.method() != "OPTIONS") {
      return say("405 Method Not Allowed", forUi + "Allow: " + std::string(kMethods), answer);
    }
    // A browser sends this request before a page of the internet may talk to this machine.
    say("204 No Content",
        forUi + "Access-Control-Allow-Methods: GET, HEAD\r\n" +
            "Access-Control-Allow-Headers: Range\r\n" +
            "Access-Control-Allow-Private-Network: true\r\n",
        answer);
  }

  void sayFile(const HttpRequest& request, bool isGet, const std::string& forUi,
               Answer& answer) const {
    const std::string size = std::to_string(file_.size());
    const auto bytes = wantedBytes(isGet ? request.header("Range") : "", file_.size());
    if (!bytes) {
      return say("416 Range Not Satisfiable", forUi + "Content-Range: bytes */" + size + "\r\n",
                 answer);
    }
    std::string headers = forUi + "Cache-Control: no-cache\r\nAccept-Ranges: bytes\r\n" +
                          "Content-Type: application/octet-stream\r\n";
    if (bytes->isPart) {
      headers += "Content-Range: bytes " + std::to_string(bytes->begin) + "-" +
                 std::to_string(bytes->end - 1) + "/" + size + "\r\n";
    }
    say(bytes->isPart ? "206 Partial Content" : "200 OK", headers, answer,
        bytes->end - bytes->begin);
    answer.isFetch = isGet;
    if (isGet) answer.bytes = *bytes;
  }

  /// `headers`: whole lines.
  static void say(std::string_view status, const std::string& headers, Answer& answer,
                  std::size_t length = 0) {
    answer.text = "HTTP/1.1 " + std::string(status) + "\r\nConnection: close\r\n" + headers;
    if (!status.starts_with("204")) {
      answer.text += "Content-Length: " + std::to_string(length) + "\r\n";
    }
    answer.text += "\r\n";
  }

  /// Refuses pages of other sites, even when their host name leads to this machine.
  bool isAdmitted(const HttpRequest& request) const {
    const std::string_view host = request.header("Host");
    const std::string port = ":" + std::to_string(port_);
    const std::string_view origin = request.header("Origin");
    const bool isHere = host == kAddress + port || host == "localhost" + port;
    const bool isOther = origin.empty() ? request.header("Sec-Fetch-Site") == "cross-site"
                                        : origin != kPerfettoOrigin;
    return isHere && !isOther;
  }

  static bool isOtherUsers(const OwnedFd& connection) {
    const auto user = userBehind(connection);
    return user && *user != 0 && *user != ::geteuid();
  }

  /// Goes on with an answer, and says whether nothing is left to do.
  bool isOver(Answer& answer) {
    if (now() >= answer.end) return true;
    if (answer.hasSaidAll) return hasClosed(answer);
    if (answer.text.empty()) {
      const std::string_view piece =
          file_.read(answer.bytes.begin, answer.bytes.end - answer.bytes.begin);
      if (piece.empty()) return true;
      const auto n = send(answer, piece);
      if (!n) return true;
      if (*n > 0) sent_.add(answer.bytes.begin, answer.bytes.begin + *n);
      answer.bytes.begin += *n;
    } else {
      const auto n = send(answer, answer.text);
      if (!n) return true;
      answer.text.erase(0, *n);
    }
    answer.hasSaidAll = answer.text.empty() && answer.bytes.begin == answer.bytes.end;
    if (!answer.hasSaidAll) return false;
    ::shutdown(answer.fd.get(), SHUT_WR);
    answer.end = now() + kFarewell;
    return false;
  }

  /// How many bytes have gone, 0 if none can go now; nothing: nobody is there any more.
  static std::optional<std::size_t> send(Answer& answer, std::string_view bytes) {
    const ssize_t n =
        ::send(answer.fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno != EAGAIN && errno != EINTR) return std::nullopt;
    if (n > 0 && answer.isFetch) answer.end = now() + kStall;
    return static_cast<std::size_t>(std::max<ssize_t>(n, 0));
  }

  /// Drops all that still comes. A connection that is closed with unread bytes loses the answer.
  static bool hasClosed(const Answer& answer) {
    std::array<char, 1 << 16> dropped{};
    const ssize_t n = ::recv(answer.fd.get(), dropped.data(), dropped.size(), MSG_DONTWAIT);
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
  }

  ServedFile file_;
  std::string path_;
  OwnedFd listener_;
  int port_ = -1;
  bool refusesOtherUsers_ = false;
  PendingConnections newcomers_{kLimits};
  std::vector<Answer> answers_;
  SentBytes sent_;
};

TraceServer::TraceServer(const std::string& file, int port)
    : impl_(std::make_unique<Impl>(file, port)) {}

TraceServer::~TraceServer() = default;

std::string TraceServer::link() const { return impl_->link(); }

void TraceServer::refuseOtherUsers() { impl_->refuseOtherUsers(); }

void TraceServer::serveOnce() { impl_->serve(); }

}  // namespace pipetrace
