#include "runtime/checkpoint/manifest.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "runtime/checkpoint/file_bytes.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using Json = nlohmann::json;

constexpr const char* kMagic = "PipeTrace checkpoint";
constexpr int kIndent = 1;

Json jsonOf(const std::vector<TensorIdentity>& tensors) {
  Json all = Json::array();
  for (const TensorIdentity& one : tensors) {
    all.push_back({{"name", one.name}, {"shape", one.shape}, {"type", one.type}});
  }
  return all;
}

std::vector<TensorIdentity> tensorsFrom(const Json& all) {
  std::vector<TensorIdentity> tensors;
  for (const Json& one : all) {
    tensors.push_back({.name = one.at("name"), .shape = one.at("shape"), .type = one.at("type")});
  }
  return tensors;
}

Json jsonOf(const std::vector<BlockFile>& files) {
  Json all = Json::array();
  for (const BlockFile& file : files) {
    Json one = {{"block", file.block},
                {"name", file.blockName},
                {"file", file.file},
                {"bytes", file.bytes},
                {"crc32", checksumText(file.crc32)},
                {"parameters", jsonOf(file.parameters)},
                {"buffers", jsonOf(file.buffers)}};
    if (file.version) one["version"] = *file.version;
    all.push_back(std::move(one));
  }
  return all;
}

std::uint32_t checksumFrom(const std::string& text) {
  std::size_t end = 0;
  const unsigned long value = std::stoul(text, &end, 16);
  if (end != text.size() || text.size() != 8) throw Error("no checksum: " + text);
  return static_cast<std::uint32_t>(value);
}

std::vector<BlockFile> filesFrom(const Json& all) {
  std::vector<BlockFile> files;
  for (const Json& one : all) {
    BlockFile file{.block = one.at("block"),
                   .blockName = one.at("name"),
                   .file = one.at("file"),
                   .bytes = one.at("bytes"),
                   .crc32 = checksumFrom(one.at("crc32").get<std::string>()),
                   .parameters = tensorsFrom(one.at("parameters")),
                   .buffers = tensorsFrom(one.at("buffers"))};
    if (one.contains("version")) file.version = one.at("version").get<int>();
    // No name leads out of the folder.
    if (file.file != blockFileName(file.block, file.version)) {
      throw Error("no file of a block: " + file.file);
    }
    files.push_back(std::move(file));
  }
  return files;
}

Json jsonOf(const Manifest& manifest) {
  const auto isBefore = [](const BlockFile& a, const BlockFile& b) {
    return std::pair(a.block, a.version) < std::pair(b.block, b.version);
  };
  std::vector<BlockFile> files = manifest.files;
  std::sort(files.begin(), files.end(), isBefore);
  return {{"what", kMagic},
          {"format", Manifest::kFormat},
          {"step", manifest.step},
          {"data_position", manifest.dataPosition},
          {"seed", manifest.seed},
          {"loss_scale",
           {{"value", manifest.scale.value},
            {"dynamic", manifest.scale.isDynamic},
            {"steps_without_overflow", manifest.scale.stepsWithoutOverflow},
            {"overflows_in_a_row", manifest.scale.overflowsInARow}}},
          {"plan", {{"name", manifest.plan}, {"fingerprint", manifest.fingerprint}}},
          {"optimizer", manifest.optimizer},
          {"num_blocks", manifest.numBlocks},
          {"notes", manifest.notes},
          {"files", jsonOf(files)}};
}

Manifest manifestFrom(const Json& json) {
  const Json& scale = json.at("loss_scale");
  return {.step = json.at("step"),
          .dataPosition = json.at("data_position"),
          .seed = json.at("seed"),
          .scale = {.value = scale.at("value"),
                    .isDynamic = scale.at("dynamic"),
                    .stepsWithoutOverflow = scale.at("steps_without_overflow"),
                    .overflowsInARow = scale.at("overflows_in_a_row")},
          .plan = json.at("plan").at("name"),
          .fingerprint = json.at("plan").at("fingerprint"),
          .optimizer = json.at("optimizer"),
          .numBlocks = json.at("num_blocks"),
          .notes = json.at("notes").get<std::map<std::string, std::string>>(),
          .files = filesFrom(json.at("files"))};
}

/// Takes the checksum out of the JSON that has it, and compares.
void takeChecksum(Json& json, const std::string& path) {
  const std::uint32_t expected = checksumFrom(json.at("crc32").get<std::string>());
  json.erase("crc32");
  if (checksumOf(json.dump(kIndent)) != expected) {
    throw Error(path + " was damaged: its checksum is another one; resume from another step");
  }
}

}  // namespace

void requireComplete(const Manifest& manifest) {
  std::set<std::pair<int, std::optional<int>>> seen;
  std::map<int, std::string> names;
  for (const BlockFile& file : manifest.files) {
    if (!seen.insert({file.block, file.version}).second) {
      throw Error("the checkpoint has two files " + file.file);
    }
    if (file.block < 0 || file.block >= manifest.numBlocks) {
      throw Error("the checkpoint has " + file.file + ", and the model has " +
                  std::to_string(manifest.numBlocks) + " blocks");
    }
    const auto [name, isNew] = names.emplace(file.block, file.blockName);
    if (!isNew && name->second != file.blockName) {
      throw Error("the checkpoint has two names of block " + std::to_string(file.block) + ": " +
                  name->second + " and " + file.blockName);
    }
  }
  for (int block = 0; block < manifest.numBlocks; ++block) {
    if (seen.count({block, std::nullopt}) == 0) {
      throw Error("the checkpoint has no " + blockFileName(block, std::nullopt));
    }
  }
}

std::string manifestText(const Manifest& manifest) try {
  Json json = jsonOf(manifest);
  json["crc32"] = checksumText(checksumOf(json.dump(kIndent)));
  return json.dump(kIndent) + "\n";
} catch (const Json::exception& e) {  // a name that is no UTF-8
  throw Error(std::string("cannot write the manifest of a checkpoint: ") + e.what());
}

Manifest readManifest(std::string_view text, const std::string& path) {
  try {
    Json json = Json::parse(text);
    if (json.at("what") != kMagic) throw Error("it is of something else");
    const int format = json.at("format");
    if (format > Manifest::kFormat) {
      throw Error(path + " has format " + std::to_string(format) +
                  " of a newer PipeTrace; this one reads up to " +
                  std::to_string(Manifest::kFormat) + ": resume with the newer one");
    }
    takeChecksum(json, path);
    Manifest manifest = manifestFrom(json);
    requireComplete(manifest);
    return manifest;
  } catch (const Json::exception& e) {
    throw Error(path + " is no manifest of a checkpoint: " + e.what());
  } catch (const Error& e) {
    const std::string reason = e.what();
    if (reason.starts_with(path)) throw;
    throw Error(path + " is no manifest of a checkpoint: " + reason);
  } catch (const std::logic_error& e) {  // of std::stoul
    throw Error(path + " is no manifest of a checkpoint: a checksum is none");
  }
}

std::string filesText(const std::vector<BlockFile>& files) { return jsonOf(files).dump(); }

std::vector<BlockFile> filesFromText(std::string_view text) {
  try {
    return filesFrom(Json::parse(text));
  } catch (const std::exception& e) {
    throw Error(std::string("this is no list of a checkpoint's files: ") + e.what());
  }
}

}  // namespace pipetrace
