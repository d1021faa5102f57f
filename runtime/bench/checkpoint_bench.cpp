// Measures a checkpoint: how long the training waits for the copy, how long writing takes beside
// it, and how fast the disk takes as many bytes by itself. The rounds are interleaved. Prints
// medians and the range.
//
//   checkpoint_bench FOLDER [MB [blocks [rounds]]]
#include <ATen/Parallel.h>
#include <ATen/ops/rand.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/checkpoint_folder.h"
#include "runtime/checkpoint/checkpoint_writer.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

double millisecondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
      .count();
}

/// CPU time of the process, in ms.
double cpuMilliseconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto ms = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3;
  };
  return ms(used.ru_utime) + ms(used.ru_stime);
}

void print(const char* what, std::vector<double> values, const char* unit) {
  std::sort(values.begin(), values.end());
  std::printf("%-38s %8.1f %s (%.1f to %.1f)\n", what, values[values.size() / 2], unit,
              values.front(), values.back());
}

/// Writes as many bytes into one file, syncs it, and removes it.
double diskMilliseconds(const std::string& folder, const at::Tensor& bytes) {
  const std::string path = folder + "/disk";
  const auto begin = std::chrono::steady_clock::now();
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const char* const data = static_cast<const char*>(bytes.data_ptr());
  const std::size_t size = bytes.nbytes();
  for (std::size_t done = 0; done < size;) {
    const ssize_t n = ::write(fd, data + done, std::min(size - done, std::size_t{1} << 22));
    if (n <= 0) throw Error("cannot write " + path);
    done += static_cast<std::size_t>(n);
  }
  if (::fsync(fd) != 0) throw Error("cannot sync " + path);
  ::close(fd);
  const double milliseconds = millisecondsSince(begin);
  ::unlink(path.c_str());
  return milliseconds;
}

void measure(const std::string& folder, int megabytes, int blocks, int rounds) {
  std::vector<BlockState> states;
  for (int block = 0; block < blocks; ++block) {
    BlockState state{.block = block, .name = "block"};
    // As AdamW has them: a weight and two sums of the same size.
    for (const char* key :
         {"parameters.weight", "optimizer.weight.exp_avg", "optimizer.weight.exp_avg_sq"}) {
      state.tensors.emplace_back(key,
                                 at::rand({std::int64_t{megabytes} * 1'000'000 / 12 / blocks}));
    }
    states.push_back(std::move(state));
  }
  const at::Tensor raw = at::rand({std::int64_t{megabytes} * 1'000'000 / 4});
  CheckpointFolder checkpoints(folder);
  CheckpointWriter writer(checkpoints.path());
  std::vector<double> copies, writes, finishes, cpu, disk, reads;
  double firstCopy = 0;
  const std::int64_t first = newestCheckpoint(folder).value_or(0) + 1;
  for (std::int64_t step = first; step <= first + rounds; ++step) {
    disk.push_back(diskMilliseconds(folder, raw));
    const double cpuBefore = cpuMilliseconds();
    checkpoints.beginStep(step);
    writer.save(step, states);
    writer.wait();
    const SavedBlocks saved = *writer.result();
    if (!saved.error.empty()) throw Error(saved.error);
    auto begin = std::chrono::steady_clock::now();
    checkpoints.finishStep({.step = step, .numBlocks = blocks, .files = saved.files});
    finishes.push_back(millisecondsSince(begin));
    cpu.push_back(cpuMilliseconds() - cpuBefore);
    copies.push_back(static_cast<double>(saved.copyNs) / 1e6);
    writes.push_back(static_cast<double>(saved.writeNs) / 1e6);
    begin = std::chrono::steady_clock::now();
    Checkpoint(folder, step).verify();
    reads.push_back(millisecondsSince(begin));
    if (step == first) {  // makes the snapshot's memory
      firstCopy = copies[0];
      for (auto* list : {&copies, &writes, &finishes, &cpu, &disk, &reads}) list->clear();
      std::printf("%.1f MB in %d blocks; snapshot's memory %.1f MB\n", megabytes * 1.0, blocks,
                  static_cast<double>(saved.bytes) / 1e6);
    }
    checkpoints.keepNewest(1);
  }
  std::printf("%-38s %8.1f ms\n", "first copy, which makes the memory", firstCopy);
  print("copy", copies, "ms");
  print("writing and syncing blocks", writes, "ms");
  print("manifest", finishes, "ms");
  print("CPU time of all", cpu, "ms");
  print("the same bytes in one file, synced", disk, "ms");
  print("reading and checking, from memory", reads, "ms");
}

}  // namespace
}  // namespace pipetrace

int main(int argc, char** argv) try {
  if (argc < 2) {
    std::fprintf(stderr, "checkpoint_bench FOLDER [MB [blocks [rounds]]]\n");
    return 2;
  }
  const auto integer = [&](int index, int otherwise) {
    return argc > index ? std::atoi(argv[index]) : otherwise;
  };
  at::set_num_threads(1);
  pipetrace::measure(argv[1], integer(2, 100), integer(3, 8), integer(4, 15));
} catch (const pipetrace::Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 2;
}
