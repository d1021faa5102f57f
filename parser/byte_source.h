#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "parser/zstd_frames.h"

namespace pipetrace {

/// The bytes of one input in order; gzip and zstd, known by their first bytes, are decompressed on
/// the way. Files are read and not mapped: another process may cut one short, which must not end
/// this program. Not thread-safe.
class ByteSource {
 public:
  /// Opens a file, a FIFO or, for "-", standard input. Throws Error when that cannot be done, and
  /// for devices, which may never end.
  explicit ByteSource(const std::string& path);
  /// Bytes that are in memory already, under a name for messages.
  ByteSource(std::string name, std::string bytes);
  ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  /// The name for messages: the path, or "standard input".
  const std::string& name() const { return name_; }

  /// The next bytes without consuming them: `size`, or fewer at the end of the input. The view
  /// holds until the next call of anything here.
  std::string_view peek(std::size_t size);

  /// Moves up to `room` bytes to `to`; 0 only at the end. Throws Error when the system cannot read.
  /// Where a file has grown since its end was reached, what came is read, but for gzip.
  std::size_t read(char* to, std::size_t room);

  /// The number of bytes that it holds now, if any of them can be read at any time: for a plain
  /// file, or bytes in memory, not compressed. Nothing for other inputs. Nothing for empty files
  /// either, since some files that report no size are not empty.
  std::optional<std::size_t> plainSize();

  /// Copies up to `room` bytes from `offset` on, independently of read(); fewer only where the
  /// input ends. Call it only after plainSize() gave a size. Several threads may call it at once.
  std::size_t readAt(std::size_t offset, char* to, std::size_t room) const;

  /// From now on adds the bytes that are read from the file or pipe, compressed or not, to
  /// `counter`, which must outlive it.
  void countInto(std::atomic<std::int64_t>* counter) { counter_ = counter; }

  /// From now on reading throws Error once `isCancelled`, which must outlive it, is true; also
  /// while it waits for a pipe.
  void endWhen(const std::atomic<bool>* isCancelled) { isCancelled_ = isCancelled; }

  /// The name of a file without the ending of compressed ones.
  static std::string_view plainName(std::string_view fileName);

  /// What is wrong with compressed data, at whose end or damage a line may be cut off; empty where
  /// nothing is. Damaged frames of zstd are passed over, with a line end in their place. gzip ends.
  const std::string& damage() const { return damage_; }

 private:
  struct Inflater;

  std::size_t readRaw(char* to, std::size_t room);
  void awaitInput() const;
  std::size_t readInflated(char* to, std::size_t room);
  std::size_t readFrames(char* to, std::size_t room);
  std::size_t readDecoded(char* to, std::size_t room);
  void start();
  bool fillWindow();

  void count(std::size_t bytes) const;

  std::string name_;
  std::atomic<std::int64_t>* counter_ = nullptr;
  const std::atomic<bool>* isCancelled_ = nullptr;
  bool isStandardInput_ = false;
  int fd_ = -1;
  std::string memory_;  // all of it when there is no file
  std::size_t memoryUsed_ = 0;
  std::string window_;         // bytes read from the input ...
  std::string_view raw_;       // ... and the end of them that is not decoded yet
  std::string ahead_;          // decoded by peek() ...
  std::size_t aheadUsed_ = 0;  // ... and how many of these were read since
  bool started_ = false;
  std::unique_ptr<Inflater> inflater_;  // null: not gzip
  std::unique_ptr<ZstdFrames> frames_;  // null: not zstd
  std::string_view decoded_;            // by them, not read yet
  std::string damage_;
};

}  // namespace pipetrace
