#pragma once

#include <sys/resource.h>

namespace pipetrace {

/// Tests: a limit of this process, as long as it lives.
class ResourceLimit {
 public:
  /// `resource`: RLIMIT_NOFILE, say.
  ResourceLimit(int resource, rlim_t limit) : resource_(resource) {
    getrlimit(kind(), &before_);
    const rlimit changed{.rlim_cur = limit, .rlim_max = before_.rlim_max};
    setrlimit(kind(), &changed);
  }
  ~ResourceLimit() { setrlimit(kind(), &before_); }
  ResourceLimit(const ResourceLimit&) = delete;
  ResourceLimit& operator=(const ResourceLimit&) = delete;

 private:
  __rlimit_resource_t kind() const { return static_cast<__rlimit_resource_t>(resource_); }

  const int resource_;
  rlimit before_{};
};

/// No file may grow past it, which looks like a full disk to a writer.
class FileSizeLimit : public ResourceLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : ResourceLimit(RLIMIT_FSIZE, bytes) {}
};

}  // namespace pipetrace
