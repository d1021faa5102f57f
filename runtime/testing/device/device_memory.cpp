#include "runtime/testing/device/device_memory.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <set>

#include "runtime/testing/device/device_state.h"

namespace pipetrace::test_device {
namespace {

MemoryFigures& figuresOf(c10::Device device) {
  return deviceState().memory.at(static_cast<std::size_t>(device.index()));
}

/// A caching allocator gives the block to the next allocation on its home stream at once, unless
/// other streams are recorded. So what they did has to come before the next work there.
void checkFree(const Block& block) {
  Actors& actors = deviceState().actors;
  const int home = actors.of(*block.home);
  VectorClock next = actors.knownBy(home);
  next.join(actors.knownBy(actors.ofThisThread()));
  std::set<int> found;
  block.uses.visitAccesses([&](const Access& access, Use use) {
    const int actor = access.actor;
    if (actor == kNobody || actor == home || next.knows(actor, access.epoch) ||
        std::count(block.recorded.begin(), block.recorded.end(), actor) > 0 ||
        !found.insert(actor).second) {
      return;
    }
    deviceState().findings.push_back(
        c10::str("memory of ", actors.nameOf(home), " is freed while ", toText(access),
                 use == Use::kRead ? " may still read " : " may still write ",
                 toText(access.type, access.sizes), " in it: no record_stream, and nothing makes ",
                 actors.nameOf(home), " wait for ", actors.nameOf(actor)));
  });
}

/// The actors' numbers in the block are good after this.
void renew(Block& block) {
  const std::uint64_t generation = deviceState().actors.generation();
  if (block.generation == generation) return;
  block.generation = generation;
  block.uses.forgetAccesses();
  block.recorded.clear();
}

void freeBlock(void* context) {
  const StateLock lock(deviceState().mutex);
  const std::unique_ptr<Block> block(static_cast<Block*>(context));
  if (!block->home) {
    // CUDA's allocator of pinned memory records events of its own.
    deviceState().pinned.erase(static_cast<const char*>(block->cpu.data()));
    return;
  }
  figuresOf(block->device).add(-static_cast<std::int64_t>(block->bytes));
  renew(*block);
  checkFree(*block);
}

c10::Storage cpuStorage(std::size_t bytes) {
  c10::Storage storage(c10::Storage::use_byte_size_t(), bytes, c10::GetAllocator(c10::kCPU),
                       /*resizable=*/true);
  return storage;
}

class DeviceAllocator final : public c10::DeviceAllocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    const c10::Device device(kType, thisThread().device);
    const StateLock lock(deviceState().mutex);
    return toDeviceMemory(cpuStorage(bytes), device, nullptr);
  }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }
  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t /*pool*/) override {
    const StateLock lock(deviceState().mutex);
    ++deviceState().actors.waitsOfThisThread().devices;
  }
  void recordStream(const c10::DataPtr& data, c10::Stream stream) override {
    const StateLock lock(deviceState().mutex);
    Block* const block = blockOf(data);
    if (block == nullptr) return;
    renew(*block);
    block->recorded.push_back(deviceState().actors.of(stream));
  }
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex device) override {
    const StateLock lock(deviceState().mutex);
    const MemoryFigures& figures = figuresOf({kType, device});
    c10::CachingDeviceAllocator::DeviceStats stats;
    for (auto* const array : {&stats.allocated_bytes, &stats.reserved_bytes, &stats.active_bytes,
                              &stats.requested_bytes}) {
      auto& all = (*array)[0];  // of all pools together
      all.current = figures.current;
      all.peak = figures.peak;
      all.allocated = figures.allocated;
      all.freed = figures.freed;
    }
    stats.num_ooms = figures.refused;
    return stats;
  }
  void resetAccumulatedStats(c10::DeviceIndex device) override {
    const StateLock lock(deviceState().mutex);
    MemoryFigures& figures = figuresOf({kType, device});
    figures.allocated = figures.freed = figures.refused = 0;
  }
  void resetPeakStats(c10::DeviceIndex device) override {
    const StateLock lock(deviceState().mutex);
    MemoryFigures& figures = figuresOf({kType, device});
    figures.peak = figures.current;
  }
  std::pair<std::size_t, std::size_t> getMemoryInfo(c10::DeviceIndex device) override {
    const StateLock lock(deviceState().mutex);
    const MemoryFigures& figures = figuresOf({kType, device});
    return {static_cast<std::size_t>(figures.limit - figures.current),
            static_cast<std::size_t>(figures.limit)};
  }
};

class PinnedAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    const StateLock lock(deviceState().mutex);
    c10::Storage cpu = cpuStorage(bytes);
    auto* const data = static_cast<char*>(cpu.mutable_data());
    auto* const block = new Block{.cpu = std::move(cpu),
                                  .bytes = bytes,
                                  // Raw pointers write it, too.
                                  .uses = MemoryUses(bytes, {.isSet = true}),
                                  .generation = deviceState().actors.generation()};
    deviceState().pinned[data] = data + bytes;
    return {data, block, &freeBlock, c10::kCPU};
  }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }
};

