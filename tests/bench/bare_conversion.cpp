#include "tests/bench/bare_conversion.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <charconv>
#include <cstring>
#include <string_view>
#include <thread>

#include "trace/error.h"

namespace pipetrace::bench {
namespace {

/// A whole file in memory.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status {};
    if (fd < 0 || ::fstat(fd, &status) != 0) throw Error("cannot open " + path);
    size_ = static_cast<std::size_t>(status.st_size);
    bytes_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    ::close(fd);
    if (bytes_ == MAP_FAILED) throw Error("cannot map " + path);
  }
  ~MappedFile() { ::munmap(bytes_, size_); }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::string_view text() const { return {static_cast<const char*>(bytes_), size_}; }

 private:
  void* bytes_ = nullptr;
  std::size_t size_ = 0;
};

struct Job {
  long number = 0;
  std::string_view type;
  double begin = 0;
  double end = 0;
};

/// Reads the job after a mark and returns its end.
const char* readJob(const char* at, const char* end, Job& job) {
  constexpr std::string_view kType = "), type = ";
  constexpr std::string_view kMicroBatch = ", micro_batch_id = ";
  constexpr std::string_view kStart = ", job_start_time = ";
  constexpr std::string_view kEnd = ", job_end_time = ";
  at = std::from_chars(at, end, job.number).ptr + kType.size();
  const char* const comma = static_cast<const char*>(std::memchr(at, ',', 64));
  job.type = {at, static_cast<std::size_t>(comma - at)};
  at = comma + kMicroBatch.size();
  while (*at != ',') ++at;
  at = std::from_chars(at + kStart.size(), end, job.begin).ptr;
  return std::from_chars(at + kEnd.size(), end, job.end).ptr;
}

/// Appends the begin or the end of a job, with times in microseconds.
void appendEdge(std::string& out, const Job& job, char phase, double time, int device) {
  std::array<char, 512> text;
  char* at = text.data();
  char* const end = at + text.size();
  const auto put = [&](std::string_view piece) {
    std::memcpy(at, piece.data(), piece.size());
    at += piece.size();
  };
  put(R"({"name":")");
  *at++ = static_cast<char>(job.type.front() - 'a' + 'A');
  *at++ = '_';
  at = std::to_chars(at, end, job.number).ptr;
  put(R"(","cat":")");
  put(job.type);
  put(R"(","ph":")");
  *at++ = phase;
  put(R"(","ts":)");
  at = std::to_chars(at, end, time * 1000, std::chars_format::fixed, 3).ptr;
  put(R"(,"pid":"Main","tid":"GPU)");
  at = std::to_chars(at, end, device).ptr;
  put("\",\"cname\":\"thread_state_running\"},\n");
  out.append(text.data(), static_cast<std::size_t>(at - text.data()));
}

std::int64_t convertLog(const std::string& path, int device, std::string& out) {
  constexpr std::string_view kMark = "Profiler Info: Job (";
  const MappedFile file(path);
  const char* at = file.text().data();
  const char* const end = at + file.text().size();
  out.reserve(file.text().size() / 2);
  std::int64_t jobs = 0;
  while (true) {
    const void* found =
        ::memmem(at, static_cast<std::size_t>(end - at), kMark.data(), kMark.size());
    if (found == nullptr) return jobs;
    Job job;
    at = readJob(static_cast<const char*>(found) + kMark.size(), end, job);
    if (job.type == "lr") continue;
    appendEdge(out, job, 'B', job.begin, device);
    appendEdge(out, job, 'E', job.end, device);
    ++jobs;
  }
}

void writeAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0) throw Error("cannot write");
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

}  // namespace

std::int64_t convertBarely(const std::vector<std::string>& logs, const std::string& output,
                           int threads) {
  std::vector<std::string> texts(logs.size());
  std::atomic<std::size_t> next{0};
  std::atomic<std::int64_t> jobs{0};
  const auto work = [&] {
    for (std::size_t i = 0; (i = next++) < logs.size();) {
      jobs += convertLog(logs[i], static_cast<int>(i), texts[i]);
    }
  };
  std::vector<std::thread> others;
  for (int i = 0; i < threads; ++i) others.emplace_back(work);
  for (std::thread& thread : others) thread.join();

  const int fd = ::open(output.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
  if (fd < 0) throw Error("cannot create " + output);
  writeAll(fd, "[\n");
  for (const std::string& text : texts) writeAll(fd, text);
  ::close(fd);
  return jobs;
}

}  // namespace pipetrace::bench
