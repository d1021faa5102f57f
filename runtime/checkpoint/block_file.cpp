#include "runtime/checkpoint/block_file.h"

#include <ATen/core/Dict.h>
#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include <algorithm>
#include <exception>
#include <string_view>

#include "runtime/checkpoint/file_bytes.h"
#include "trace/files/output_file.h"

namespace pipetrace {
namespace {

c10::impl::GenericDict dictOf(const BlockState& state) {
  c10::impl::GenericDict dict(c10::StringType::get(), c10::TensorType::get());
  for (const auto& [key, tensor] : state.tensors) dict.insert(key, tensor);
  return dict;
}

/// Where the pieces of a file go. PyTorchStreamWriter ends a file in its destructor and must not be
/// thrown out of. So an error is kept, and all that comes after it goes nowhere.
class Pieces {
 public:
  Pieces(OutputFile& file, const std::atomic<bool>& giveUp) : file_(file), giveUp_(giveUp) {}

  void add(std::string_view bytes) {
    // All of a large tensor in one call would be too long to give up.
    constexpr std::size_t kPiece = std::size_t{1} << 22;
    for (; !bytes.empty() && !error_; bytes.remove_prefix(std::min(kPiece, bytes.size()))) {
      try {
        if (giveUp_) throw WritingGivenUp("given up");
        const std::string_view piece = bytes.substr(0, kPiece);
        checksum_.add(piece);
        size_ += static_cast<std::int64_t>(piece.size());
        file_.write(piece);
      } catch (...) {
        error_ = std::current_exception();
      }
    }
  }
  void requireNoError() const {
    if (error_) std::rethrow_exception(error_);
  }
  std::int64_t size() const { return size_; }
  std::uint32_t checksum() const { return checksum_.value(); }

 private:
  OutputFile& file_;
  const std::atomic<bool>& giveUp_;
  Checksum checksum_;
  std::int64_t size_ = 0;
  std::exception_ptr error_;
};

/// Does what torch::pickle_save() does, into `pieces` and without tags of types.
void pickleInto(Pieces& pieces, const BlockState& state) {
  std::string pickled;
  torch::jit::Pickler pickler(
      [&](const char* data, std::size_t size) { pickled.append(data, size); },
      /*tensor_table=*/nullptr, /*type_renamer=*/nullptr, /*memoized_class_types=*/nullptr,
      /*get_tensor_id=*/nullptr, /*tag_aggregates=*/false);
  pickler.protocol();
  pickler.pushIValue(dictOf(state));
  pickler.stop();
  caffe2::serialize::PyTorchStreamWriter writer([&](const void* data, std::size_t size) {
    pieces.add({static_cast<const char*>(data), size});
    return size;
  });
  writer.writeRecord("data.pkl", pickled.data(), pickled.size());
  int number = 0;
  for (const at::Tensor& tensor : pickler.tensorData()) {
    pieces.requireNoError();
    const auto data = torch::jit::getWriteableTensorData(tensor);
    writer.writeRecord("data/" + std::to_string(number++), data.data(), data.sizeInBytes());
  }
  writer.writeEndOfFile();
  pieces.requireNoError();
}

std::vector<TensorIdentity> identitiesUnder(const std::string& prefix, const BlockState& state) {
  std::vector<TensorIdentity> found;
  for (const auto& [key, tensor] : state.tensors) {
    if (!key.starts_with(prefix)) continue;
    found.push_back({.name = key.substr(prefix.size()),
                     .shape = tensor.sizes().vec(),
                     .type = c10::getDtypeNames(tensor.scalar_type()).first});
  }
  return found;
}

NamedTensors unpickled(const std::vector<char>& bytes, const std::string& path) {
  try {
    NamedTensors tensors;
    for (const auto& item : torch::jit::pickle_load(bytes).toGenericDict()) {
      tensors.emplace_back(item.key().toStringRef(), item.value().toTensor());
    }
    return tensors;
  } catch (const c10::Error& e) {
    throw Error(path + " is no file of a checkpoint: " + e.what_without_backtrace());
  }
}

}  // namespace

std::string blockFileName(int block, std::optional<int> version) {
  return "block_" + std::to_string(block) +
         (version ? ".version_" + std::to_string(*version) : std::string()) + ".pt";
}

BlockFile writeBlockFile(const std::string& folder, const BlockState& state,
                         const std::atomic<bool>& giveUp) {
  BlockFile written{.block = state.block,
                    .blockName = state.name,
                    .version = state.version,
                    .file = blockFileName(state.block, state.version),
                    .parameters = identitiesUnder(kParameterPrefix, state),
                    .buffers = identitiesUnder(kBufferPrefix, state)};
  const std::string path = folder + "/" + written.file;
  OutputFile file(path);
  Pieces pieces(file, giveUp);
  try {
    pickleInto(pieces, state);
  } catch (const c10::Error& e) {
    throw Error("cannot write " + path + ": " + e.what_without_backtrace());
  }
  file.commit();
  written.bytes = pieces.size();
  written.crc32 = pieces.checksum();
  return written;
}

BlockState readBlockFile(const std::string& folder, const BlockFile& expected) {
  const std::string path = folder + "/" + expected.file;
  BlockState state{
      .block = expected.block, .name = expected.blockName, .version = expected.version};
  state.tensors = unpickled(readCheckedFile(path, expected.bytes, expected.crc32), path);
  if (identitiesUnder(kParameterPrefix, state) != expected.parameters ||
      identitiesUnder(kBufferPrefix, state) != expected.buffers) {
    throw Error(path + " has other tensors than the manifest says");
  }
  return state;
}

}  // namespace pipetrace
