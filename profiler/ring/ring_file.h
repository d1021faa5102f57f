#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "profiler/clock/host_clock.h"
#include "trace/log/ring_format.h"

namespace pipetrace {

/// Zeroed memory in pieces, in a file that outlives the process. Where that is not possible (disk
/// full, no right to write) it is ordinary memory, as recording must not fail for it. Not
/// thread-safe.
class RingFile {
 public:
  /// Creates `path` + ".ring", or, if left-over files of earlier runs are in the way, `path` +
  /// ".1.ring" and so on. Empty `path`: ordinary memory, as when the disk has no room for `room`
  /// bytes of pieces.
  explicit RingFile(const std::string& path, std::size_t room = 0);
  /// remove().
  ~RingFile();
  RingFile(const RingFile&) = delete;
  RingFile& operator=(const RingFile&) = delete;

  /// One more piece at the end of the file. The memory stays as long as this object. Throws
  /// std::bad_alloc when there is not even ordinary memory.
  struct Piece {
    std::byte* memory = nullptr;
    std::uint64_t offset = 0;
    bool isInFile = false;
  };
  Piece extend(std::size_t bytes);

  /// The file's name without its folder; empty: there is none.
  std::string name() const;
  /// Why memory is not in a file; empty: all of it is.
  const std::string& whyNot() const { return whyNot_; }

  /// The bytes that a piece of this size takes in the file.
  static std::size_t spaceOf(std::size_t bytes);

  /// Deletes the file, wherever its folder has been moved to; the memory stays, and with it the
  /// space on the disk. Where the file cannot be deleted it is emptied, and ordinary memory takes
  /// its place.
  void remove() noexcept;
  /// remove(), and moves the contents to ordinary memory: the disk has its space back, unless there
  /// is no memory for that.
  void moveToMemory() noexcept;
  /// In a forked child: closes the file, which is the parent's, and unmaps the memory, which both
  /// would write.
  void abandon() noexcept;

 private:
  struct Mapping {
    void* memory;
    std::size_t bytes;
  };

  void create(const std::string& path, std::size_t room);
  bool copyToMemory() noexcept;
  int reserve(std::size_t bytes) noexcept;
  void refuse(int error);

  std::string path_;
  std::string whyNot_;
  int folder_ = -1;
  int fd_ = -1;
  bool removed_ = false;
  std::uint64_t size_ = 0;
  std::vector<Mapping> mappings_;
};

/// The first piece of a ring file: everything that a reader needs besides the jobs.
class RingFront {
 public:
  /// Takes the piece and fills in the header, all but the Meta line's text. `slots`: the slots of
  /// each lane.
  RingFront(RingFile& file, std::size_t slots, Nanoseconds wallOffset, const HostClock& clock);

  ring_format::FileHeader& header() { return *header_; }
  ring_format::Text* texts() { return texts_; }
  ring_format::CounterSlot* counters() { return counters_; }

  /// Log thread: adds the newest anchor of `clock`, unless it is there.
  void noteAnchor(const HostClock& clock) noexcept;
  /// Lane `index` is complete, at this place of the file; 0: the file has no room for it.
  void noteLane(int index, std::uint64_t offset) noexcept;
  /// This many more records have left the ring, or are about to, and will never be in the log.
  void noteLost(std::int64_t records) noexcept;
  /// The run's Meta line, with which the file is complete. `payload` is the text after its mark.
  void finish(const std::string& payload) noexcept;

 private:
  ring_format::FileHeader* header_;
  ring_format::Text* texts_;
  ring_format::CounterSlot* counters_;
};

}  // namespace pipetrace
