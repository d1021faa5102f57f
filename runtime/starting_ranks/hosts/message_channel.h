#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "runtime/starting_ranks/hosts/host_message.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

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
