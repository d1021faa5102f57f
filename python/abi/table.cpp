#include "python/abi/table.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

namespace pipetrace {
namespace {

using Tables = std::shared_ptr<const Table>;

std::size_t widthOf(TableColumn::Type type) {
  switch (type) {
    case TableColumn::Type::kBool:
    case TableColumn::Type::kWord: return 1;
    case TableColumn::Type::kInt16: return 2;
    case TableColumn::Type::kInt32:
    case TableColumn::Type::kText: return 4;
    case TableColumn::Type::kInt64:
    case TableColumn::Type::kDouble: return 8;
  }
  return 8;
}

/// What a schema owns. Names are those of the table's columns.
struct HeldSchema {
  Tables table;
  std::vector<ArrowSchema> children;
  std::vector<ArrowSchema*> pointers;
  std::unique_ptr<ArrowSchema> dictionary;
};

/// What an array owns.
struct HeldArray {
  Tables table;
  std::vector<const void*> buffers;
  std::vector<ArrowArray> children;
  std::vector<ArrowArray*> pointers;
  std::unique_ptr<ArrowArray> dictionary;
};

/// Consumers may have moved children away, which they then release themselves.
template <typename Struct, typename Held>
void release(Struct* that) {
  for (std::int64_t i = 0; i < that->n_children; ++i) {
    Struct* const child = that->children[i];
    if (child->release != nullptr) child->release(child);
  }
  if (that->dictionary != nullptr && that->dictionary->release != nullptr) {
    that->dictionary->release(that->dictionary);
  }
  delete static_cast<Held*>(that->private_data);
  that->release = nullptr;
}

void give(std::unique_ptr<HeldSchema> held, const char* format, const char* name,
          std::int64_t flags, ArrowSchema* out) {
  for (ArrowSchema& child : held->children) held->pointers.push_back(&child);
  *out = {.format = format,
          .name = name,
          .metadata = nullptr,
          .flags = flags,
          .n_children = static_cast<std::int64_t>(held->children.size()),
          .children = held->pointers.data(),
          .dictionary = held->dictionary.get(),
          .release = release<ArrowSchema, HeldSchema>,
          .private_data = nullptr};
  out->private_data = held.release();
}

void schemaOf(const Tables& table, const TableColumn& column, ArrowSchema* out) {
  auto held = std::make_unique<HeldSchema>();
  held->table = table;
  if (column.hasTexts()) {
    held->dictionary = std::make_unique<ArrowSchema>();
    give(std::make_unique<HeldSchema>(), "u", "", 0, held->dictionary.get());
  }
  give(std::move(held), column.format(), column.name().c_str(), ARROW_FLAG_NULLABLE, out);
}

void schemaOf(const Tables& table, ArrowSchema* out) {
  auto held = std::make_unique<HeldSchema>();
  held->table = table;
  held->children.resize(table->columns().size());
  for (std::size_t i = 0; i < held->children.size(); ++i) {
    schemaOf(table, *table->columns()[i], &held->children[i]);
  }
  give(std::move(held), "+s", "", 0, out);
}

void give(std::unique_ptr<HeldArray> held, std::int64_t length, std::int64_t missing,
          ArrowArray* out) {
  for (ArrowArray& child : held->children) held->pointers.push_back(&child);
  *out = {.length = length,
          .null_count = missing,
          .offset = 0,
          .n_buffers = static_cast<std::int64_t>(held->buffers.size()),
          .n_children = static_cast<std::int64_t>(held->children.size()),
          .buffers = held->buffers.data(),
          .children = held->pointers.data(),
          .dictionary = held->dictionary.get(),
          .release = release<ArrowArray, HeldArray>,
          .private_data = nullptr};
  out->private_data = held.release();
}

void arrayOf(const Tables& table, const TableColumn& column, ArrowArray* out) {
  auto held = std::make_unique<HeldArray>();
  held->table = table;
  held->buffers = {column.validity(), column.data()};
  if (column.hasTexts()) {
    const TextColumn& texts = column.texts();
    auto words = std::make_unique<HeldArray>();
    words->table = table;
    words->buffers = {nullptr, texts.offsets(), texts.bytes()};
    held->dictionary = std::make_unique<ArrowArray>();
    give(std::move(words), texts.size(), 0, held->dictionary.get());
  }
  give(std::move(held), static_cast<std::int64_t>(table->rows()), column.missing(), out);
}

void arrayOf(const Tables& table, ArrowArray* out) {
  auto held = std::make_unique<HeldArray>();
  held->table = table;
  held->buffers = {nullptr};
  held->children.resize(table->columns().size());
  for (std::size_t i = 0; i < held->children.size(); ++i) {
    arrayOf(table, *table->columns()[i], &held->children[i]);
  }
  give(std::move(held), static_cast<std::int64_t>(table->rows()), 0, out);
}

struct HeldStream {
  Tables table;
  bool isOver = false;
};

HeldStream& heldBy(ArrowArrayStream* stream) {
  return *static_cast<HeldStream*>(stream->private_data);
}

int getSchema(ArrowArrayStream* stream, ArrowSchema* out) noexcept {
  try {
    schemaOf(heldBy(stream).table, out);
    return 0;
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}

int getNext(ArrowArrayStream* stream, ArrowArray* out) noexcept {
  HeldStream& held = heldBy(stream);
  if (held.isOver) {
    *out = {};
    return 0;
  }
  try {
    arrayOf(held.table, out);
    held.isOver = true;
    return 0;
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}

}  // namespace

std::int32_t TextColumn::add(std::string_view text) {
  const auto [place, isNew] =
      places_.try_emplace(std::string(text), static_cast<std::int32_t>(size()));
  if (isNew) {
    bytes_ += text;
    offsets_.push_back(static_cast<std::int32_t>(bytes_.size()));
  }
  return place->second;
}

TableColumn::TableColumn(std::string name, Type type, Has has, std::size_t rows)
    : name_(std::move(name)),
      type_(type),
      has_(has),
      rows_(rows),
      values_(std::make_unique_for_overwrite<std::byte[]>(rows * widthOf(type))) {}

template <typename T>
void TableColumn::mark() {
  constexpr T kMissing = -1;
  constexpr std::size_t kByte = 8;
  const T* const values = this->values<T>();
  std::vector<std::uint8_t> there((rows_ + kByte - 1) / kByte, 0);
  std::size_t known = 0;
  for (std::size_t first = 0; first < rows_; first += kByte) {
    unsigned bits = 0;
    for (std::size_t i = 0; i < std::min(kByte, rows_ - first); ++i) {
      bits |= (values[first + i] != kMissing ? 1U : 0U) << i;
    }
    there[first / kByte] = static_cast<std::uint8_t>(bits);
    known += static_cast<std::size_t>(std::popcount(bits));
  }
  missing_ = static_cast<std::int64_t>(rows_ - known);
  if (missing_ > 0) validity_ = std::move(there);
}

void TableColumn::packBits() {
  const std::byte* const truths = values_.get();
  std::vector<std::uint8_t> bits((rows_ + 7) / 8, 0);
  for (std::size_t i = 0; i < rows_; ++i) {
    if (truths[i] != std::byte{0}) bits[i / 8] |= static_cast<std::uint8_t>(1U << (i % 8));
  }
  std::memcpy(values_.get(), bits.data(), bits.size());
}

template <typename Place>
void TableColumn::dropUnusedTexts() {
  auto* const places = values<Place>();
  std::vector<std::int32_t> newPlaces(static_cast<std::size_t>(texts_.size()), -1);
  for (std::size_t i = 0; i < rows_; ++i) {
    if (places[i] >= 0) newPlaces[static_cast<std::size_t>(places[i])] = 0;
  }
  if (std::find(newPlaces.begin(), newPlaces.end(), -1) == newPlaces.end()) return;
  TextColumn used;
  for (std::size_t i = 0; i < newPlaces.size(); ++i) {
    if (newPlaces[i] == 0) newPlaces[i] = used.add(texts_[i]);
  }
  for (std::size_t i = 0; i < rows_; ++i) {
    if (places[i] >= 0)
      places[i] = static_cast<Place>(newPlaces[static_cast<std::size_t>(places[i])]);
  }
  texts_ = std::move(used);
}

void TableColumn::complete() {
  if (type_ == Type::kBool) return packBits();
  if (type_ == Type::kText) dropUnusedTexts<std::int32_t>();
  if (type_ == Type::kWord) dropUnusedTexts<std::int8_t>();
  if (has_ == Has::kAll) return;
  switch (type_) {
    case Type::kWord: return mark<std::int8_t>();
    case Type::kInt16: return mark<std::int16_t>();
    case Type::kInt32:
    case Type::kText: return mark<std::int32_t>();
    case Type::kInt64: return mark<std::int64_t>();
    case Type::kBool:
    case Type::kDouble: return;
  }
}

const char* TableColumn::format() const {
  switch (type_) {
    case Type::kBool: return "b";
    case Type::kWord: return "c";
    case Type::kInt16: return "s";
    case Type::kInt32:
    case Type::kText: return "i";
    case Type::kInt64: return "l";
    case Type::kDouble: return "g";
  }
  return "l";
}

TableColumn& Table::add(std::string name, TableColumn::Type type, TableColumn::Has has) {
  columns_.push_back(std::make_unique<TableColumn>(std::move(name), type, has, rows_));
  return *columns_.back();
}

void exportTable(std::shared_ptr<const Table> table, ArrowArrayStream* stream) {
  *stream = {.get_schema = getSchema,
             .get_next = getNext,
             .get_last_error = [](ArrowArrayStream* /*stream*/) -> const char* {
               return "memory ran out";
             },
             .release =
                 [](ArrowArrayStream* that) {
                   delete static_cast<HeldStream*>(that->private_data);
                   that->release = nullptr;
                 },
             .private_data = new HeldStream{std::move(table)}};
}

}  // namespace pipetrace
