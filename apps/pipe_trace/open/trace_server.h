#pragma once

#include <memory>
#include <string>

namespace pipetrace {

/// Serves one file over HTTP on 127.0.0.1, to Perfetto's UI only. It answers GET and HEAD of the
/// one path that holds the file, also for a range of it. The path has a random part, so only who
/// knows the link finds it. Headers let a page of `kPerfettoOrigin` read it. All other paths are
/// not found; pages of other origins are refused.
///
/// Any program of this machine can connect. So connections without a whole request are few, short
/// and soon closed, no body is read, and none of them is waited for.
class TraceServer {
 public:
  static constexpr const char* kPerfettoOrigin = "https://ui.perfetto.dev";
  /// The only local port that the UI's content security policy lets it connect to.
  static constexpr int kPerfettoPort = 9001;

  /// Opens the file and the port (0: any that is free). Throws Error when the file cannot be
  /// read, or the port is taken.
  TraceServer(const std::string& file, int port);
  ~TraceServer();
  TraceServer(const TraceServer&) = delete;
  TraceServer& operator=(const TraceServer&) = delete;

  /// The page that loads the file.
  std::string link() const;

  /// From now on programs of other users are refused, root's aside. For a link that was an
  /// argument of a program: all users can see those.
  void refuseOtherUsers();

  /// Serves until every byte of the file has been fetched.
  void serveOnce();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pipetrace
