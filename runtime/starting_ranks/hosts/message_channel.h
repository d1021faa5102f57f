#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/starting_ranks/rank_environment.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

/// The version of what follows.
inline constexpr int kHostProtocol = 1;
/// The agent's first line begins so. A remote shell may print anything before it.
inline constexpr const char* kAgentGreeting = "pipe-run agent ";

/// A line of JSON that pipe-run and the agent on another host send each other. Only those
/// fields mean something, and travel, that the kind has. An order is what home says, a word what an
/// agent says. Bytes of a file follow the line of kLog and kFile.
struct HostMessage {
  enum class Kind {
    kBeat,      ///< both, once a second: I am here
    kHello,     ///< word: protocol, version
    kPrepare,   ///< order: command, directory, environment, places, meets, port
    kPrepared,  ///< word: addresses and port where it meets the others, and token; text: the folder
                ///< of its logs
    kRefused,   ///< word: text says what cannot be done
    kReach,     ///< order: which of these addresses do you reach, where port says token?
    kReached,   ///< word: addresses
    kStart,     ///< order: address and port of the master; begin
    kSignal,    ///< order: number, to all ranks
    kLog,       ///< word: bytes of the log of rank
    kFile,      ///< word: bytes that follow those before in the file called name
    kEnded,     ///< word: rank has ended: succeeded, wasKilled, text
    kDone,      ///< word: all ranks have ended, and all of their files have been sent; warnings
    kBye        ///< order: all have been stored; end
  };

  Kind kind = Kind::kBeat;
  int protocol = 0;
  std::string version{};
  std::vector<std::string> command{};
  std::string directory{};
  std::vector<std::string> environment{};  ///< "NAME=value" each
  std::vector<RankPlace> places{};         ///< without master and log folder
  bool meets = false;                      ///< the first rank is there: choose the port
  std::vector<std::string> addresses{};
  int port = 0;
  std::string token{};
  std::string address{};
  int number = 0;
  int rank = 0;
  std::size_t bytes = 0;
  std::string name{};
  bool succeeded = false;
  bool wasKilled = false;
  std::string text{};
  std::vector<std::string> warnings{};
};

/// A line with its newline; that of a kHello begins with kAgentGreeting. Throws Error where a name
/// or a path is no UTF-8, which JSON cannot hold.
std::string toLine(const HostMessage& message);

/// Reads a line without its newline, and after the greeting. Throws Error for what is no message.
HostMessage readHostMessage(const std::string& line);

/// A side that has not been heard of for this long is taken for gone.
inline constexpr Nanoseconds kHostSilence = 5 * kNsPerSecond;

/// Sends messages in their order, and a beat where there was none for a second. A thread of its own
/// writes them: so the other side hears of this one while this waits for a disk, and this waits for
/// no reader. Threads: any, one at a time.
class MessageSender {
 public:
  /// Writes to `fd`, which must stay open.
  explicit MessageSender(int fd);
  /// Drops what has not been written.
  ~MessageSender();
  MessageSender(const MessageSender&) = delete;
  MessageSender& operator=(const MessageSender&) = delete;

  /// `bytes` follow the line. Throws as toLine().
  void send(const HostMessage& message, const std::string& bytes = {});
  /// How many bytes have not been written yet.
  std::size_t pending() const;
  /// Waits until all is written, nobody reads any more, or `limit` has passed.
  void flush(Nanoseconds limit);

 private:
  void run();
  bool writeAll(const std::string& text);

  const int fd_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> texts_;
  std::size_t pending_ = 0;
  bool ending_ = false;
  bool hasFailed_ = false;
  std::thread thread_;
};

/// Takes what the other side sends, without waiting for it. Not thread-safe.
class MessageReader {
 public:
  struct Received {
    HostMessage message;
    std::string bytes;
  };

  /// Reads from `fd`, which must stay open. `isGreeted`: the other side says kAgentGreeting first.
  MessageReader(int fd, bool isGreeted);

  /// Reads what is there. False: the other side has closed the connection, and all that it sent has
  /// been read.
  bool readSome();
  /// The next message that has come whole. Throws Error for what is none.
  std::optional<Received> next();
  /// The whole lines that came before the greeting since the last call; `everything`: and what has
  /// come of the next.
  std::string takeStrayText(bool everything);

  /// CLOCK_MONOTONIC of the last byte, or of the start.
  Nanoseconds lastHeard() const { return lastHeard_; }

 private:
  const int fd_;
  bool awaitsGreeting_;
  bool isClosed_ = false;
  std::string received_;
  std::string stray_;
  std::optional<HostMessage> head_;  // its bytes have not all come yet
  Nanoseconds lastHeard_ = 0;
};

}  // namespace pipetrace
