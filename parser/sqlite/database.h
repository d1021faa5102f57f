#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace pipetrace {

/// One prepared statement. Numbers of parameters and columns count from 0. Not thread-safe.
class SqliteStatement {
 public:
  /// Throws Error when the text is no statement for that database.
  SqliteStatement(sqlite3* database, std::string_view sql);

  void bind(int parameter, std::int64_t value);
  void bind(int parameter, double value);
  /// The text must stay as it is until run() or next().
  void bind(int parameter, std::string_view text);
  void bindNull(int parameter);

  /// Runs a statement without rows, and makes it ready for the next values. Throws Error.
  void run();

  /// The next row; false at the end, and where the database is damaged: see failed().
  bool next();
  bool failed() const { return failed_; }
  /// Ready to be run again; the values stay.
  void reset();

  bool isNull(int column) const;
  std::int64_t integer(int column) const;
  double real(int column) const;
  /// Holds until next().
  std::string_view text(int column) const;
  bool isInteger(int column) const;
  bool isText(int column) const;

 private:
  struct Finalizer {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };

  std::unique_ptr<sqlite3_stmt, Finalizer> statement_;
  bool failed_ = false;
};

/// An SQLite database that is no file of the user's: it is being made, or was read from bytes. Not
/// thread-safe.
class SqliteDatabase {
 public:
  /// An empty database, kept in a temporary file that has no name any more.
  static SqliteDatabase temporary();

  /// A read-only database from the bytes of a file. Only plain tables of it are read, and no query
  /// takes longer than reading all of it several times over. Nothing when SQLite does not take it
  /// for a database.
  static std::optional<SqliteDatabase> fromBytes(std::string_view bytes);

  SqliteStatement prepare(std::string_view sql) const { return {database_.get(), sql}; }
  void run(std::string_view sql) const { prepare(sql).run(); }

  /// Whether there is a plain table of that name, and one with all these columns.
  bool hasTable(std::string_view table) const;
  bool hasColumns(std::string_view table, std::initializer_list<std::string_view> columns) const;

  /// The file of temporary(), at its start; the database must not be used from then on.
  int fileDescriptor() const { return file_; }

  SqliteDatabase(SqliteDatabase&& other) noexcept;
  SqliteDatabase& operator=(SqliteDatabase&&) = delete;
  ~SqliteDatabase();

 private:
  struct Closer {
    void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
  };

  SqliteDatabase() = default;

  std::unique_ptr<sqlite3, Closer> database_;
  std::unique_ptr<std::int64_t> stepsLeft_;  // for the progress handler, which keeps its address
  int file_ = -1;
};

}  // namespace pipetrace
