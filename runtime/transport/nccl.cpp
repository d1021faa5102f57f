#include "runtime/transport/nccl.h"

#include <dlfcn.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <utility>

#include "runtime/errors/error_text.h"
#include "runtime/transport/nccl_group.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

/// Beside the program, or where the system looks for libraries.
void* openLibrary() {
  std::error_code none;
  const auto beside =
      std::filesystem::read_symlink("/proc/self/exe", none).parent_path() / NcclLibrary::kFile;
  const std::string path =
      std::filesystem::exists(beside, none) ? beside.string() : NcclLibrary::kFile;
  if (void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  const char* const why = dlerror();
  throw Error("cannot send messages through NCCL: the library for it was not loaded (" +
              std::string(why != nullptr ? why : "no reason was given") +
              "). Builds with PIPETRACE_CUDA=ON have it, and it needs --device cuda");
}

template <typename Function>
Function find(void* library, const char* name) {
  if (void* const symbol = dlsym(library, name)) return reinterpret_cast<Function>(symbol);
  throw Error(std::string(NcclLibrary::kFile) + " is of another build: it has no function " + name);
}

/// Tells machines apart, as NCCL does: containers of one machine have the same.
std::string machine() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

}  // namespace

void requireOwnDevices(KeyValue& words, int rank, int worldSize, const std::string& place,
                       Nanoseconds timeout) {
  const auto key = [](int of) { return "nccl/device/" + std::to_string(of); };
  words.set(key(rank), place);
  std::map<std::string, int> ranks;
  for (int of = 0; of < worldSize; ++of) {
    const auto [other, isNew] = ranks.emplace(words.get(key(of), timeout), of);
    if (isNew) continue;
    throw Error(
        "ranks " + std::to_string(other->second) + " and " + std::to_string(of) +
        " have the same device, " + other->first +
        ": through NCCL each rank needs one of its own. --transport gloo has no such limit");
  }
}

namespace {

/// Makes groups of this rank's device.
class NcclGroups {
 public:
  /// Throws Error where that cannot be.
  explicit NcclGroups(NcclOptions options) : options_(std::move(options)) {
    if (!options_.device.is_cuda()) {
      throw Error("NCCL moves messages between CUDA devices, and this rank computes on " +
                  options_.device.str());
    }
    // It is never closed: its code is in use until the process ends.
    void* const library = openLibrary();
    const auto busOf = find<NcclLibrary::BusOf>(library, NcclLibrary::kBusOf);
    makeGroup_ = find<NcclLibrary::MakeGroup>(library, NcclLibrary::kMakeGroup);
    guarded([&] {
      std::string bus;
      busOf(options_.device, bus);
      GlooStore words(options_.store->store);
      requireOwnDevices(words, options_.rank, options_.worldSize, bus + " of machine " + machine(),
                        options_.timeout);
    });
  }

  LineTransportOptions::Backend ofAll() const {
    return make(options_.store->store, options_.rank, options_.worldSize);
  }
  LineTransportOptions::Backend of(const LaneOfRun& lane, int rankOnLine) const {
    return make(c10::make_intrusive<c10d::PrefixStore>(keyOf(lane), options_.store->store),
                rankOnLine, 2);
  }

 private:
  LineTransportOptions::Backend make(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                     int size) const {
    LineTransportOptions::Backend group;
    guarded([&] { makeGroup_(store, rank, size, options_.device, group); });
    return group;
  }

  static std::string keyOf(const LaneOfRun& lane) {
    return "lane/" + std::to_string(lane.from) + "/" + std::to_string(lane.to) + "/" +
           std::to_string(static_cast<int>(lane.name.kind));
  }

  template <typename Action>
  void guarded(const Action& action) const {
    try {
      action();
    } catch (const Error&) {
      throw;
    } catch (const std::exception& e) {
      throw Error("rank " + std::to_string(options_.rank) +
                  " cannot connect with the others through NCCL: " + firstLineOf(e));
    }
  }

  const NcclOptions options_;
  NcclLibrary::MakeGroup makeGroup_ = nullptr;
};

}  // namespace

LineTransportOptions connectNccl(const NcclOptions& options) {
  const auto groups = std::make_shared<const NcclGroups>(options);
  LineTransportOptions lines;
  if (options.communicators == NcclCommunicators::kRank) {
    lines.backend = groups->ofAll();
  } else {
    lines.backendOf = [groups](const LaneOfRun& lane, int rankOnLine) {
      return groups->of(lane, rankOnLine);
    };
  }
  return lines;
}

}  // namespace pipetrace
