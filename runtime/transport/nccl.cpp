#include "runtime/transport/nccl.h"

#include <dlfcn.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "runtime/error_text.h"
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

c10::intrusive_ptr<c10d::Backend> connectNccl(const NcclOptions& options) {
  if (!options.device.is_cuda()) {
    throw Error("NCCL moves messages between CUDA devices, and this rank computes on " +
                options.device.str());
  }
  // It is never closed: its code is in use until the process ends.
  void* const library = openLibrary();
  const auto busOf = find<NcclLibrary::BusOf>(library, NcclLibrary::kBusOf);
  const auto makeGroup = find<NcclLibrary::MakeGroup>(library, NcclLibrary::kMakeGroup);
  try {
    std::string bus;
    busOf(options.device, bus);
    GlooStore words(options.store->store);
    requireOwnDevices(words, options.rank, options.worldSize, bus + " of machine " + machine(),
                      options.timeout);
    c10::intrusive_ptr<c10d::Backend> group;
    makeGroup(options.store->store, options.rank, options.worldSize, options.device, group);
    return group;
  } catch (const Error&) {
    throw;
  } catch (const std::exception& e) {
    throw Error("rank " + std::to_string(options.rank) +
                " cannot connect with the others through NCCL: " + firstLineOf(e));
  }
}

}  // namespace pipetrace
