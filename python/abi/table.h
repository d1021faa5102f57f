#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "python/abi/arrow.h"

namespace pipetrace {

/// Texts in the order in which they were added, each once, as Arrow lays them out.
class TextColumn {
 public:
  /// The place of a text, which is added if it is new.
  std::int32_t add(std::string_view text);
  std::int64_t size() const { return static_cast<std::int64_t>(offsets_.size()) - 1; }
  std::string_view operator[](std::size_t place) const {
    return std::string_view(bytes_).substr(
        offsets_[place], static_cast<std::size_t>(offsets_[place + 1] - offsets_[place]));
  }
  const std::int32_t* offsets() const { return offsets_.data(); }
  const char* bytes() const { return bytes_.data(); }

 private:
  std::vector<std::int32_t> offsets_{0};
  std::string bytes_;
  std::unordered_map<std::string, std::int32_t> places_;
};

/// A column of a table: numbers of one width, truth values, or texts, which are numbers of a
/// dictionary. Missing ones are marked.
class TableColumn {
 public:
  enum class Type : std::uint8_t { kInt16, kInt32, kInt64, kDouble, kBool, kWord, kText };
  /// Whether complete() has to look for missing values.
  enum class Has : std::uint8_t { kAll, kMissing };

  TableColumn(std::string name, Type type, Has has, std::size_t rows);

  /// The values, to fill in: of kText the places in texts(), of
  /// kWord the same in a byte, as there are few, of kBool a byte each.
  template <typename T>
  T* values() {
    return reinterpret_cast<T*>(values_.get());
  }
  TextColumn& texts() { return texts_; }
  /// Once all values are filled in: those that are -1 are missing, if any may be, truth values
  /// become bits, and texts that do not occur leave texts().
  void complete();

  const std::string& name() const { return name_; }
  bool hasTexts() const { return type_ == Type::kText || type_ == Type::kWord; }
  /// Arrow's word for the values.
  const char* format() const;
  const void* data() const { return values_.get(); }
  /// Null: nothing is missing.
  const void* validity() const { return validity_.empty() ? nullptr : validity_.data(); }
  std::int64_t missing() const { return missing_; }
  const TextColumn& texts() const { return texts_; }

 private:
  template <typename T>
  void mark();
  void packBits();
  template <typename Place>
  void dropUnusedTexts();

  std::string name_;
  Type type_;
  Has has_;
  std::size_t rows_;
  std::unique_ptr<std::byte[]> values_;
  std::vector<std::uint8_t> validity_;  // a bit a row
  std::int64_t missing_ = 0;
  TextColumn texts_;
};

/// Columns of equal length. A plain value; once it is filled in, any number of threads may read it.
class Table {
 public:
  explicit Table(std::size_t rows) : rows_(rows) {}

  std::size_t rows() const { return rows_; }
  const std::vector<std::unique_ptr<TableColumn>>& columns() const { return columns_; }

  /// The reference is valid while the table lives.
  TableColumn& add(std::string name, TableColumn::Type type,
                   TableColumn::Has has = TableColumn::Has::kMissing);

 private:
  std::size_t rows_;
  std::vector<std::unique_ptr<TableColumn>> columns_;
};

/// Fills in a stream of one batch, which shares the table.
void exportTable(std::shared_ptr<const Table> table, ArrowArrayStream* stream);

}  // namespace pipetrace
