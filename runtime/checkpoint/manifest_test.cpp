#include "runtime/checkpoint/manifest.h"

#include <gmock/gmock.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "runtime/testing/error_of.h"

namespace pipetrace::testing {
namespace {

using ::testing::HasSubstr;

Manifest example() {
  Manifest manifest{.step = 20,
                    .dataPosition = 640,
                    .seed = std::numeric_limits<std::uint64_t>::max(),
                    .scale = {.value = 32768.1,
                              .isDynamic = true,
                              .stepsWithoutOverflow = 17,
                              .overflowsInARow = 1},
                    .plan = "PipeDream",
                    .fingerprint = "0123456789abcdef",
                    .optimizer = "AdamW",
                    .numBlocks = 2,
                    .notes = {{"learning rate", "0.01"}}};
  for (int block = 0; block < 2; ++block) {
    manifest.files.push_back({.block = block,
                              .blockName = "layer " + std::to_string(block),
                              .file = blockFileName(block, std::nullopt),
                              .bytes = 1234,
                              .crc32 = 0xfedcba98,
                              .parameters = {{"weight", {4, 3}, "float32"}},
                              .buffers = {{"mean", {}, "float64"}}});
  }
  manifest.files.push_back(
      {.block = 1, .blockName = "layer 1", .version = 4, .file = "block_1.version_4.pt"});
  return manifest;
}

TEST(ManifestTest, AllOfItComesBack) {
  EXPECT_EQ(readManifest(manifestText(example()), "m"), example());
  EXPECT_EQ(filesFromText(filesText(example().files)), example().files);
  EXPECT_EQ(filesText(example().files).find('\n'), std::string::npos);
}

TEST(ManifestTest, OrderOfFilesDoesNotMatter) {
  Manifest other = example();
  std::swap(other.files[0], other.files[2]);
  EXPECT_EQ(manifestText(other), manifestText(example()));
}

TEST(ManifestTest, AnyByteThatChangesIsNoticed) {
  const std::string text = manifestText(example());
  int unnoticed = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (const int bit : {0, 4}) {
      std::string changed = text;
      changed[i] = static_cast<char>(changed[i] ^ 1 << bit);
      Manifest read;
      const std::string error = errorOf([&] { read = readManifest(changed, "m.json"); });
      if (error.empty()) {
        EXPECT_EQ(read, example()) << "byte " << i;
        ++unnoticed;
      } else {
        EXPECT_THAT(error, HasSubstr("m.json"));
      }
    }
  }
  EXPECT_LT(unnoticed, 10) << "JSON is the same with other white space at its end";
  for (std::size_t size = 0; size + 2 < text.size(); size += 7) {
    EXPECT_NE(errorOf([&] { readManifest(text.substr(0, size), "m.json"); }), "") << size;
  }
}

TEST(ManifestTest, ANewerFormatIsRefusedWithWords) {
  auto json = nlohmann::json::parse(manifestText(example()));
  json["format"] = Manifest::kFormat + 1;
  json.erase("files");  // whatever it looks like then
  EXPECT_EQ(errorOf([&] { readManifest(json.dump(), "dir/manifest.json"); }),
            "dir/manifest.json has format 2 of a newer PipeTrace; this one reads up to 1: resume "
            "with the newer one");
}

TEST(ManifestTest, FilesThatLackOrAreTooManyAreNamed) {
  Manifest manifest = example();
  manifest.files.erase(manifest.files.begin());
  EXPECT_EQ(errorOf([&] { requireComplete(manifest); }), "the checkpoint has no block_0.pt");
  manifest = example();
  manifest.files.push_back(manifest.files[1]);
  EXPECT_EQ(errorOf([&] { requireComplete(manifest); }), "the checkpoint has two files block_1.pt");
  manifest = example();
  manifest.numBlocks = 1;
  EXPECT_EQ(errorOf([&] { requireComplete(manifest); }),
            "the checkpoint has block_1.pt, and the model has 1 blocks");
  EXPECT_EQ(errorOf([&] { readManifest(manifestText(manifest), "m"); }),
            "m is no manifest of a checkpoint: the checkpoint has block_1.pt, and the model has 1 "
            "blocks");
}

TEST(ManifestTest, NoNameOfAFileLeadsOutOfTheFolder) {
  std::vector<BlockFile> files = example().files;
  files[0].file = "../block_0.pt";
  EXPECT_THAT(errorOf([&] { filesFromText(filesText(files)); }), HasSubstr("../block_0.pt"));
}

}  // namespace
}  // namespace pipetrace::testing