void setShape(const at::Tensor& tensor, const at::Tensor& like) {
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(like.sizes(), like.strides(),
                                                      like.storage_offset());
}

at::Tensor tensorLike(c10::Storage storage, c10::DispatchKey key, const at::Tensor& like) {
  at::Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(key), like.dtype());
  setShape(tensor, like);
  if (like.is_conj()) tensor._set_conj(true);
  if (like.is_neg()) tensor._set_neg(true);
  return tensor;
}

}  // namespace

Block* blockOf(const c10::DataPtr& data) {
  return data.get_deleter() == &freeBlock ? static_cast<Block*>(data.get_context()) : nullptr;
}

Block* blockOf(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.has_storage()) return nullptr;
  return blockOf(tensor.storage().data_ptr());
}

void useMemory(const at::Tensor& tensor, Use use, const Operation& operation) {
  Block* const block = blockOf(tensor);
  if (block == nullptr) return;
  renew(*block);
  block->uses.add(tensor, use, operation);
}

c10::DataPtr toDeviceMemory(c10::Storage cpu, c10::Device device, const Access* write) {
  const auto bytes = static_cast<std::int64_t>(cpu.nbytes());
  MemoryFigures& figures = figuresOf(device);
  if (bytes > figures.limit - figures.current) {
    ++figures.refused;
    TORCH_CHECK_WITH(OutOfMemoryError, false, "test device: out of memory. Tried to allocate ",
                     bytes, " bytes on ", device, ", which holds ", figures.current, " of ",
                     figures.limit);
  }
  figures.add(bytes);
  Actors& actors = deviceState().actors;
  const c10::Stream home = currentStream(device.index());
  RangeUses all{.isSet = write != nullptr};
  if (write != nullptr) {
    all.write = *write;
  } else {
    // Earlier work on the home stream may still use the memory: the allocation counts as a write.
    all.write.actor = actors.of(home);
    all.write.epoch = actors.knownBy(all.write.actor).at(all.write.actor);
  }
  void* const data = cpu.mutable_data();
  auto* const block = new Block{.cpu = std::move(cpu),
                                .device = device,
                                .home = home,
                                .bytes = static_cast<std::size_t>(bytes),
                                .uses = MemoryUses(static_cast<std::size_t>(bytes), std::move(all)),
                                .generation = actors.generation()};
  return {data, block, &freeBlock, device};
}

bool followCpu(const at::Tensor& tensor, const at::Tensor& cpu) {
  if (tensor.sizes() != cpu.sizes() || tensor.strides() != cpu.strides() ||
      tensor.storage_offset() != cpu.storage_offset()) {
    setShape(tensor, cpu);
  }
  Block& block = *blockOf(tensor);
  TORCH_CHECK(cpu.storage().unsafeGetStorageImpl() == block.cpu.unsafeGetStorageImpl(),
              "test device: an operator exchanged a storage");
  const std::size_t bytes = block.cpu.nbytes();
  c10::StorageImpl& storage = *tensor.storage().unsafeGetStorageImpl();
  if (storage.nbytes() == bytes && storage.data() == block.cpu.data()) return false;
  // A new pointer to the same block, which lives on.
  storage.set_data_ptr({block.cpu.mutable_data(), &block, &freeBlock, block.device})
      .release_context();
  storage.set_nbytes(bytes);
  figuresOf(block.device)
      .add(static_cast<std::int64_t>(bytes) - static_cast<std::int64_t>(block.bytes));
  block.bytes = bytes;
  block.uses.resize(bytes);
  return true;
}

void resizeStorage(const c10::Storage& storage, std::size_t bytes) {
  const StateLock lock(deviceState().mutex);
  const Block& old = *blockOf(storage.data_ptr());
  c10::Storage cpu = cpuStorage(bytes);
  std::memcpy(cpu.mutable_data(), old.cpu.data(), std::min(bytes, old.bytes));
  static const std::string kName = "a resize";
  Actors& actors = deviceState().actors;
  Access write;
  static_cast<Operation&>(write) =
      actors.enqueue(actors.of(currentStream(old.device.index())), kName);
  c10::DataPtr memory = toDeviceMemory(std::move(cpu), old.device, &write);
  storage.unsafeGetStorageImpl()->set_data_ptr(std::move(memory));  // which frees the old
  storage.unsafeGetStorageImpl()->set_nbytes(bytes);
}

at::Tensor onCpu(const at::Tensor& tensor) {
  const Block* const block = blockOf(tensor);
  TORCH_CHECK(block != nullptr, "test device: memory of a stranger");
  return tensorLike(c10::Storage(block->cpu), c10::DispatchKey::CPU, tensor);
}

at::Tensor onDevice(c10::Storage storage, const at::Tensor& like) {
  return tensorLike(std::move(storage), c10::DispatchKey::PrivateUse1, like);
}

c10::DeviceAllocator& deviceAllocator() {
  static auto* const allocator = new DeviceAllocator;
  return *allocator;
}

c10::Allocator& pinnedAllocator() {
  static auto* const allocator = new PinnedAllocator;
  return *allocator;
}

}  // namespace pipetrace::test_device
