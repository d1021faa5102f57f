#include "profiler/ring/ring_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <new>
#include <tuple>
#include <utility>

#include "trace/log/ring_format.h"

namespace pipetrace {
namespace {

constexpr int kMostLeftOver = 1000;
constexpr std::size_t kPage = 64 * 1024;  // the largest page of any Linux: mappings begin on one

/// The first write to a page of a file's mapping calls the file system, even if the page is there.
/// That should happen here, and not in the middle of a recording call.
void touch(std::byte* memory, std::size_t bytes) noexcept {
  const auto step = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  for (std::size_t i = 0; i < bytes; i += step) {
    std::atomic_ref(memory[i]).store(std::byte{0}, std::memory_order_relaxed);
  }
}

}  // namespace

RingFile::RingFile(const std::string& path, std::size_t room) {
  if (!path.empty()) create(path, room);
}

RingFile::~RingFile() {
  for (const Mapping& mapping : mappings_) munmap(mapping.memory, mapping.bytes);
  mappings_.clear();
  remove();
  if (fd_ >= 0) close(fd_);
  if (folder_ >= 0) close(folder_);
}

void RingFile::create(const std::string& path, std::size_t room) {
  // The open folder finds the file again after it has been moved.
  const std::string folder = std::filesystem::path(path).parent_path();
  folder_ = open(folder.empty() ? "." : folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  for (int i = 0; i < kMostLeftOver; ++i) {
    path_ = path + (i == 0 ? "" : "." + std::to_string(i)) + std::string(ring_format::kFileSuffix);
    fd_ = open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd_ >= 0 || errno != EEXIST) break;
  }
  if (fd_ < 0) return refuse(errno);
  if (room == 0) return;
  if (const int error = reserve(room)) refuse(error);
}

void RingFile::refuse(int error) {
  if (whyNot_.empty()) whyNot_ = path_ + ": " + std::strerror(error);
  if (fd_ < 0 || size_ > 0) return;
  remove();
  close(fd_);
  fd_ = -1;
}

int RingFile::reserve(std::size_t bytes) noexcept {
  const std::uint64_t end = size_ + bytes;
  // Going past the limit would not only fail but raise SIGXFSZ in the thread of the caller.
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && end > limit.rlim_cur) return EFBIG;
  // Not ftruncate: on a full disk the first touch of a page without a place ends in SIGBUS.
  int error = EINTR;
  while (error == EINTR) {
    error = posix_fallocate(fd_, static_cast<off_t>(size_), static_cast<off_t>(bytes));
  }
  return error;
}

std::size_t RingFile::spaceOf(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

RingFile::Piece RingFile::extend(std::size_t bytes) {
  bytes = spaceOf(bytes);
  if (fd_ >= 0) {
    if (const int error = reserve(bytes)) {
      refuse(error);
    } else {
      void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                                fd_, static_cast<off_t>(size_));
      if (memory != MAP_FAILED) {
        mappings_.push_back({memory, bytes});
        size_ += bytes;
        touch(static_cast<std::byte*>(memory), bytes);
        return {static_cast<std::byte*>(memory), size_ - bytes, true};
      }
      refuse(errno);
    }
  }
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  mappings_.push_back({memory, bytes});
  return {.memory = static_cast<std::byte*>(memory)};
}

std::string RingFile::name() const {
  return fd_ < 0 || size_ == 0 ? "" : std::filesystem::path(path_).filename().string();
}

void RingFile::remove() noexcept {
  if (fd_ < 0 || std::exchange(removed_, true)) return;
  const char* const name = path_.c_str() + path_.rfind('/') + 1;  // npos + 1 is 0
  if (unlinkat(folder_, name, 0) == 0 || errno == ENOENT) return;
  // A file that cannot be deleted (the folder is read-only by now) need not hold the disk's space.
  // Touching a mapping past the end of its file would end the program.
  if (copyToMemory()) std::ignore = ftruncate(fd_, 0);
}

bool RingFile::copyToMemory() noexcept {
  for (const Mapping& mapping : mappings_) {
    void* const copy =
        mmap(nullptr, mapping.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED) return false;
    std::memcpy(copy, mapping.memory, mapping.bytes);
    const int flags = MREMAP_MAYMOVE | MREMAP_FIXED;  // in the place of the file, in one go
    if (mremap(copy, mapping.bytes, mapping.bytes, flags, mapping.memory) == MAP_FAILED) {
      munmap(copy, mapping.bytes);
      return false;
    }
  }
  return true;
}

void RingFile::moveToMemory() noexcept {
  remove();
  if (fd_ >= 0 && copyToMemory()) close(std::exchange(fd_, -1));
}

void RingFile::abandon() noexcept {
  for (const Mapping& mapping : mappings_) munmap(mapping.memory, mapping.bytes);
  mappings_.clear();
  removed_ = true;
  if (fd_ >= 0) close(std::exchange(fd_, -1));
  if (folder_ >= 0) close(std::exchange(folder_, -1));
}

namespace rf = ring_format;

RingFront::RingFront(RingFile& file, std::size_t slots, Nanoseconds wallOffset,
                     const HostClock& clock) {
  std::byte* const memory = file.extend(rf::kFrontSize).memory;
  header_ = reinterpret_cast<rf::FileHeader*>(memory);
  texts_ = reinterpret_cast<rf::Text*>(memory + rf::kTextsAt);
  counters_ = reinterpret_cast<rf::CounterSlot*>(memory + rf::kCountersAt);
  rf::describeLayout(*header_, static_cast<std::uint32_t>(slots));
  header_->pid = getpid();
  header_->wallOffset = wallOffset;
  for (const ClockAnchor& anchor : clock.anchors()) {
    header_->anchors[header_->anchorCount++ % rf::kAnchors] = anchor;
  }
}

void RingFront::noteAnchor(const HostClock& clock) noexcept {
  const ClockAnchor& newest = clock.anchors().back();
  const std::uint64_t count = header_->anchorCount;
  if (header_->anchors[(count - 1) % rf::kAnchors].ticks == newest.ticks) return;
  header_->anchors[count % rf::kAnchors] = newest;
  std::atomic_ref(header_->anchorCount).store(count + 1, std::memory_order_release);
}

void RingFront::noteLane(int index, std::uint64_t offset) noexcept {
  if (offset == 0) std::atomic_ref(header_->lanesNotKept).fetch_add(1, std::memory_order_release);
  std::uint64_t& place = header_->laneOffset[static_cast<std::size_t>(index)];
  std::atomic_ref(place).store(offset, std::memory_order_release);
}

void RingFront::noteLost(std::int64_t records) noexcept {
  const std::atomic_ref lost(header_->linesLost);
  lost.fetch_add(static_cast<std::uint64_t>(records), std::memory_order_release);
}

void RingFront::finish(const std::string& payload) noexcept {
  payload.copy(header_->meta.data(), header_->meta.size() - 1);
  std::atomic_signal_fence(std::memory_order_release);
  header_->magic = rf::kMagic;
}

}  // namespace pipetrace
