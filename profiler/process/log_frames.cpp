#include "profiler/process/log_frames.h"

#include <dlfcn.h>

#include <new>

#include "trace/error.h"

namespace pipetrace {
namespace {

// Of ZSTD_cParameter, in zstd.h. These numbers are part of its ABI.
constexpr int kLevelParameter = 100;
constexpr int kChecksumParameter = 201;
constexpr int kLevel = 3;

}  // namespace

/// The functions of zstd.h, as they are since version 1.4.
struct LogFrames::Library {
  Library() {
    void* const library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    isThere = take(library, "ZSTD_createCCtx", createContext) &&
              take(library, "ZSTD_freeCCtx", freeContext) &&
              take(library, "ZSTD_CCtx_setParameter", setParameter) &&
              take(library, "ZSTD_compressBound", bound) &&
              take(library, "ZSTD_compress2", compress) && take(library, "ZSTD_isError", isError);
  }

  template <typename Function>
  static bool take(void* library, const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(dlsym(library, name));
    return function != nullptr;
  }

  static const Library& opened() {
    static const Library library;
    if (!library.isThere) {
      throw Error(
          "cannot compress job logs: libzstd.so.1 is missing, or older than 1.4; install "
          "the package libzstd1, or unset PIPETRACE_LOG_COMPRESS");
    }
    return library;
  }

  void* (*createContext)() = nullptr;
  std::size_t (*freeContext)(void* context) = nullptr;
  std::size_t (*setParameter)(void* context, int parameter, int value) = nullptr;
  std::size_t (*bound)(std::size_t size) = nullptr;
  std::size_t (*compress)(void* context, void* to, std::size_t room, const void* from,
                          std::size_t size) = nullptr;
  unsigned (*isError)(std::size_t result) = nullptr;
  bool isThere = false;
};

LogFrames::LogFrames() : library_(Library::opened()), context_(library_.createContext()) {
  if (context_ == nullptr) throw std::bad_alloc();
  library_.setParameter(context_, kLevelParameter, kLevel);
  library_.setParameter(context_, kChecksumParameter, 1);
}

LogFrames::~LogFrames() { library_.freeContext(context_); }

std::string_view LogFrames::frameOf(std::string_view text) noexcept {
  try {
    frame_.resize(library_.bound(text.size()));
  } catch (const std::bad_alloc&) {
    return {};
  }
  const std::size_t size =
      library_.compress(context_, frame_.data(), frame_.size(), text.data(), text.size());
  return library_.isError(size) != 0 ? std::string_view() : std::string_view(frame_.data(), size);
}

}  // namespace pipetrace
