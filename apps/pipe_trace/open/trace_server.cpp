#include "apps/pipe_trace/open/trace_server.h"

#include <fcntl.h>
#include <httplib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>
#include <utility>

#include "trace/error.h"

namespace pipetrace {
namespace {

constexpr const char* kAddress = "127.0.0.1";
constexpr std::size_t kPiece = std::size_t{1} << 18;

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
    if (fd_ < 0) fail(path, std::strerror(errno));
    struct stat status {};
    if (::fstat(fd_, &status) != 0 || !S_ISREG(status.st_mode)) {
      ::close(fd_);
      fail(path, "it is no file; name a profile");
    }
    size_ = static_cast<std::size_t>(status.st_size);
    if (size_ > 0) return;
    ::close(fd_);
    fail(path, "it is empty");
  }
  ~ServedFile() { ::close(fd_); }
  ServedFile(const ServedFile&) = delete;
  ServedFile& operator=(const ServedFile&) = delete;

  std::size_t size() const { return size_; }

  /// Sends what is at `offset`, at most `length` bytes; returns how many, 0 when it cannot.
  std::size_t send(std::size_t offset, std::size_t length, httplib::DataSink& sink) const {
    std::array<char, kPiece> piece;
    const ssize_t n =
        ::pread(fd_, piece.data(), std::min(length, piece.size()), static_cast<off_t>(offset));
    if (n <= 0 || !sink.write(piece.data(), static_cast<std::size_t>(n))) return 0;
    return static_cast<std::size_t>(n);
  }

 private:
  [[noreturn]] static void fail(const std::string& path, const std::string& why) {
    throw Error("cannot open " + path + ": " + why);
  }

  int fd_;
  std::size_t size_ = 0;
};

}  // namespace

class TraceServer::Impl {
 public:
  Impl(const std::string& file, int port) : file_(file), path_("/" + plainName(file)) {
    setRules();
    // The library's own way would let two servers share the port.
    server_.set_socket_options([](socket_t socket) {
      const int on = 1;
      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    });
    server_.set_keep_alive_max_count(1);
    if (port == 0) {
      port_ = server_.bind_to_any_port(kAddress);
    } else {
      port_ = server_.bind_to_port(kAddress, port) ? port : -1;
    }
    if (port_ > 0) return;
    throw Error("cannot listen on " + std::string(kAddress) + ":" + std::to_string(port) +
                ": the port is in use; end the program that has it (another pipe-trace open, or "
                "trace_processor)");
  }

  std::string link() const {
    return std::string(kPerfettoOrigin) + "/#!/?url=http://" + kAddress + ":" +
           std::to_string(port_) + path_;
  }

  void serve() { server_.listen_after_bind(); }

 private:
  void setRules() {
    server_.set_pre_routing_handler(
        [this](const httplib::Request& request, httplib::Response& response) {
          return admit(request, response) ? httplib::Server::HandlerResponse::Unhandled
                                          : httplib::Server::HandlerResponse::Handled;
        });
    const std::string anything = ".*";
    server_.Get(anything, [this](const httplib::Request& request, httplib::Response& response) {
      if (request.path != path_) {
        response.status = 404;
        return;
      }
      response.set_header("Cache-Control", "no-cache");
      response.set_content_provider(
          file_.size(), "application/octet-stream",
          [this](std::size_t offset, std::size_t length, httplib::DataSink& sink) {
            const std::size_t n = file_.send(offset, length, sink);
            noteSent(offset, n);
            return n > 0;
          },
          [this](bool) { stopWhenAllIsSent(); });
    });
    // A browser sends this request before a page of the internet may talk to this machine.
    server_.Options(anything, [this](const httplib::Request& request, httplib::Response& response) {
      response.status = request.path == path_ ? 204 : 404;
      response.set_header("Access-Control-Allow-Methods", "GET, HEAD");
      response.set_header("Access-Control-Allow-Headers", "Range");
      response.set_header("Access-Control-Allow-Private-Network", "true");
    });
  }

  /// Refuses pages of other sites, even when their host name leads to this machine.
  bool admit(const httplib::Request& request, httplib::Response& response) const {
    const std::string host = request.get_header_value("Host");
    const std::string port = ":" + std::to_string(port_);
    const std::string origin = request.get_header_value("Origin");
    const bool isHere = host == kAddress + port || host == "localhost" + port;
    const bool isOther = origin.empty() ? request.get_header_value("Sec-Fetch-Site") == "cross-site"
                                        : origin != kPerfettoOrigin;
    if (!isHere || isOther) {
      response.status = 403;
      return false;
    }
    response.set_header("Access-Control-Allow-Origin", kPerfettoOrigin);
    response.set_header("Vary", "Origin");
    return true;
  }

  void noteSent(std::size_t offset, std::size_t length) {
    const std::lock_guard lock(mutex_);
    // The answer to the next request may be noted first.
    ahead_.emplace(offset, offset + length);
    while (!ahead_.empty() && ahead_.begin()->first <= sent_) {
      sent_ = std::max(sent_, ahead_.begin()->second);
      ahead_.erase(ahead_.begin());
    }
  }

  void stopWhenAllIsSent() {
    const std::lock_guard lock(mutex_);
    if (sent_ >= file_.size()) server_.stop();
  }

  ServedFile file_;
  std::string path_;
  int port_ = -1;
  httplib::Server server_;
  std::mutex mutex_;
  std::size_t sent_ = 0;  // bytes that have been fetched without a gap from the start
  std::set<std::pair<std::size_t, std::size_t>> ahead_;  // begins and ends of pieces after a gap
};

TraceServer::TraceServer(const std::string& file, int port)
    : impl_(std::make_unique<Impl>(file, port)) {}

TraceServer::~TraceServer() = default;

std::string TraceServer::link() const { return impl_->link(); }

void TraceServer::serveOnce() { impl_->serve(); }

}  // namespace pipetrace
